"""What was produced and what must have come of it, in files while the run goes on and in tables for the verdict.  Every check is
one SQL statement, so that millions of events cost no memory here."""
import array
import os

from mix import KEYS, PARTITIONS, PIPELINES

TABLES = """
CREATE TABLE expected (number bigint, consumer text, partition int, event_id uuid, key text, deed text, answer text, lane text);
CREATE TABLE moved (number bigint);
CREATE TABLE dead (number bigint, consumer text, reason text, place text);
"""

# Before the run: what the sampler and the recovery look things up by.
PREPARE = f"""
CREATE INDEX effect_seq ON effect (seq);
INSERT INTO balance SELECT 'p' || p || 'k' || k, 0 FROM generate_series(0, {len(PIPELINES) - 1}) p, generate_series(0, {KEYS - 1}) k;
"""

# When everything is over: what is counted once for all checks.
RECKON = """
SET work_mem = '256MB';
CREATE TABLE claimed AS SELECT event_id, consumer_group AS consumer FROM processed_event
    UNION ALL SELECT event_id, consumer_group FROM processed_event_other;
CREATE TABLE applied AS SELECT consumer, event_id, count(*) AS times FROM effect GROUP BY 1, 2;
CREATE INDEX ON dead (number);
ANALYZE expected, dead, claimed, applied, moved;
"""

# name: (statement, what each row is).  A row is a mistake.
LOST = {
    "lost_effects": ("SELECT e.number, e.deed, e.consumer, e.event_id FROM expected e LEFT JOIN applied a USING (consumer, event_id)"
                     " WHERE e.answer = 'effect' AND a.times IS NULL", "an event that was not applied"),
    "lost_dead_letters": ("SELECT e.number, e.deed, e.consumer, e.event_id FROM expected e LEFT JOIN dead d USING (number)"
                          " WHERE e.answer <> 'effect' AND d.number IS NULL", "an event without its dead letter"),
}
DOUBLED = {
    "doubled_effects": ("SELECT consumer, event_id, times FROM applied WHERE times > 1", "an event applied more than once"),
    "two_places": ("SELECT e.number, e.deed, e.consumer, e.event_id, d.reason, d.place FROM expected e JOIN dead d USING (number)"
                   " JOIN applied a ON a.consumer = e.consumer AND a.event_id = e.event_id", "an event applied and dead"),
}
BROKEN = {
    "wrong_reason": ("SELECT e.number, e.deed, e.consumer, e.event_id, e.answer, d.reason, d.place FROM expected e JOIN dead d"
                     " USING (number) WHERE e.answer <> d.reason", "a dead letter with another reason than was due"),
    "unknown_effects": ("SELECT a.consumer, a.event_id FROM applied a LEFT JOIN expected e ON e.consumer = a.consumer"
                        " AND e.event_id = a.event_id AND e.answer = 'effect' WHERE e.number IS NULL", "an effect that nobody wanted"),
    "claims": ("SELECT consumer, event_id, a.times FROM applied a FULL JOIN claimed c USING (consumer, event_id)"
               " WHERE a.times IS NULL OR c.event_id IS NULL", "a claim without its effect, or an effect without its claim"),
    "order": ("SELECT * FROM (SELECT e.lane, f.seq, f.at, lag(f.seq) OVER (PARTITION BY e.lane ORDER BY f.at, f.seq) AS before"
              " FROM effect f JOIN expected e ON e.number = f.seq LEFT JOIN moved m ON m.number = f.seq"
              " WHERE e.lane <> '' AND m.number IS NULL) o WHERE before > seq", "an event applied before an earlier one of its lane"),
    "balances": ("SELECT b.key, b.amount, coalesce(r.reads, 0) FROM balance b LEFT JOIN (SELECT e.key, count(*) AS reads FROM expected e"
                 " JOIN applied a USING (consumer, event_id) WHERE e.deed = 'read' GROUP BY 1) r USING (key)"
                 " WHERE b.amount <> -coalesce(r.reads, 0)", "a balance that is not what its events took from it"),
    "attempts": ("SELECT t.consumer_group, t.event_id, t.route, t.reason, t.deaths FROM event_attempt t"
                 " JOIN applied a ON a.consumer = t.consumer_group AND a.event_id::text = t.event_id",
                 "attempts kept of an event that is done"),
    "parked": ("SELECT consumer_group, event_id, attempt, reason FROM parked_event UNION ALL"
               " SELECT consumer_group, encode(key, 'escape'), events, 'key' FROM parked_key", "an event or a key that is still parked"),
    "transactions": ("SELECT pid, application_name, state, query FROM pg_stat_activity WHERE datname = current_database()"
                     " AND state LIKE 'idle in transaction%'", "a transaction left open"),
}


class Ledger:
    """[feeder] sent(), [delivery] placed(), [sampler] dead(); numbers_at() reads what placed() wrote."""

    def __init__(self, folder, prefix):
        self.folder = folder
        self.consumers = [f"{prefix}-{pipeline.name}" for pipeline in PIPELINES]
        self.files = {name: open(os.path.join(folder, f"{name}.rows"), "w", encoding="utf-8")  # noqa: SIM115: until load()
                      for name in ("expected", "moved", "dead")}
        # The number of the event at each offset: only we write to the topics, and one producer does it.
        self.places = [[array.array("q") for _ in range(PARTITIONS)] for _ in PIPELINES]
        self.sent_count = self.copies = self.dead_count = 0
        self.newest = -1  # number of the event produced last

    def sent(self, record):
        self.sent_count += 1
        if record.is_copy:
            self.copies += 1
            return
        self.newest = record.number
        self._row("expected", record.number, self.consumers[record.pipeline], record.partition, record.id, record.key, record.deed,
                  record.answer, record.lane)

    def placed(self, pipeline, partition, offset, number):
        here = self.places[pipeline][partition]
        while len(here) <= offset:
            here.append(-1)
        here[offset] = number

    def moved(self, numbers):
        for number in numbers:
            self._row("moved", number)

    def dead(self, number, consumer, reason, place):
        self.dead_count += 1
        self._row("dead", number, consumer, reason, place)

    def numbers_at(self, pipeline, partition, first, end):
        """The numbers of the events at these offsets; an acknowledgement may be on its way: then one less."""
        return self.places[pipeline][partition][first:end]

    def _row(self, name, *values):
        self.files[name].write("\t".join(map(str, values)) + "\n")

    def load(self, database):
        database.run(TABLES)
        for name, file in self.files.items():
            file.close()
            with open(file.name, encoding="utf-8") as rows, database.connection.cursor() as cursor:
                cursor.copy_expert(f"COPY {name} FROM STDIN", rows)
            os.unlink(file.name)

    @staticmethod
    def judge(database):
        """{name: (how many, the first few, what each is)} of every check that found something."""
        database.run(RECKON)
        found = {}
        for name, (statement, meaning) in {**LOST, **DOUBLED, **BROKEN}.items():
            count = database.one(f"SELECT count(*) FROM ({statement}) AS mistakes")
            if count:
                found[name] = (count, database.run(f"{statement} LIMIT 5"), meaning)
        return found

    @staticmethod
    def doubled(database):
        """How many effects there are too many, and events in two places; after judge()."""
        return int(database.one("SELECT coalesce(sum(times - 1), 0) FROM applied")) + \
            database.one(f"SELECT count(DISTINCT number) FROM ({DOUBLED['two_places'][0]}) AS mistakes")

    @staticmethod
    def dead_letters_again(database):
        """Dead letters that a crash between acknowledgement and offset commit wrote once more (ENGINE 7)."""
        return int(database.one("SELECT coalesce(sum(times - 1), 0) FROM (SELECT count(*) AS times FROM dead GROUP BY number) t"))
