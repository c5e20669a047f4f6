"""Partitions that move, slow handlers, offsets with holes (field cases R and K3; ENGINE 11)."""
import confluent_kafka
import pytest
from confluent_kafka.admin import NewPartitions

from idem import wait
from idem.events import event, many


def assigned(host):
    return host.partitions()


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_member_that_joins_and_leaves_repeats_no_more_than_what_was_in_flight(bench, assignor):
    """R1, R15: 300 events of 200 ms on 16 workers; B joins and is stopped again.  What is delivered twice shows up as a
    duplicate, never as a second effect."""
    case = bench.case(partitions=3)
    case.watch()
    settings = bench.settings(case, workers=16, kafka={"partition_assignment_strategy": assignor})
    a, b = bench.host(settings), bench.host(settings)
    case.produce(many(300, "sleep:200", keys=300))  # a key each: what is behind a gap is no more than what is in flight
    a.start()
    wait.until(lambda: len(bench.database.processed(case.consumer)) >= 60, "A to be at work", 30)
    b.start()
    wait.until(lambda: assigned(b) > 0, "B to get a partition", 30)
    case.produce(many(100, "sleep:200", keys=100))
    wait.until(lambda: b.counted()[0]["processed"] > 0, "B to work", 30)
    assert b.stop() == 0
    case.check(timeout=90)
    # In flight at each of the two moves, or finished behind one in flight, which takes as long as they do: two a worker and move.
    assert a.counted()[0]["duplicate"] <= 2 * 2 * 16
    assert a.counted()[0]["processed"] == len(applied_by(bench, a.children())), "a second effect, or one nobody counted"
    case.check_counters(a)


def test_a_partition_that_comes_back_is_read_from_the_groups_offset(bench):
    """R3, R9: a partition moves from A to B, B handles what A had in its buffer and leaves, the partition returns: A goes on where
    the group stands, not where it was itself.  Both partitions are alike, so it does not matter which one moves."""
    case = bench.case(partitions=2)
    case.watch()
    settings = bench.settings(case, ordering="partition", workers=2, batch={"max": 4}, queue={"depth": 50})
    a, b = bench.host(settings), bench.host(settings)
    case.produce([event("sleep:20", partition=partition) for _ in range(400) for partition in (0, 1)])
    a.start()
    wait.until(lambda: len(bench.database.processed(case.consumer)) >= 50, "A to be at work", 30)
    b.start()
    wait.until(lambda: assigned(a) == 1 and assigned(b) == 1, "a partition to move", 30)
    wait.until(lambda: b.counted()[0]["processed"] >= 30, "B to handle some", 30)
    assert b.stop() == 0
    wait.until(lambda: assigned(a) == 2, "the partition to come back", 30)
    case.check(timeout=90)
    assert a.counted()[0]["duplicate"] == 0, "a record behind the group's offset was handled again"
    for partition in (0, 1):
        offsets = {one.id: one.copies[0][2] for one in case.produced if one.partition == partition}
        order = [offsets[row[0]] for row in bench.database.run("SELECT event_id::text FROM effect ORDER BY at") if row[0] in offsets]
        assert order == sorted(order), f"partition {partition} was not handled in order"
    assert not a.logged("kafka_fatal")
    case.check_counters(a)


def applied_by(bench, pids):
    return {row[0] for row in bench.database.run("SELECT event_id::text FROM effect WHERE pid = ANY(%s)", pids)}


def test_a_killed_member_hands_over_what_it_did_not_commit(bench):
    """R3: a partition moves from A to B, B handles 100 and dies, A has it back after the session ended: it starts at the group's
    offset, and what it meets again is what B had applied and not committed, each a duplicate and nothing else."""
    case = bench.case(partitions=2)
    case.watch()
    settings = bench.settings(case, ordering="partition", workers=2)
    a, b = bench.host(settings), bench.host(settings)
    case.produce([event("sleep:10", partition=partition) for _ in range(500) for partition in (0, 1)])
    a.start()
    wait.until(lambda: len(bench.database.processed(case.consumer)) >= 50, "A to be at work", 30)
    b.start()
    wait.until(lambda: assigned(a) == 1 and assigned(b) == 1, "a partition to move", 30)
    pids = b.children()
    wait.until(lambda: len(applied_by(bench, pids)) >= 100, "B to handle 100", 30)
    b.kill_group()
    committed = case.group.committed(case.topics[0])
    case.check(timeout=60)
    by_b = applied_by(bench, pids)
    again = [one.id for one in case.produced if one.id in by_b and one.copies[0][2] >= committed.get(one.partition, 0)]
    assert a.counted()[0]["duplicate"] == len(again)
    assert a.counted()[0]["processed"] == len(case.produced) - len(by_b)
    assert not a.logged("kafka_fatal") and a.process.poll() is None
    case.check_counters(a)


def test_a_handler_three_times_longer_than_the_poll_limit_costs_no_membership(bench):
    """R5, CONS-6: one handler call, no rebalance, the other partitions keep flowing."""
    case = bench.case(partitions=3)
    case.watch()
    host = bench.start(case, ordering="partition", workers=3,
                       kafka={"session_timeout_ms": "2000", "max_poll_interval_ms": "2000", "heartbeat_interval_ms": "300"}, revoke_max="1s")
    wait.until(lambda: assigned(host) == 3, "the assignment", 20)
    before = host.metrics()
    slow, = case.produce([event("nap:6000", partition=0)])
    wait.until(lambda: bench.database.open_transactions() == 1, "the slow handler to be entered", 20)
    case.produce([event(partition=partition) for _ in range(20) for partition in (1, 2)])
    wait.until(lambda: len(bench.database.processed(case.consumer)) == 40, "the other partitions to flow", 4)
    assert slow.id not in bench.database.processed(case.consumer), "they did not wait for the slow one"
    case.check()
    after = host.metrics()
    assert after["rebalances"] == before["rebalances"]
    assert after["batches_redone"] == before["batches_redone"] and host.counted()[0]["processed"] == 41
    case.check_counters()


def test_a_handler_whose_partition_is_gone_is_told_and_no_attempt_counted(bench):
    """ENGINE 11: after revoke_max nobody waits for it any more."""
    case = bench.case(partitions=1)
    settings = bench.settings(case, ordering="none", retry={"mode": "topics"}, revoke_max="500ms")
    a, b = bench.host(settings).start(), bench.host(settings)
    case.produce([event("sleep:60000")])
    wait.until(lambda: bench.database.open_transactions() == 1, "the handler to be entered", 20)
    b.start()
    wait.until(lambda: a.logged("handler_stopped"), "the handler to be told", 30)
    wait.until(lambda: a.logged("partitions_revoked"), "the partition to be given up", 30)
    wait.until(lambda: bench.database.open_transactions() == 1, "the next one who begins it", 30)
    for host in (a, b):
        assert not host.logged("handler_timeout")
        assert host.counted()[0]["retried"] == host.counted()[0]["dead"] == 0


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_killed_before_the_first_commit_of_a_partition_loses_nothing(bench, start):
    """R11: nothing was ever committed; with `latest` the restart must not begin behind the ten records."""
    case = bench.case(partitions=1)
    case.watch()
    settings = bench.settings(case, start=start, workers=1)
    first = bench.host(settings, failpoints="before_commit=kill").start()
    wait.until(lambda: assigned(first) == 1, "the assignment", 20)
    case.produce(many(10))
    wait.until(lambda: first.logged("child_died"), "the kill", 30)
    first.kill_group()
    assert case.group.committed(case.topics[0]).get(0, 0) == 0 and not bench.database.processed(case.consumer)
    bench.host(settings).start()
    wait.until(lambda: len(bench.database.processed(case.consumer)) == 10,
               lambda: f"all ten to be applied, there are {len(bench.database.processed(case.consumer))}", 40)
    case.check()


def test_latest_skips_what_was_there_before_the_group(bench):
    """CONS-4: the configuration may say so."""
    case = bench.case(partitions=1)
    old = event()
    case.produce([old])
    case.ignored.add(old)
    host = bench.start(case, start="latest")
    wait.until(lambda: assigned(host) == 1, "the assignment", 20)
    new, = case.produce([event()])
    case.check()
    assert set(bench.database.effects(case.consumer)) == {new.id}


def test_an_offset_out_of_range_follows_the_policy_and_is_counted(bench):
    """CONS-4"""
    case = bench.case(partitions=1)
    case.produce(many(5))
    case.group.commit(case.topics[0], {0: 5000})
    host = bench.start(case)
    case.wait_drained()
    wait.until(lambda: len(bench.database.processed(case.consumer)) == 5, "the five from the beginning", 30)
    assert host.metrics()["offset_resets"] == 1 and host.logged("offset_reset")


def test_a_compacted_topic_with_holes_is_read_to_its_end(bench):
    """K3: offsets are not consecutive after compaction."""
    topic = bench.topic(1, **{"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01",
                              "max.compaction.lag.ms": "200", "delete.retention.ms": "100"})
    case = bench.case(topics=[topic])
    case.broker.produce(topic, [event(key="again" if i % 2 else f"once-{i}") for i in range(40)])

    def holes():
        case.broker.produce(topic, [event(key="again")])  # closes the segment before
        offsets = [record.offset for record in case.broker.read(topic)]
        return offsets[-1] - offsets[0] + 1 > len(offsets) + 10

    wait.until(holes, "the cleaner to make holes", 60, every=0.3)
    host = bench.start(case)
    case.wait_drained()
    ids = {one.id for one in case.broker.read(topic)}
    assert ids <= set(bench.database.effects(case.consumer))
    wait.until(lambda: host.metrics().get("consumer_lag") == 0, "lag 0", 20)
    case.check_counters()


def test_transactions_of_a_producer_leave_holes_and_aborted_records_are_not_seen(bench):
    """K3: control records take offsets; read_committed is the rule."""
    case = bench.case(partitions=1)
    producer = confluent_kafka.Producer({"bootstrap.servers": bench.broker.bootstrap, "transactional.id": case.consumer,
                                         "log_level": 0})
    producer.init_transactions(30)
    kept, dropped = [], []
    for number in range(10):
        producer.begin_transaction()
        for _ in range(3):
            one = event()
            producer.produce(case.topics[0], one.value, one.key, headers=one.wire_headers())
            (kept if number % 2 else dropped).append(one)
        producer.flush(30)
        (producer.commit_transaction if number % 2 else producer.abort_transaction)(30)
    host = bench.start(case)
    wait.until(lambda: len(bench.database.processed(case.consumer)) == len(kept), "the committed ones", 30)
    case.produce([event()])
    case.check()
    assert set(bench.database.effects(case.consumer)) == {one.id for one in kept} | {case.produced[0].id}
    assert host.metrics().get("consumer_lag", 0) == 0
    case.check_counters()


def test_partitions_added_while_running_are_consumed_from_their_beginning(bench):
    """R15"""
    case = bench.case(partitions=1)
    case.watch()
    bench.start(case, kafka={"topic_metadata_refresh_interval_ms": "500", "metadata_max_age_ms": "1000"})
    case.produce([event(partition=0)])
    bench.broker.admin.create_partitions([NewPartitions(case.topics[0], 3)])[case.topics[0]].result(30)
    wait.until(lambda: bench.broker.partitions(case.topics[0]) == [0, 1, 2], "the partitions", 20)
    bench.broker.producer.list_topics(case.topics[0], timeout=10)
    case.produce([event(partition=partition) for partition in (1, 2) for _ in range(5)])
    case.check(timeout=60)


def test_a_restart_with_the_same_instance_id_takes_its_partitions_back_at_once(bench):
    """Static membership as an option."""
    case = bench.case(partitions=2)
    settings = bench.settings(case, kafka={"group_instance_id": "one", "session_timeout_ms": "30000"})
    host = bench.host(settings).start()
    case.produce(many(10))
    case.wait_drained()
    host.kill_group()
    case.produce(many(10))
    again = bench.host(settings).start()
    wait.until(lambda: len(bench.database.processed(case.consumer)) == 20, lambda: f"the others\n{again.log_tail()}", 15)
    case.check()
