"""Events as tests make them: a header eventId and eventType, a JSON value that steers the ref plugin, the key of an order."""
import itertools
import json
import os
import time
import uuid

TYPE = "test.v1"  # the one type of tests/plugins/ref
_counter = itertools.count()


def uuid7(at_ms=None):
    """Version 7; ids made by this process sort as they were made."""
    ms = int(time.time() * 1000) if at_ms is None else at_ms
    raw = bytearray(os.urandom(16))
    raw[0:6] = ms.to_bytes(6, "big")
    count = next(_counter) & 0xFFF
    raw[6], raw[7] = 0x70 | count >> 8, count & 0xFF
    raw[8] = raw[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))


class Event:
    """One record to be produced.  copies: where the broker put it, (topic, partition, offset), one for each time it was sent."""

    def __init__(self, value=b"{}", key=None, id=None, type=TYPE, headers=(), partition=None,
                 in_headers=True):
        self.id, self.type, self.key, self.value, self.partition = id, type, key, value, partition
        self.headers, self.in_headers = list(headers), in_headers
        self.copies = []

    def wire_headers(self):
        if not self.in_headers:
            return self.headers
        own = [(name, value.encode()) for name, value in (("eventId", self.id), ("eventType", self.type)) if value is not None]
        return own + self.headers


_sequence = itertools.count(1)


def event(do="ok", key="k", partition=None, id="new", type=TYPE, headers=(), **fields):
    """An event for the ref plugin: {"do": …, "seq": rising}."""
    fields = {"do": do, "seq": next(_sequence), **fields}
    return Event(json.dumps(fields, separators=(",", ":")).encode(), key.encode() if isinstance(key, str) else key,
                 uuid7() if id == "new" else id, type, headers, partition)


def many(count, do="ok", keys=8, **fields):
    return [event(do, key=f"k{i % keys}", **fields) for i in range(count)]
