"""Payloads, bytes and identifiers as they really come (field cases P)."""
import hashlib
import os

import pytest

from idem import wait
from idem.events import Event, event, many, uuid7


@pytest.mark.parametrize("policy,place", [(None, "ignored"), ("skip", "ignored"), ("deliver", "processed"), ("dlq", "dead")])
def test_a_tombstone_follows_the_policy(bench, policy, place):
    """P1: no crash; null stays null in the dead letter."""
    case = bench.case(partitions=1)
    host = bench.start(case, event={"tombstone": policy} if policy else {})
    tombstone = Event(None, b"k", uuid7())
    if place == "ignored":
        case.ignored.add(tombstone)
    case.produce([tombstone, event()])
    dead = case.check()
    assert host.counted()[0][place] == (2 if place == "processed" else 1)
    assert [record.value for record in dead] == ([None] if place == "dead" else [])
    case.check_counters()


def content(record):
    """What belongs to whoever produced it."""
    return record.key, record.value, [pair for pair in record.headers if not pair[0].startswith("x-")]


def test_null_and_empty_stay_what_they_are_through_retry_dead_letter_and_replay(bench):
    """P3: key, value and a header's value, null against empty.  An empty value is no JSON and no handler sees it: its way is the
    dead letter topic and the replay's topic, which is read as a retry topic."""
    case = bench.case(partitions=1)
    host = bench.start(case, ordering="none", event={"tombstone": "deliver"}, retry={"mode": "topics", "delays": ["100ms", "200ms"]})
    events = [event("fail", key=key, headers=[("h", header)]) for key in (None, b"") for header in (None, b"")]
    events += [Event(value, b"k", uuid7(), headers=[("h", header), ("do", b"fail")]) for value in (None, b"") for header in (None, b"")]
    case.produce(events)
    case.check()
    answer = host.ctl("dlq", "replay", "--pipeline", case.consumer, "--all")
    assert answer.returncode == 0, answer.stderr
    wait.until(lambda: len(case.dead()) == 2 * len(events), "all to be dead again", 40)
    case.check(replayed=[one.id for one in events])
    copies = {}
    for record in case.routed():
        copies.setdefault(record.id, []).append(record)
    for one in events:
        reason = "malformed" if one.value == b"" else "attempts_exhausted"
        topics = sorted(record.topic.removeprefix(case.consumer) for record in copies[one.id])
        tiers = [] if one.value == b"" else [".retry.100ms", ".retry.200ms"]
        assert topics == sorted([".dlq", ".retry.replay", ".dlq", *tiers, *tiers]), one.value
        assert {record.reason for record in copies[one.id] if record.topic == case.dlq} == {reason}
        for record in copies[one.id]:
            assert content(record) == (one.key, one.value, one.wire_headers()), record.topic


def test_bad_utf8_is_dead_at_once_with_the_same_bytes(bench):
    """P5, CONS-7"""
    case = bench.case(partitions=1)
    host = bench.start(case)
    value = b'{"do":"ok","name":"\xc3\x28"}'
    bad, _ = case.produce([Event(value, b"k", uuid7()), event()])
    record, = case.check()
    assert (record.id, record.reason) == (bad.id, "malformed")
    assert hashlib.sha256(record.value).digest() == hashlib.sha256(value).digest()
    assert host.metrics()["in_place_retries"] == 0
    case.check_counters()


def test_a_nul_byte_in_a_text_parameter_is_never_cut_off(bench):
    """P7: refused; nothing was written under the shorter key."""
    case = bench.case(partitions=1)
    bench.start(case)
    bad, = case.produce([event("nul")])
    record, = case.check()
    assert record.reason == "rejected" and "NUL" in record.header("x-error")
    assert bench.database.effects(case.consumer) == {}


@pytest.mark.parametrize("value", [b'{"do":"ok","amount":1,"amount":1000000}', b'{"do":"ok","a":{"b":[{"x":1,"x":2}]}}',
                                   b'{"do":"ok","am\\u006funt":1,"amount":2}'])
def test_a_repeated_key_is_refused(bench, value):
    """P9: a validator and a handler would see different values."""
    case = bench.case(partitions=1)
    bench.start(case)
    case.produce([Event(value, b"k", uuid7())])
    record, = case.check()
    assert record.reason == "duplicate_key"


def test_a_repeated_event_id_in_the_payload_is_refused(bench):
    """P9"""
    case = bench.case(partitions=1)
    bench.start(case)
    first, second = uuid7(), uuid7()
    value = f'{{"eventId":"{first}","eventType":"test.v1","do":"ok","eventId":"{second}"}}'.encode()
    case.produce([Event(value, b"k", None, in_headers=False)])
    record, = case.check()
    assert record.reason == "duplicate_key"
    assert bench.database.effects(case.consumer) == {}


@pytest.mark.parametrize("value", [b'{"do":"ok","s":"a\\u0000b"}', b'{"do":"ok","s":"\\ud800"}', b'{"do":"ok"} x', b'{"do":"ok"', b'',
                                   b'\xef\xbb\xbf{"do":"ok"}', b'{"do":"ok",}', b'[1', b'nul'])
def test_what_is_no_strict_json_is_dead(bench, value):
    """CONS-7: U+0000, lone surrogates, trailing bytes, cut documents."""
    case = bench.case(partitions=1)
    bench.start(case)
    case.produce([Event(value, b"k", uuid7()), event()])
    record, = case.check()
    assert (record.reason, record.value) == ("malformed", value)


def test_forms_of_an_id(bench):
    """P11: lower and upper case are one event; braces, urn, spaces and missing hyphens are refused, never another id."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    id = uuid7()
    forms = [id, id.upper(), "{" + id + "}", id.replace("-", ""), "urn:uuid:" + id, " " + id + " "]
    value = b'{"do":"ok"}'
    case.produce([Event(value, b"k", form) for form in forms])
    case.wait_drained()
    six, _ = host.counted()
    assert (six["processed"], six["duplicate"], six["dead"]) == (1, 1, 4)
    assert bench.database.effects(case.consumer) == {id: 1}
    assert {record.reason for record in case.dead()} == {"id_invalid"}
    assert [record.id for record in case.dead()] == forms[2:]


def test_missing_metadata_is_dead_once_each_with_its_own_reason(bench):
    """P13: offsets advance; a restart does not repeat them."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    case.produce([event(id=None), event(type=None), event(type="nobody.knows.v1"), event()])
    dead = case.check()
    assert [record.reason for record in dead] == ["id_missing", "type_missing", "type_unknown"]
    case.check_counters()
    host.stop()
    bench.start(case)
    case.produce([event()])
    assert len(case.check()) == 3


def test_a_known_type_that_the_plugin_does_not_handle_is_ignored(bench):
    """CONS-X5"""
    schemas = bench.folder + "/schemas"
    os.mkdir(schemas)
    for name in ("test.v1", "other.v1"):
        with open(f"{schemas}/{name}.json", "w", encoding="utf-8") as file:
            file.write("{}")
    case = bench.case(partitions=1)
    host = bench.start(case, event={"schemas": schemas})
    other = event(type="other.v1")
    case.ignored.add(other)
    case.produce([other, event(type="unknown.v1"), event()])
    record, = case.check()
    assert record.reason == "type_unknown"
    assert host.counted()[0]["ignored"] == 1
    case.check_counters()


def test_a_broken_copy_of_a_processed_event_is_a_duplicate(bench):
    """DESIGN 1.2: a record that fails after its id was read is looked up first."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    one = event()
    case.produce([one])
    case.wait_drained()
    case.produce([Event(one.value, b"k", one.id, type="nobody.knows.v1")])
    case.wait_drained()
    six, _ = host.counted()
    assert (six["processed"], six["duplicate"], six["dead"]) == (1, 1, 0)


def peak_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def test_monsters_are_dead_and_their_neighbours_are_applied(bench):
    """P15: 100,000 nested brackets, a 10 MiB string, a 1 MiB key: bounded time, no crash."""
    topic = bench.topic(1, **{"max.message.bytes": "20000000"})
    case = bench.case(topics=[topic])
    host = bench.start(case)
    deep = Event(b"[" * 100000, b"k", uuid7())
    deep_object = Event(b'{"a":' * 5000 + b"1" + b"}" * 5000, b"k", uuid7())
    long = Event(b'{"do":"ok","s":"' + b"x" * (10 << 20) + b'"}', b"k", uuid7())
    wide = event(key="k" * (1 << 20))
    case.produce([event(), deep, event(), deep_object, long, event(), wide, *many(5)])
    dead = {record.id: record for record in case.check(timeout=60)}
    assert {deep.id, deep_object.id, long.id} <= set(dead) <= {deep.id, deep_object.id, long.id, wide.id}
    assert dead[deep.id].reason == "too_deep" and dead[deep_object.id].reason == "too_deep"
    assert hashlib.sha256(dead[long.id].value).digest() == hashlib.sha256(long.value).digest()
    assert not host.logged("child_died")
    child, = host.children()
    assert peak_bytes(child) < 512 << 20
    case.check_counters()
