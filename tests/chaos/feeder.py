"""The producer: the events of the mix at an even pace, each record's place told to the ledger."""
import threading
import time


class Feeder(threading.Thread):
    """Records until `events` events were sent, over `seconds`; a broker that is away is waited for."""

    def __init__(self, field, mix, ledger, events, seconds):
        super().__init__(daemon=True)
        self.producer = field.bench.broker.patient_producer()
        self.topics = [case.topics[0] for case in field.cases]
        self.mix, self.ledger, self.events, self.seconds = mix, ledger, events, seconds
        self.problem = None

    def run(self):
        try:
            self._feed()
            while self.producer.flush(10):
                pass
        except Exception as error:  # noqa: BLE001: the verdict tells it
            self.problem = repr(error)

    def _feed(self):
        started, rate = time.monotonic(), self.events / self.seconds
        while self.mix.number < self.events and not self.problem:
            due = min(int((time.monotonic() - started) * rate), self.events)
            while self.mix.number < due:
                self._send(self.mix.next())
            self.producer.poll(0.01)
        self.ledger.moved(self.mix.elsewhere)

    def _send(self, record):
        self.ledger.sent(record)

        def acknowledged(error, message, pipeline=record.pipeline, number=record.number):
            if error:
                self.problem = str(error)
            else:
                self.ledger.placed(pipeline, message.partition(), message.offset(), number)

        while True:
            try:
                self.producer.produce(self.topics[record.pipeline], record.value, record.key, record.partition, acknowledged,
                                      headers=record.headers)
                return
            except BufferError:
                self.producer.poll(0.1)
