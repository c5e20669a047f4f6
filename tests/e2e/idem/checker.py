"""The invariants every end to end test ends with.  What was lost or doubled is computed from what was produced and from the
rows and records that are there, never from the host's own counters."""
import collections
import threading

from idem import wait


class Sampler(threading.Thread):
    """Every 200 ms: the committed offsets of the group never go back, and every record below them is finished.  The offsets are
    read first: what they cover must be there when it is looked up after."""

    def __init__(self, case, every=0.2):
        super().__init__(daemon=True)
        self.case, self.every = case, every
        self.high = {}
        self.mistakes = []
        self.samples = 0
        self.allow_back = False  # a test that moves the group itself
        self._end = threading.Event()

    def run(self):
        while not self._end.is_set():
            try:
                self._sample()
            except Exception as error:  # noqa: BLE001: the test thread reports it
                self.mistakes.append(f"the sampler failed: {error!r}")
                return
            self._end.wait(self.every)

    def stop(self):
        self._end.set()
        if self.is_alive():
            self.join(30)

    def finish(self):
        """One last sample, then the verdict."""
        self.stop()
        if not self.mistakes:
            self._sample()
        assert not self.mistakes, "\n".join(self.mistakes[:5])

    def _sample(self):
        self.samples += 1
        for topic in self.case.topics:
            for partition, offset in self.case.group.committed(topic).items():
                before = self.high.get((topic, partition), 0)
                if offset < before and not self.allow_back:
                    self.mistakes.append(f"{topic}[{partition}]: committed offset went back from {before} to {offset}")
                if offset > before:
                    self._check_range(topic, partition, before, offset)
                    self.high[topic, partition] = offset

    def _check_range(self, topic, partition, first, end):
        here = self.case.places.get((topic, partition), {})
        covered = {(topic, partition, offset): here[offset] for offset in range(first, end) if offset in here}
        ids = {one.id.lower() for one in covered.values() if one.id in self.case.applicable}
        parked = self.case.parked()  # first: what is released meanwhile is applied or dead then
        done = self.case.applied_among(ids) | parked
        open_places = [place for place, one in covered.items()
                       if (one.id or "").lower() not in done and one not in self.case.ignored]
        if open_places:
            routed = {record.origin for record in self.case.routed()}
            open_places = [place for place in open_places if place not in routed]
        if open_places:
            self.mistakes.append(f"{topic}[{partition}]: offset {end} was committed with {len(open_places)} records unfinished, "
                                 f"the first is {min(open_places)}")


class Life:
    """What was there when a host started: what came after is its work, if it was alone to the end."""

    def __init__(self, host, alone, committed, rows, parked):
        self.host, self.alone, self.committed, self.rows, self.parked = host, alone, committed, rows, parked


class Case:
    """One consumer (group) on its topics with everything a test produced to them."""

    def __init__(self, broker, database, topics, consumer):
        self.broker, self.database, self.topics, self.consumer = broker, database, list(topics), consumer
        self.group = broker.group(consumer)
        self.produced = []          # events, once each, whatever the number of copies
        self.places = {}            # {(topic, partition): {offset: event}}
        self.known = set()
        self.ignored = set()        # events the test expects to be ignored
        self.applicable = set()     # ids that may have a row
        self.sampler = None
        self.hosts = []
        self.life = None            # of the host that was started last
        self.dlq = consumer + ".dlq"

    # producing -------------------------------------------------------------------------------------------------------

    def produce(self, events, topic=None, flush=True):
        # A feeder thread may be at work: append only, nothing is replaced.
        new = {one: None for one in events if one not in self.known}
        self.known.update(new)
        self.produced.extend(new)
        self.applicable.update(one.id for one in new if one.id)
        self.broker.produce(topic or self.topics[0], events, flush, self._placed)
        return events

    def _placed(self, one, place):
        self.places.setdefault(place[:2], {})[place[2]] = one

    # looking ---------------------------------------------------------------------------------------------------------

    def applied_among(self, ids):
        return self.database.processed_among(self.consumer, ids) if ids else set()

    def parked(self):
        return self.database.parked(self.consumer)

    def dead(self):
        return self.broker.read(self.dlq)

    def retries(self):
        prefix = self.consumer + ".retry."
        return [record for topic in sorted(self.broker.topics()) if topic.startswith(prefix) for record in self.broker.read(topic)]

    def routed(self):
        return self.dead() + self.retries()

    def lag(self):
        """Records not committed, of the topics and of every retry topic."""
        lag = 0
        for topic in self._sources():
            committed = self.group.committed(topic)
            for partition, (low, high) in self.broker.watermarks(topic).items():
                lag += max(0, high - committed.get(partition, low))
        return lag

    def wait_drained(self, timeout=60):
        def what():
            return f"{self.consumer} to reach the end of its topics, lag {self.lag()}\n" + \
                "\n".join(host.log_tail(20) for host in self.hosts)
        wait.until(lambda: self.lag() == 0, what, timeout, every=0.2)

    def begin_life(self, host):
        alone = not any(other.is_running() for other in self.hosts if other is not host)
        committed = {(topic, partition): offset for topic in self._sources()
                     for partition, offset in self.group.committed(topic).items()}
        self.life = Life(host, alone, committed, len(self.database.processed(self.consumer)), len(self.parked()))

    def _sources(self):
        prefix = self.consumer + ".retry."
        return self.topics + sorted(one for one in self.broker.topics() if one.startswith(prefix))

    # the invariants --------------------------------------------------------------------------------------------------

    def watch(self, every=0.2):
        self.sampler = Sampler(self, every)
        self.sampler.start()
        return self.sampler

    def wait_released(self, but=(), timeout=60):
        """Nothing is parked any more, but these ids."""
        wait.until(lambda: self.parked() == set(but),
                   lambda: f"{len(self.parked())} parked events to be released\n" + "\n".join(host.log_tail(20) for host in self.hosts),
                   timeout)

    def check(self, drained=True, waiting=(), parked=(), timeout=60, effects=True, replayed=(), discarded=()):
        """INV 1, 2, 3, 5.  waiting: ids that may still be in a retry topic; parked: those that are still parked; replayed: ids that died and may have been applied,
        or have died again, since; discarded: ids that are claimed without an effect."""
        if drained:
            self.wait_drained(timeout)
            self.wait_released(parked, timeout)
        if self.sampler:
            self.sampler.finish()
        dead = self.dead()
        assert not self.database.stray_parked(), f"parked events and keys differ: {self.database.stray_parked()[:5]}"
        self._check_one_place(dead, set(waiting), set(replayed) | set(discarded))
        if effects:
            self._check_effects(set(discarded))
        if drained:
            self._check_life()
        wait.until(lambda: not self.database.idle_in_transaction(), "no backend idle in transaction", 5)
        return dead

    def _check_effects(self, discarded):
        effects, processed = self.database.effects(self.consumer), self.database.processed(self.consumer)
        doubled = {id: count for id, count in effects.items() if count != 1}
        assert not doubled, f"applied more than once: {list(doubled.items())[:5]} ({len(doubled)} ids)"
        assert discarded <= processed, f"discarded, and not claimed: {sorted(discarded - processed)[:5]}"
        assert not discarded & set(effects), f"discarded, and applied: {sorted(discarded & set(effects))[:5]}"
        lost = processed - set(effects) - discarded
        assert not lost, f"claimed without an effect: {sorted(lost)[:5]} ({len(lost)} ids)"
        loose = set(effects) - processed
        assert not loose, f"an effect without its claim: {sorted(loose)[:5]} ({len(loose)} ids)"

    def _check_one_place(self, dead, waiting, operated):
        """Every event is in exactly one of processed, dead, ignored, parked, waiting; every record of an event without an id that
        can be read is dead by its place."""
        processed, parked = self.database.processed(self.consumer), self.parked()
        dead_ids = collections.Counter(record.id.lower() for record in dead if record.id)
        dead_places = collections.Counter(record.origin for record in dead)
        by_id = {}
        for one in self.produced:
            by_id.setdefault((one.id or "").lower(), []).append(one)
        for one in self.produced:
            id = (one.id or "").lower()
            places = [name for name, there in (
                ("processed", id in processed), ("dead", id in dead_ids or any(copy in dead_places for copy in one.copies)),
                ("ignored", one in self.ignored), ("parked", id in parked), ("waiting", id in waiting)) if there]
            if len(by_id[id]) > 1 and id:   # copies with other content or other spelling: the id is in one place or reported
                assert places, f"event {one.id} at {one.copies} is nowhere: lost"
                continue
            assert len(places) == 1 or (id in operated and places == ["processed", "dead"]), f"event {one.id} ({one.value[:60]!r}) at {one.copies} is in {places or 'no place: lost'}"
        again = {record.origin for record in dead if record.id and record.id.lower() in operated}
        doubled = {place: count for place, count in dead_places.items() if count > 1 and place not in again}
        assert not doubled, f"more than one dead letter for a record: {list(doubled.items())[:3]}"

    def _check_life(self):
        """The six counters after kills, doc/testing.md: those of the host that is there account for every record that the group had
        not committed when it started, and for every row that was not there."""
        life = self.life
        if not life or not life.alone or not life.host.is_running():
            return
        child_died = bool(life.host.logged("child_died"))
        if not child_died and not any(host.killed for host in self.hosts):
            return
        due = [place for place in self._places() if place[2] >= life.committed.get(place[:2], 0)]
        six, consumed = life.host.counted(self.consumer)
        ended, rows = sum(six.values()), len(self.database.processed(self.consumer)) - life.rows
        told = f"counters {six}, consumed {consumed}, {len(due)} records not committed before, {rows} new rows"
        assert ended >= len(due), f"a record that no counter knows: {told}"
        assert six["processed"] <= rows, f"an event counted as processed that is not there: {told}"
        # What was parked is applied later, and a kill right behind that leaves nothing to be counted.
        assert rows <= six["processed"] + six["duplicate"] + six["parked"] + life.parked, f"rows of which no counter knows: {told}"
        assert consumed <= ended, f"a record that ended nowhere: {told}"
        if not child_died:
            self.check_counters(life.host)

    def _places(self):
        """Every record produced, and those of the host's own retry topics."""
        for (topic, partition), here in self.places.items():
            yield from ((topic, partition, offset) for offset in list(here))
        yield from (record.place for record in self.retries())

    def check_counters(self, *hosts, pipeline=None):
        """The six counters account for every record consumed, as long as no process was killed."""
        for host in hosts or self.hosts:
            def adds_up(host=host):
                six, consumed = host.counted(pipeline or self.consumer)
                return consumed >= 0 and sum(six.values()) == consumed
            wait.until(adds_up, lambda host=host: f"the six counters to add up: {host.counted(pipeline or self.consumer)}", 10)

    def check_parked(self, host, before=0, ended=0):
        """As long as no process was killed: what this host parked and what was parked when it started is applied, dead or there.
        ended: those that turned out to be duplicates."""
        metrics, now = host.metrics(), len(self.parked())
        six, _ = host.counted(self.consumer)
        gone = metrics["parked_applied"] + metrics["parked_dead"] + ended
        assert before + six["parked"] == gone + now, f"parked {before} + {six['parked']}, gone {gone}, there {now}"

    def check_ledger(self, workload, timeout=120):
        """The bench workload: exact count and sum, and the very ids."""
        self.wait_drained(timeout)
        self.wait_released(timeout=timeout)
        if self.sampler:
            self.sampler.finish()
        rows, total = self.database.run("SELECT (SELECT count(*) FROM processed_event WHERE consumer_group = %s),"
                                        " (SELECT coalesce(sum(paid_amount), 0) FROM orders)", self.consumer)[0]
        dead = self.dead()
        assert not dead, f"{len(dead)} dead letters, the first says {dead[0].reason}: {dead[0].header('x-error')}"
        assert (rows, int(total)) == workload.expected(), f"ledger {(rows, int(total))}, expected {workload.expected()}"
        assert self.database.processed(self.consumer) == set(workload.ids)
        self._check_life()
        wait.until(lambda: not self.database.idle_in_transaction(), "no backend idle in transaction", 5)

    def close(self):
        self.group.close()
