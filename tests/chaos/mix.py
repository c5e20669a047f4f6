"""The events and their known answers: a function of the seed.  Every record carries its number in a header, which retry and dead
letter records keep, and as `seq` of the effect, so that a finished event is found by number everywhere."""
import collections
import dataclasses
import json
import random
import uuid
import zlib

from idem.events import TYPE

PARTITIONS = 6
KEYS = 1000         # per pipeline; each has a balance that `read` counts down
RECENT = 2000       # a copy comes within so many events
NUMBER = "n"        # the header


@dataclasses.dataclass(frozen=True)
class Pipeline:
    name: str
    plugin: str
    ordering: str
    retry: dict
    deeds: tuple    # (deed, share, answer): "effect", or the reason of the dead letter


COMMON = (("fatal", 0.5, "rejected"), ("fail", 0.05, "attempts_exhausted"), ("broken_json", 0.2, "malformed"),
          ("no_id", 0.1, "id_missing"), ("bad_id", 0.1, "id_invalid"), ("no_type", 0.1, "type_missing"))
SINGLE = (*COMMON, ("nap:20", 0.4, "effect"), ("failn:1", 0.4, "effect"), ("failn:2", 0.1, "effect"), ("read", 6, "effect"),
          ("queue:0", 0.2, "statement_failed"), ("miss", 0.1, "expectation_missed"), ("swallow:SELECT 1/0", 0.1, "tx_aborted_by_handler"))
PIPELINES = (
    Pipeline("lanes", "ref", "key", {"mode": "in_place", "delays": ["100ms", "200ms"]}, SINGLE),
    Pipeline("sets", "ref_batch", "partition", {"mode": "in_place", "delays": ["50ms", "100ms"]},
             (*COMMON, ("own", 0.1, "statement_failed"), ("break", 0.02, "statement_failed"))),
    Pipeline("parked", "ref", "key", {"mode": "parked", "delays": ["500ms", "1s"]}, SINGLE),
    Pipeline("tiers", "ref", "none", {"mode": "topics", "delays": ["1s", "2s"]}, SINGLE),
)
COPIES, COPIES_ELSEWHERE = 0.06, 0.01  # of the events that end in an effect: the record again, in its partition or in any


@dataclasses.dataclass
class Record:
    """lane: what keeps its order, "" if nothing does.  A copy has its event's number."""
    number: int
    pipeline: int
    partition: int
    key: str
    value: bytes
    headers: list
    id: str
    deed: str
    answer: str
    lane: str
    is_copy: bool = False


class Mix:
    """next() makes the next record.  start_ms: the time inside the first id; ids are 1,000 a millisecond at most."""

    def __init__(self, seed, start_ms):
        self.chance = random.Random(f"mix {seed}")
        self.start_ms, self.number = start_ms, 0
        self.recent = [collections.deque(maxlen=RECENT) for _ in PIPELINES]
        self.elsewhere = []   # numbers of events with a copy in another partition: their order is not promised
        self.choices = [_choices(pipeline) for pipeline in PIPELINES]

    def next(self):
        chance = self.chance
        pipeline = chance.randrange(len(PIPELINES))
        recent = self.recent[pipeline]
        if recent:
            dice = chance.random()
            if dice < COPIES + COPIES_ELSEWHERE:
                return self._copy(chance.choice(recent), dice < COPIES_ELSEWHERE)
        record = self._event(pipeline)
        if record.answer == "effect":
            recent.append(record)
        return record

    def _copy(self, original, elsewhere):
        partition = self.chance.randrange(PARTITIONS) if elsewhere else original.partition
        if elsewhere:
            self.elsewhere.append(original.number)
        return dataclasses.replace(original, partition=partition, is_copy=True)

    def _event(self, pipeline):
        number, chance = self.number, self.chance
        self.number += 1
        deeds, sums = self.choices[pipeline]
        deed, answer = chance.choices(deeds, cum_weights=sums)[0]
        key = f"p{pipeline}k{chance.randrange(KEYS)}"
        partition = zlib.crc32(key.encode()) % PARTITIONS
        id = self._uuid7(number)
        value = json.dumps({"do": deed, "seq": number}, separators=(",", ":")).encode()
        headers = [("eventId", id.encode()), ("eventType", TYPE.encode()), (NUMBER, str(number).encode())]
        spoil = SPOILED.get(deed)
        if spoil:
            value, headers = spoil(value, headers)
        ordering = PIPELINES[pipeline].ordering
        lane = key if ordering == "key" else f"p{pipeline} {partition}" if ordering == "partition" else ""
        return Record(number, pipeline, partition, key, value, headers, id, deed, answer, lane)

    def _uuid7(self, number):
        raw = bytearray(self.chance.getrandbits(128).to_bytes(16, "big"))
        raw[0:6] = (self.start_ms + number // 1000).to_bytes(6, "big")
        raw[6], raw[8] = raw[6] & 15 | 0x70, raw[8] & 63 | 0x80
        return str(uuid.UUID(bytes=bytes(raw)))


def _choices(pipeline):
    shares = [("ok", 100 - sum(share for _, share, _ in pipeline.deeds), "effect"), *pipeline.deeds]
    total, sums = 0, []
    for _, share, _ in shares:
        total += share
        sums.append(total)
    return [(deed, answer) for deed, _, answer in shares], sums


SPOILED = {
    "broken_json": lambda value, headers: (value[:-1], headers),
    "no_id": lambda value, headers: (value, headers[1:]),
    "bad_id": lambda value, headers: (value, [("eventId", b"7"), *headers[1:]]),
    "no_type": lambda value, headers: (value, [headers[0], headers[2]]),
}
