"""What is looked at while the run goes on: committed offsets, what the retry and dead letter topics hold, recovery."""
import threading
import time

import confluent_kafka as kafka
import psycopg2
from idem.broker import Record

from mix import NUMBER


class Tail:
    """[sampler] Reads the dead letter and retry topics of all consumers as they grow."""

    def __init__(self, broker, ledger):
        self.broker, self.ledger = broker, ledger
        self.reader = broker.reader()
        self.next = {}             # {(topic, partition): offset}
        self.routed = bytearray()  # by number of the event: it has a retry or dead letter record
        self.retry_records = 0

    def read_to_end(self):
        """Everything that was there when it was called; KafkaException when the broker is away."""
        self._find_topics()
        ends = {(topic, partition): self.reader.get_watermark_offsets(kafka.TopicPartition(topic, partition), timeout=5)[1]
                for topic, partition in self.next}
        deadline = time.monotonic() + 20
        while any(self.next[place] < end for place, end in ends.items()):
            if time.monotonic() > deadline:
                raise kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TIMED_OUT))
            self.read_some()

    def read_some(self):
        """What is at hand."""
        if self.next:
            for message in self.reader.consume(1000, 0.1):
                if message.error() is None:
                    self._take(Record(message))

    def _find_topics(self):
        new = {}
        for topic, found in self.broker.admin.list_topics(timeout=5).topics.items():
            if self._consumer_of(topic):
                new.update({(topic, partition): 0 for partition in found.partitions if (topic, partition) not in self.next})
        if new:
            self.next.update(new)
            self.reader.assign([kafka.TopicPartition(*place, offset) for place, offset in self.next.items()])

    def _consumer_of(self, topic):
        return next((one for one in self.ledger.consumers if topic == one + ".dlq" or topic.startswith(one + ".retry.")), None)

    def _take(self, record):
        if record.offset < self.next[record.topic, record.partition]:
            return
        self.next[record.topic, record.partition] = record.offset + 1
        number = int(record.header(NUMBER))
        if number >= len(self.routed):
            self.routed.extend(bytes(number + 100000 - len(self.routed)))
        self.routed[number] = 1
        if record.topic.endswith(".dlq"):
            self.ledger.dead(number, self._consumer_of(record.topic), record.reason, "/".join(map(str, record.origin)))
        else:
            self.retry_records += 1


class Recovery:
    """From a strike until every pipeline committed an effect of an event produced after it, and until every record produced
    before it was finished.  newest: the number of the last event produced then; ends: the offsets."""

    def __init__(self, outcome, newest, ends):
        self.fault, self.at, self.newest, self.ends = outcome.fault, outcome.at, newest, ends
        self.next_effect = self.all_finished = None


class Watch(threading.Thread):
    """Five times a second.  Offsets are read before rows: what they cover must be there when it is looked up after.  When a server
    is away, the same is looked at again next time."""

    def __init__(self, bench, cases, ledger, say=print):
        super().__init__(daemon=True)
        self.cases, self.ledger, self.say = cases, ledger, say
        self.database = bench.database.steady()
        self.tail = Tail(bench.broker, ledger)
        self.high = {}
        self.mistakes = []
        self.samples = self.unsure = 0
        self.recovering, self.recovered = [], []
        self._lock = threading.Lock()
        self._end = threading.Event()

    def run(self):
        while not self._end.is_set():
            self.look()
            self._end.wait(0.2)

    def look(self, to_end=False):
        """One sample; False: a server was away.  to_end: every retry and dead letter record, too."""
        try:
            self._sample()
            if to_end:
                self.tail.read_to_end()
            self.samples += 1
            return True
        except (kafka.KafkaException, psycopg2.Error):
            self.unsure += 1
        except Exception as error:  # noqa: BLE001: the verdict tells it
            self._mistake(f"the sampler failed: {error!r}")
            self._end.set()
        return False

    def stop(self):
        self._end.set()
        self.join()

    def _mistake(self, text):
        self.mistakes.append(text)
        self.say(f"BROKEN {text}")

    def struck(self, outcome):
        ends = {(pipeline, partition): len(numbers) for pipeline, places in enumerate(self.ledger.places)
                for partition, numbers in enumerate(places)}
        with self._lock:
            self.recovering.append(Recovery(outcome, self.ledger.newest, ends))

    def _sample(self):
        for pipeline, case in enumerate(self.cases):
            topic = case.topics[0]
            for partition, offset in case.group.committed(topic).items():
                before = self.high.get((pipeline, partition), 0)
                if offset < before:
                    self._mistake(f"{topic}[{partition}]: committed offset went back from {before} to {offset}")
                if offset > before:
                    self.high[pipeline, partition] = self._check_range(pipeline, partition, before, offset)
        self.tail.read_some()
        self._note_recoveries()

    def _check_range(self, pipeline, partition, first, end):
        """Up to where it could be checked: an acknowledgement may come later than the consumer."""
        numbers = self.ledger.numbers_at(pipeline, partition, first, end)
        if -1 in numbers:
            numbers = numbers[:numbers.index(-1)]
        missing = self._unfinished(pipeline, set(numbers))
        if missing:
            self.tail.read_to_end()
            missing = self._unfinished(pipeline, missing)
        if missing:
            self._mistake(f"{self.cases[pipeline].topics[0]}[{partition}]: offset {end} was committed with {len(missing)} events"
                          f" unfinished, among them {sorted(missing)[:5]}")
        return first + len(numbers)

    def _parked(self, pipeline):
        """Numbers of the events that are parked."""
        rows = self.database.run('SELECT partition, "offset" FROM parked_event WHERE consumer_group = %s', self.ledger.consumers[pipeline])
        return {number for partition, offset in rows for number in self.ledger.numbers_at(pipeline, partition, offset, offset + 1)}

    def _unfinished(self, pipeline, numbers):
        """Those that are neither applied nor routed nor parked.  Parked is looked at first: what is released meanwhile is applied or
        dead when that is looked at."""
        numbers = numbers - self._parked(pipeline)
        routed = self.tail.routed
        left = [number for number in numbers if number >= len(routed) or not routed[number]]
        if not left:
            return set()
        done = self.database.run("SELECT seq FROM effect WHERE consumer = %s AND seq = ANY(%s)", self.ledger.consumers[pipeline], left)
        return set(left) - {row[0] for row in done}

    def _note_recoveries(self):
        with self._lock:
            waiting = list(self.recovering)
        now = time.time()
        for one in waiting:
            if one.next_effect is None:
                first = self.database.run("SELECT extract(epoch FROM min(at)) FROM effect WHERE seq > %s AND seq <= %s"
                                          " GROUP BY consumer", one.newest, one.newest + 10000)
                one.next_effect = max(float(row[0]) for row in first) - one.at if len(first) == len(self.cases) else None
            if one.all_finished is None and all(self.high.get(place, 0) >= end for place, end in one.ends.items()):
                one.all_finished = now - one.at
            if one.next_effect is not None and one.all_finished is not None:
                with self._lock:
                    self.recovering.remove(one)
                    self.recovered.append(one)
