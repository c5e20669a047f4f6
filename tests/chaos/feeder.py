"""The producer: the events of the mix at an even pace, slower while faults are late, each record's place told to the ledger."""
import threading
import time


class Feeder(threading.Thread):
    """Records until given.events events were sent, over given.minutes; a broker that is away is waited for.  faults_left() says how
    many have not struck: what is left of the events lasts for them."""

    def __init__(self, field, mix, ledger, given, faults_left):
        super().__init__(daemon=True)
        self.producer = field.bench.broker.patient_producer()
        self.topics = [case.topics[0] for case in field.cases]
        self.mix, self.ledger, self.events, self.seconds = mix, ledger, given.events, given.minutes * 60
        self.faults_left, self.faults = faults_left, max(faults_left(), 1)
        self.problem = None

    def run(self):
        try:
            self._feed()
            while self.producer.flush(10):
                pass
        except Exception as error:  # noqa: BLE001: the verdict tells it
            self.problem = repr(error)

    def _feed(self):
        began = last = time.monotonic()
        due = 0.0
        while self.mix.number < self.events and not self.problem:
            now = time.monotonic()
            due = min(due + (now - last) * self._rate(now - began), self.events)
            last = now
            while self.mix.number < int(due):
                self._send(self.mix.next())
            self.producer.poll(0.01)
        self.ledger.moved(self.mix.elsewhere)

    def _rate(self, elapsed):
        """Events a second: never more than twice what was asked for."""
        left, usual = self.events - self.mix.number, self.events / self.seconds
        for_faults = self.faults_left() * self.seconds / self.faults
        return min(left / max(self.seconds - elapsed, for_faults / 2, 0.1) + 1, 2 * usual)

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
