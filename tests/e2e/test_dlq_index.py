"""The index of the dead letters: written before the origin's offset is committed, so that a record that comes again makes no
second dead letter (ENGINE 7; Y17)."""
import time

import pytest

from idem import wait
from idem.database import Postgres
from idem.events import Event, event, many

COMMIT_S = 20


def rows(bench, case, columns="event_id", where="true"):
    return bench.database.run(f"SELECT {columns} FROM dead_letter WHERE consumer_group = %s AND {where} "
                              "ORDER BY dlq_partition, dlq_offset", case.consumer)


def test_every_dead_letter_has_a_row_before_its_offset_is_committed(bench):
    case = bench.case(partitions=3)
    case.watch()
    host = bench.start(case)
    events = case.produce([event("miss", key=f"k{i}") for i in range(200)])
    nameless = case.produce([event(id=None), Event(b"\xff\x00", b"k", None)])
    dead = {record.origin: record for record in case.check()}
    found = rows(bench, case, "origin_topic, origin_partition, origin_offset, dlq_partition, dlq_offset, event_id, reason, round")
    assert {row[:3] for row in found} == set(dead) and len(found) == len(events) + len(nameless)
    for row in found:
        record = dead[row[:3]]
        assert row[3:5] == record.place[1:] and row[6] == record.reason and row[7] == 0
    assert {row[5] for row in found} == {one.id for one in events} | {None}
    assert host.stop() == 0


def test_text_that_the_database_refuses_is_escaped_in_the_index(bench):
    case = bench.case(partitions=1)
    bench.start(case)
    case.produce([Event(b"{", b"k", "no \x1b id"), Event(b"{}", b"k", None, headers=[("eventId", b"a\xff\x00b")], in_headers=False)])
    case.wait_drained()
    assert rows(bench, case, "given_id, event_id") == [("no \x1b id", None), ("a\\xff\\x00b", None)]


def test_what_the_index_does_not_take_holds_its_offset_and_nothing_else(bench):
    """No statement an event: hundreds of dead letters go in a few."""
    case = bench.case(partitions=2)
    host = bench.start(case)
    bench.database.run(f"REVOKE INSERT ON dead_letter FROM {Postgres.ROLE}")
    case.produce([event("miss", key=f"k{i}", partition=0) for i in range(300)])
    case.produce([event(partition=1) for _ in range(20)])
    wait.until(lambda: host.logged("index_failed"), "the alarm", 20)
    wait.until(lambda: case.group.committed(case.topics[0]).get(1) == 20, "the other partition to be committed", COMMIT_S)
    wait.until(lambda: len(case.dead()) == 300, "all to be in the topic", 20)
    assert case.group.committed(case.topics[0]).get(0, 0) <= 0 and host.counted()[0]["dead"] == 0
    bench.database.run(f"GRANT INSERT ON dead_letter TO {Postgres.ROLE}")
    case.check()
    assert len(rows(bench, case)) == 300 and host.counted()[0]["dead"] == 300
    statements = {row[0] for row in rows(bench, case, "xmin::text")}
    assert len(statements) < 10, "a statement for each"
    case.check_counters()


@pytest.mark.parametrize("point, records", [("before_index=kill", 2), ("after_index=kill", 1)])
def test_killed_between_the_acknowledgement_and_the_offset_commit_one_dead_letter_counts(bench, point, records):
    """ENGINE 7: route dead and no row: it is sent again; and a row: it is not."""
    case = bench.case(partitions=1)
    host = bench.host(bench.settings(case, kafka={"group_instance_id": "one"}), failpoints=point).start(ready=False)
    bad, = case.produce([event("miss")])
    wait.until(lambda: host.logged("child_died"), lambda: f"the kill\n{host.log_tail()}", 40)
    host.kill_group()
    host = bench.host(bench.settings(case, kafka={"group_instance_id": "one"})).start()
    case.wait_drained()
    assert [record.id for record in case.dead()] == [bad.id] * records
    assert rows(bench, case) == [(bad.id,)]
    six, consumed = host.counted()
    assert (six["dead"], six["duplicate"], consumed) == ((1, 0, 1) if records == 2 else (0, 1, 1))
    assert bench.database.processed(case.consumer) == set(), "its claim is gone: it can be replayed"


def test_a_poison_record_at_the_end_of_an_idle_partition_is_dead_once(bench):
    """Y17: restarted three times."""
    case = bench.case(partitions=2)
    case.produce([event(partition=0), event("fatal", partition=0), Event(b"{", b"k", None, partition=1)])
    for _ in range(4):
        host = bench.start(case)
        case.wait_drained()
        assert host.stop() == 0
    assert len(case.check(drained=False)) == 2 and len(rows(bench, case)) == 2


def test_copies_of_a_dead_event_make_no_second_dead_letter(bench):
    """The same content is a duplicate; other content under its id is told."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    bad, = case.produce([event("miss")])
    case.wait_drained()
    case.produce([bad, bad])
    other, = case.produce([event("miss", id=bad.id, n=1)])
    case.wait_drained()
    assert len(case.dead()) == 2 and len(rows(bench, case)) == 2
    six, consumed = host.counted()
    assert (six["dead"], six["duplicate"], consumed) == (2, 2, 4)


def test_what_does_not_fit_is_kept_in_the_database_and_replayed_byte_for_byte(bench):
    """Y24: one is too large for the DLQ, its 20 small neighbours are delivered."""
    case = bench.case(partitions=1)
    bench.broker.create(case.dlq, 1, **{"max.message.bytes": "3000"})
    host = bench.start(case)
    big = event("miss", filler="\u00e9" + "x" * 6000, headers=[("h", b"\xff")])
    case.produce([*many(10, "miss"), big, *many(10, "miss")])
    dead = case.check()
    pointer, = [record for record in dead if record.header("x-dlq-payload")]
    assert len(dead) == 21 and (pointer.id, pointer.value) == (big.id, None) and pointer.header("x-error") is None
    assert dict(pointer.headers)["h"] == b"\xff"
    assert [bytes(row[0]) for row in rows(bench, case, "payload", "payload IS NOT NULL")] == [big.value]
    raw = host.ctl("dlq", "show", "--pipeline", case.consumer, "--id", big.id, "--raw")
    assert raw.stdout == big.value
    assert host.ctl("dlq", "index", "--pipeline", case.consumer).returncode == 0, "which keeps it"
    bench.database.run("INSERT INTO balance VALUES ('a key that is not there', 0)")
    assert host.ctl("dlq", "replay", "--pipeline", case.consumer, "--id", big.id).returncode == 0
    case.check(replayed=[big.id])
    sent, = bench.broker.read(case.consumer + ".retry.replay")
    assert (sent.value, sent.key) == (big.value, big.key) and sent.header("x-dlq-payload") is None
    assert bench.database.effects(case.consumer) == {big.id: 1}


def test_a_dead_letter_topic_that_takes_nothing_holds_offsets_and_no_other_partition(bench):
    """Y3: at most one try a second for each, the alarm's metric, the rest flows; then all three are in the DLQ."""
    case = bench.case(partitions=2)
    case.watch()
    bench.broker.create(case.dlq, 1, **{"max.message.bytes": "100"})
    host = bench.start(case)
    began = time.monotonic()
    case.produce([event("miss", partition=0) for _ in range(3)])
    wait.until(lambda: host.metrics().get("route_errors", 0) >= 12, "it to be tried again and again", 60)
    case.produce([event(partition=1) for _ in range(50)])
    wait.until(lambda: case.group.committed(case.topics[0]).get(1) == 50, "the other partition to be committed", COMMIT_S)
    assert host.metrics()["route_errors"] <= 3 * (time.monotonic() - began + 1)
    assert case.group.committed(case.topics[0]).get(0, 0) <= 0 and host.counted()[0]["dead"] == 0 and case.dead() == []
    assert host.logged("route_failed")
    bench.broker.configure(case.dlq, **{"max.message.bytes": "1000000"})
    assert len(case.check()) == 3
    case.check_counters()
