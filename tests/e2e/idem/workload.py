"""The bench workload: unique orders, a share of them sent again; the ledger they must end in."""
import collections
import json
import random
import time
import uuid

from idem.events import Event


class Workload:
    """count unique events over 10,000 orders (or the first few of them), duplicates × count sent again within the last 2,000; the
    same seed makes the same orders and amounts."""

    def __init__(self, count, duplicates=0.1, seed=7, orders=10000):
        self.orders = orders
        self.random = random.Random(seed)
        self.unique, self.sum = count, 0
        self.records = []  # events, in order; a duplicate stands there twice
        self.ids = []
        start, recent = int(time.time() * 1000) - 60000, collections.deque(maxlen=2000)
        for number in range(count):
            record = self._order(start + number // 100)
            self.records.append(record)
            recent.append(record)
            if self.random.random() < duplicates:
                self.records.append(self.random.choice(recent))

    def _order(self, at_ms):
        order, cents = self.random.randint(1, self.orders), self.random.randint(100, 99999)
        id = self._uuid7(at_ms)
        self.ids.append(id)
        self.sum += cents
        value = {"eventId": id, "eventType": "order.confirmed.v1", "occurredAt": "2026-11-30T21:00:00.000Z",
                 "aggregateType": "Order", "orderId": order, "customerId": self.random.randint(1, 5000), "totalAmount": cents,
                 "currency": "EUR", "note": "x" * 60}
        return Event(json.dumps(value, separators=(",", ":")).encode(), str(order).encode(), id, in_headers=False)

    def _uuid7(self, ms):
        raw = bytearray(self.random.getrandbits(128).to_bytes(16, "big"))
        raw[0:6] = ms.to_bytes(6, "big")
        raw[6], raw[8] = raw[6] & 15 | 0x70, raw[8] & 63 | 0x80
        return str(uuid.UUID(bytes=bytes(raw)))

    def expected(self):
        """(rows in processed_event, sum of paid_amount)"""
        return self.unique, self.sum
