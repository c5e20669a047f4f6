"""Topics, records and offsets of the real broker."""
import threading

import confluent_kafka as kafka
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from idem import wait


class Record:
    """A record read back."""

    def __init__(self, message):
        self.topic, self.partition, self.offset = message.topic(), message.partition(), message.offset()
        self.key, self.value = message.key(), message.value()
        self.headers, self.timestamp = message.headers() or [], message.timestamp()[1]
        self.place = (self.topic, self.partition, self.offset)

    def header(self, name):
        found = [value for key, value in self.headers if key == name]
        return found[-1].decode("utf-8", "backslashreplace") if found and found[-1] is not None else None

    @property
    def id(self):
        return self.header("eventId")

    @property
    def reason(self):
        return self.header("x-reason")

    @property
    def origin(self):
        return self.header("x-origin-topic"), int(self.header("x-origin-partition")), int(self.header("x-origin-offset"))


class Broker:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = AdminClient(self._conf())
        self.looker = kafka.Consumer(self._conf(**{"group.id": "idem-test-looker"}))
        self.producer = kafka.Producer(self._conf(**{"enable.idempotence": True, "linger.ms": 5,
                                                     "queue.buffering.max.messages": 1000000,
                                                     "message.max.bytes": 20000000}))

    def reader(self):
        """A consumer of no group that is told what it reads."""
        return kafka.Consumer(self._conf(**{"group.id": "idem-test-reader", "enable.auto.commit": False,
                                            "fetch.message.max.bytes": 20000000, "auto.offset.reset": "earliest"}))

    def patient_producer(self):
        """One that gives nothing up while the broker is away."""
        return kafka.Producer(self._conf(**{"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 0,
                                            "queue.buffering.max.messages": 1000000}))

    def _conf(self, **more):
        return {"bootstrap.servers": self.bootstrap, "log_level": 0, "fetch.wait.max.ms": 50, **more}

    def create(self, topic, partitions=3, **config):
        future = self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic]
        future.result(30)
        wait.until(lambda: self.partitions(topic) == list(range(partitions)), f"topic {topic}")
        self.producer.list_topics(topic, timeout=10)

    def settings(self, topic):
        """{name: value} of the topic's configuration."""
        answer, = self.admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)]).values()
        return {name: entry.value for name, entry in answer.result(10).items()}

    def configure(self, topic, **config):
        """These settings, and no others, over the defaults."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=config)
        self.admin.alter_configs([resource])[resource].result(30)

    def partitions(self, topic):
        found = self.admin.list_topics(topic, timeout=10).topics.get(topic)
        return sorted(found.partitions) if found and not found.error else []

    def topics(self):
        return set(self.admin.list_topics(timeout=10).topics)

    def produce(self, topic, events, flush=True, placed=None):
        """Sends and, when told, waits for the acknowledgements; every copy's place is kept in its event and told to
        placed(event, place)."""
        failures = []

        def note(one):
            def report(error, message):
                if error:
                    failures.append(error)
                else:
                    place = (message.topic(), message.partition(), message.offset())
                    one.copies.append(place)
                    if placed:
                        placed(one, place)
            return report

        for one in events:
            where = {} if one.partition is None else {"partition": one.partition}
            while True:
                try:
                    self.producer.produce(topic, one.value, one.key, headers=one.wire_headers(), on_delivery=note(one), **where)
                    break
                except BufferError:
                    self.producer.poll(0.1)
            self.producer.poll(0)
        if flush:
            assert self.producer.flush(60) == 0, "the broker did not acknowledge everything"
        assert not failures, failures

    def watermarks(self, topic):
        """{partition: (low, high)}"""
        return {p: self._watermarks_of(topic, p) for p in self.partitions(topic)}

    def _watermarks_of(self, topic, partition):
        """A leader that was named just now may not know it yet: asked until it does."""
        def ask():
            try:
                return self.looker.get_watermark_offsets(kafka.TopicPartition(topic, partition), timeout=10)
            except kafka.KafkaException as problem:
                if problem.args[0].code() != kafka.KafkaError.NOT_LEADER_FOR_PARTITION:
                    raise
                return None
        return wait.until(ask, f"the leader of {topic}[{partition}]")

    def read(self, topic):
        """Every record of the topic, first to last, as of now; [] when there is no such topic."""
        partitions = self.partitions(topic)
        consumer = kafka.Consumer(self._conf(**{"group.id": "idem-test-reader", "enable.auto.commit": False,
                                                "enable.partition.eof": True, "fetch.message.max.bytes": 20000000,
                                                "auto.offset.reset": "earliest"}))
        records, open_partitions = [], set(partitions)
        try:
            consumer.assign([kafka.TopicPartition(topic, p, kafka.OFFSET_BEGINNING) for p in partitions])
            while open_partitions:
                message = consumer.poll(10)
                assert message is not None, f"{topic} can't be read"
                if message.error() is None:
                    records.append(Record(message))
                elif message.error().code() == kafka.KafkaError._PARTITION_EOF:
                    open_partitions.discard(message.partition())
                else:
                    raise kafka.KafkaException(message.error())
        finally:
            consumer.close()
        return records

    def group(self, name):
        return Group(self, name)


class Group:
    """Committed offsets of a consumer group, seen without joining it."""

    def __init__(self, broker, name):
        self.broker, self.name, self.lock = broker, name, threading.Lock()
        self.consumer = kafka.Consumer(broker._conf(**{"group.id": name, "enable.auto.commit": False}))

    def committed(self, topic):
        """{partition: next offset}; a partition without a commit is left out."""
        with self.lock:
            answer = self.consumer.committed([kafka.TopicPartition(topic, p) for p in self.broker.partitions(topic)], timeout=10)
        return {one.partition: one.offset for one in answer if one.offset >= 0}

    def commit(self, topic, offsets):
        """Moves the group; only while it has no members."""
        with self.lock:
            self.consumer.commit(offsets=[kafka.TopicPartition(topic, p, offset) for p, offset in offsets.items()],
                                 asynchronous=False)

    def members(self):
        groups = self.broker.admin.list_groups(self.name, timeout=10)
        return len(groups[0].members) if groups else 0

    def close(self):
        self.consumer.close()
