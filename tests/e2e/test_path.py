"""The path of one event as doc/ARCHITECTURE.md draws it: source, envelope, lane, worker, claim, handler, offset, route."""
import struct
import time

from idem import wait
from idem.events import event, many
from idem.servers import program


def test_an_event_becomes_one_effect_one_claim_and_one_committed_offset(bench):
    case = bench.case()
    case.watch()
    host = bench.start(case)
    one, = case.produce([event("ok", key="order-1")])
    case.check()
    consumer, id, key, seq = bench.database.run("SELECT consumer, event_id::text, key, seq FROM effect")[0]
    assert (consumer, id, key) == (case.consumer, one.id, "order-1")
    topic, partition, offset = one.copies[0]
    assert case.group.committed(topic)[partition] == offset + 1
    assert host.counted()[0] == {"processed": 1, "duplicate": 0, "ignored": 0, "retried": 0, "parked": 0, "dead": 0}
    case.check_counters()


def test_a_duplicate_never_reaches_the_handler_and_its_offset_is_committed(bench):
    """IDEM-3"""
    case = bench.case(partitions=1)
    host = bench.start(case)
    one = event()
    case.produce([one, one])
    case.check()
    assert case.group.committed(case.topics[0]) == {0: 2}
    assert host.counted()[0]["duplicate"] == 1
    case.check_counters()


def test_a_rejected_event_is_dead_with_its_reason_and_leaves_no_trace(bench):
    """CONS-2, DLQ-1: the record is kept byte for byte, and its offset is committed after the dead letter is acknowledged."""
    case = bench.case(partitions=1)
    case.watch()
    bench.start(case)
    bad, good = case.produce([event("fatal", headers=[("traceparent", b"00-1-2-01")]), event()])
    record, = case.check()
    assert record.reason == "rejected" and "the payload said fatal" in record.header("x-error")
    assert (record.key, record.value, record.origin) == (bad.key, bad.value, bad.copies[0])
    assert record.header("traceparent") == "00-1-2-01"
    assert record.header("x-consumer-group") == case.consumer and record.header("x-plugin") == "ref"
    assert bench.database.effects(case.consumer) == {good.id: 1}


def test_a_retried_event_is_tried_again_until_it_works(bench):
    """In place: the lane waits, nothing overtakes."""
    case = bench.case(partitions=1)
    host = bench.start(case, ordering="partition", workers=1)
    events = case.produce([event("ok"), event("failn:2"), event("ok")])
    case.check()
    assert [row[0] for row in bench.database.run("SELECT event_id::text FROM effect ORDER BY at")] == [one.id for one in events]
    assert host.metrics()["in_place_retries"] == 2
    case.check_counters()


def test_an_event_that_never_works_is_dead_after_its_attempts(bench):
    case = bench.case(partitions=1)
    bench.start(case)
    case.produce([event("fail"), event("ok")])
    record, = case.check()
    assert record.reason == "attempts_exhausted"
    assert record.header("x-attempt") == "3", "one attempt and two delays"
    case.check_counters()


def test_retry_topics_carry_the_attempt_and_end_in_an_effect_or_a_dead_letter(bench):
    """CONS-X2; Y11: one dead letter each, never back to the same topic."""
    case = bench.case(partitions=1)
    case.watch()
    host = bench.start(case, ordering="none", retry={"mode": "topics", "delays": ["200ms", "300ms"]})
    works, fails = case.produce([event("failn:2"), event("fail")])
    record, = case.check()
    assert (record.id, record.reason, record.origin) == (fails.id, "attempts_exhausted", fails.copies[0])
    assert record.header("x-attempt") == "3"
    assert bench.database.effects(case.consumer) == {works.id: 1}
    retries = case.retries()
    assert sorted((one.id, one.topic, one.header("x-attempt")) for one in retries) == sorted(
        (id, f"{case.consumer}.retry.{delay}", attempt) for id in (works.id, fails.id)
        for delay, attempt in (("200ms", "2"), ("300ms", "3")))
    for one in retries + [record]:
        names = [name for name, _ in one.headers]
        assert len(names) == len(set(names)), f"a header stands twice: {names}"
    six, _ = host.counted()
    assert (six["processed"], six["retried"], six["dead"]) == (1, 4, 1)
    case.check_counters()


def test_a_host_whose_clock_is_a_day_ahead_retries_and_gives_up_all_the_same(bench, tmp_path):
    """Brokers refuse records from an hour ahead; the time that is written into records is the database's."""
    clock = tmp_path / "clock"
    clock.write_bytes(struct.pack("q", 86400000))
    case = bench.case(partitions=1)
    case.watch()
    settings = bench.settings(case, retry={"mode": "topics", "delays": ["100ms", "200ms"]})
    host = bench.host(settings, environment={"LD_PRELOAD": program("tests/chaos/clock_shim.so"), "IDEM_CLOCK_FILE": str(clock)})
    host.start()
    case.produce([event("failn:1"), event("fatal"), event("fail"), event()])
    dead = case.check()
    assert sorted(record.reason for record in dead) == ["attempts_exhausted", "rejected"]
    assert not host.log().startswith(time.strftime("%Y-%m-%d", time.gmtime())), "the host lives in tomorrow"
    assert not host.logged("route_failed")


def test_an_undefined_verdict_is_dead_and_an_unset_one_is_tried_again(bench):
    case = bench.case(partitions=1)
    host = bench.start(case)
    undefined, unset = case.produce([event("verdict:42"), event("verdict:0")])
    reasons = {one.id: one.reason for one in case.check()}
    assert reasons[unset.id] == "attempts_exhausted" and set(reasons) == {undefined.id, unset.id}
    assert bench.database.effects(case.consumer) == {}
    assert host.logged("verdict_invalid")


def config_of(bench, case, **plugin):
    settings = bench.settings(case)
    settings["pipelines"][0]["plugin"].update(plugin)
    return settings


def test_a_handler_that_works_longer_than_its_time_may_extend(bench):
    """CONS-6: the heartbeat extends the handler's own deadline."""
    case = bench.case(partitions=1)
    bench.host(config_of(bench, case, timeout="500ms"), case).start()
    extends, sleeps = case.produce([event("extend:2000", key="a"), event("sleep:2000", key="b")])
    record, = case.check()
    assert record.id == sleeps.id, "the one that asked for no more time was cancelled each time"
    assert bench.database.effects(case.consumer) == {extends.id: 1}


def test_two_consumers_of_one_topic_do_not_disturb_each_other(bench):
    """IDEM-2: uniqueness is per group; Y9: a retry of one group is not delivered to the other."""
    first = bench.case(partitions=2)
    second = bench.case(topics=first.topics)
    settings = bench.settings(first, ordering="none", retry={"mode": "topics", "delays": ["100ms"]})
    settings["pipelines"].append(bench.pipeline(second))
    host = bench.host(settings).start()
    events = first.produce([event(), event("failn:1"), event()])
    for one in (first, second):
        one.places, one.produced, one.applicable = first.places, first.produced, first.applicable
    first.check()
    second.check()
    assert bench.database.effects(first.consumer) == bench.database.effects(second.consumer) == {one.id: 1 for one in events}
    for one in (first, second):
        assert host.counted(one.consumer)[0]["duplicate"] == 0


def test_the_lag_and_the_names_of_the_standard_can_be_found(bench):
    """OBS-1"""
    case = bench.case(partitions=1)
    host = bench.start(case)
    case.produce([event("fatal"), event()])
    case.check()
    text = host.get("/metrics")[1]
    for name in ("duplicate_detected_count", "consumer_lag", "dlq_enqueue_count"):
        assert name in text
    wait.until(lambda: host.metrics().get("consumer_lag") == 0, "lag 0", 20)


def test_a_topic_made_after_the_start_is_named_and_found(bench):
    """An operator who forgot it reads its name; nothing has to be started again when it is there."""
    name = f"{bench.name}.later"
    case = bench.case(topics=[name])
    host = bench.start(case)
    assert any(name in line for line in host.logged("topic_missing"))
    bench.broker.create(name, 2)
    case.produce(many(20))
    wait.until(lambda: len(bench.database.effects(case.consumer)) == 20, lambda: host.log_tail(), 40)
    case.check()
