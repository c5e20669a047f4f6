"""Claiming ids and forgetting them (ENGINE 1)."""
import json
import time

import pytest

from idem.events import Event, event, many, uuid7

DAY_MS = 86400000


def now_ms():
    return int(time.time() * 1000)


def test_one_id_three_times_in_two_partitions_is_one_effect(bench):
    """D1: twice in one partition and once more in another: two duplicates, and nothing at error."""
    case = bench.case(partitions=2)
    case.watch()
    host = bench.start(case)
    one = event(key="k")
    for partition in (0, 0, 1):
        one.partition = partition
        case.produce([one])
    case.check()
    assert host.counted()[0]["duplicate"] == 2
    assert " error " not in host.log()
    case.check_counters()


def test_copies_at_the_same_time_on_many_workers_are_one_effect_each(bench):
    """A copy whose original is in an open transaction waits, and is a duplicate if that one commits."""
    case = bench.case(partitions=4)
    case.watch()
    events = many(100, "sql:SELECT pg_sleep(0.005)", keys=50)
    for partition in range(4):
        for one in events:
            one.partition = partition
        case.produce(events)
    host = bench.start(case, ordering="partition", workers=4)
    case.check()
    six, _ = host.counted()
    assert (six["processed"], six["duplicate"], six["dead"]) == (100, 300, 0)
    case.check_counters()


def test_a_copy_takes_over_when_its_original_is_rejected(bench):
    """A claim that is released again is free for the next copy: both are dead, none is taken for a duplicate."""
    case = bench.case(partitions=2)
    host = bench.start(case, ordering="partition", workers=2)
    one = event("fatal")
    for partition in (0, 1):
        one.partition = partition
        case.produce([one])
    case.wait_drained()
    assert bench.database.processed(case.consumer) == set()
    six, _ = host.counted()
    assert six["dead"] >= 1 and six["processed"] == 0
    assert {record.id for record in case.dead()} == {one.id}


def test_a_new_group_on_ids_of_30_days_ago(bench):
    """Older than the group's first day: they are claimed apart, nothing is dead, and a second reading is all duplicates."""
    case = bench.case(partitions=1)
    case.watch()
    old = [event(id=uuid7(now_ms() - 30 * DAY_MS + i)) for i in range(50)]
    middle = [event(id=uuid7(now_ms() - days * DAY_MS)) for days in range(12)]
    case.produce(old + middle)
    host = bench.start(case)
    assert case.check() == []
    assert host.counted()[0]["processed"] == 62
    host.stop()
    case.sampler.high.clear()
    case.group.commit(case.topics[0], {0: 0})
    again = bench.start(case, kafka={"session_timeout_ms": "6000"})
    case.produce([event()])
    case.check()
    assert bench.database.effects(case.consumer) == {one.id: 1 for one in case.produced}
    assert again.counted()[0]["dead"] == 0


def days_of(database, consumer):
    """{table: its bound} of the group's days."""
    return dict(database.run(
        "SELECT inhrelid::regclass::text, pg_get_expr(relpartbound, c.oid) FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid"
        " WHERE pg_get_expr(relpartbound, c.oid) LIKE 'FOR VALUES FROM%%'"))


def test_a_missing_day_is_made_and_nothing_is_dead(bench):
    """Tomorrow's table is gone when the first id of tomorrow comes."""
    case = bench.case(partitions=1)
    case.watch()
    host = bench.start(case, event={"max_future": "3d"})
    case.produce([event()])
    case.wait_drained()
    tomorrow = uuid7(now_ms() + DAY_MS)
    table = [name for name, bound in days_of(bench.database, case.consumer).items()
             if bound.split("'")[1] <= tomorrow < bound.split("'")[3]]
    assert len(table) == 1, "tomorrow is made ahead"
    bench.database.run(f"DROP TABLE {table[0]}")
    case.produce([event(id=tomorrow), event(id=uuid7(now_ms() + 2 * DAY_MS)), event()])
    assert case.check() == []
    assert host.counted()[0]["processed"] == 4
    case.check_counters()


def test_an_id_far_ahead_of_the_clock_is_dead(bench):
    case = bench.case(partitions=1)
    bench.start(case)
    ahead, good = case.produce([event(id=uuid7(now_ms() + 2 * 3600000)), event()])
    record, = case.check()
    assert (record.id, record.reason) == (ahead.id, "id_in_future")


def test_same_id_with_other_content_is_reported_never_silently_a_duplicate(bench):
    """D17 b: dead as id_reuse_conflict; the first one stays applied."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    first = event(amount=1)
    second = event(id=first.id, amount=2)
    case.produce([first, second])
    record, = case.check()
    assert (record.reason, record.value) == ("id_reuse_conflict", second.value)
    assert bench.database.effects(case.consumer) == {first.id: 1}
    assert host.metrics()["id_reuse_conflicts"] == 1
    assert host.logged("event_conflict")


def test_same_id_with_other_content_within_one_batch(bench):
    """D17 b when both come together: the copies of a batch are compared with each other too."""
    case = bench.case(partitions=1)
    warm = many(100)
    first = event(amount=1)
    second = event(id=first.id, amount=2)
    case.produce([*warm, first, second, *many(10)])
    host = bench.start(case, workers=1)
    record, = case.check()
    assert (record.reason, record.value) == ("id_reuse_conflict", second.value)
    assert host.metrics()["id_reuse_conflicts"] == 1


def test_reuse_may_be_only_logged(bench):
    case = bench.case(partitions=1)
    host = bench.start(case, event={"on_reuse": "log"})
    first = event(amount=1)
    case.produce([first, event(id=first.id, amount=2)])
    assert case.check() == []
    assert host.metrics()["id_reuse_conflicts"] == 1 and host.logged("event_conflict")


def test_one_business_key_under_different_ids_is_one_effect(bench):
    """D17 a, B-1"""
    case = bench.case(partitions=1)
    host = bench.start(case, event={"business_key": "{eventType}:{orderId}"})
    value = json.dumps({"do": "ok", "orderId": 7}).encode()
    copies = [Event(value, b"7", uuid7()) for _ in range(3)]
    other = Event(json.dumps({"do": "ok", "orderId": 8}).encode(), b"8", uuid7())
    case.produce([*copies, other])
    case.wait_drained()
    assert sorted(bench.database.effects(case.consumer).values()) == [1, 1]
    keys = [row[0] for row in bench.database.run("SELECT idempotency_key FROM processed_message WHERE consumer_name = %s"
                                                 " ORDER BY 1", case.consumer)]
    assert keys == ["test.v1:7", "test.v1:8"]
    assert host.counted()[0]["duplicate"] == 2
    case.check_counters()


@pytest.mark.parametrize("fields,reason", [({}, "key_incomplete"), ({"orderId": None}, "key_incomplete"),
                                           ({"orderId": {"a": 1}}, "key_incomplete"), ({"orderId": "x" * 200}, "key_too_long")])
def test_a_business_key_that_is_incomplete_or_too_long_is_refused_never_cut(bench, fields, reason):
    """B-1"""
    case = bench.case(partitions=1)
    bench.start(case, event={"business_key": "{eventType}:{orderId}"})
    case.produce([event(**fields)])
    case.wait_drained()
    assert [record.reason for record in case.dead()] == [reason]
    assert bench.database.effects(case.consumer) == {}


def test_ids_of_other_versions_are_accepted_when_told(bench):
    """IDEM-1: event.id_version = any"""
    case = bench.case(partitions=1)
    bench.start(case, event={"id_version": "any"})
    old = event(id="6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    case.produce([old, old, event(id="f47ac10b-58cc-4372-a567-0e02b2c3d479")])
    assert case.check() == []


def test_ids_of_other_versions_are_dead_by_default(bench):
    """IDEM-1"""
    case = bench.case(partitions=1)
    bench.start(case)
    case.produce([event(id="f47ac10b-58cc-4372-a567-0e02b2c3d479")])
    record, = case.check()
    assert record.reason == "id_invalid"


def test_header_and_payload_ids_must_agree(bench):
    """IDEM-1"""
    case = bench.case(partitions=1)
    bench.start(case)
    same, other = uuid7(), uuid7()
    case.produce([event(id=same, eventId=same), event(id=other, eventId=uuid7())])
    record, = case.check()
    assert (record.id, record.reason) == (other, "id_mismatch")
