"""The checker itself: what it must not let through (field-cases section 0, INV 1 to 3)."""
import pytest

from idem.events import Event, event, many, uuid7
from idem.host import COUNTERS


def claim(bench, case, id, effect=True):
    """What a host would have written."""
    table = bench.database.one("SELECT 'processed_event_other'")
    bench.database.run(f"INSERT INTO {table} (event_id, consumer_group, content_hash) VALUES (%s, %s, 0)", id, case.consumer)
    if effect:
        bench.database.run("INSERT INTO effect (consumer, event_id, pid, at) VALUES (%s, %s, 1, now())", case.consumer, id)


def finish_all(case):
    case.group.commit(case.topics[0], {p: high for p, (low, high) in case.broker.watermarks(case.topics[0]).items()})


@pytest.fixture
def done(bench):
    """Three events, each applied once, everything committed."""
    case = bench.case(partitions=1)
    for one in case.produce(many(3)):
        claim(bench, case, one.id)
    finish_all(case)
    return case


def test_accepts_an_exact_ledger(done):
    done.check()


def test_sees_a_lost_event(bench, done):
    bench.database.run("DELETE FROM processed_event_other WHERE event_id = %s", done.produced[1].id)
    with pytest.raises(AssertionError, match="lost"):
        done.check()


def test_sees_a_doubled_effect(bench, done):
    bench.database.run("INSERT INTO effect (consumer, event_id, pid, at) VALUES (%s, %s, 1, now())", done.consumer, done.produced[1].id)
    with pytest.raises(AssertionError, match="more than once"):
        done.check()


def test_sees_a_claim_without_its_effect(bench, done):
    bench.database.run("DELETE FROM effect WHERE event_id = %s", done.produced[1].id)
    with pytest.raises(AssertionError, match="without an effect"):
        done.check()


def test_sees_an_effect_of_an_unclaimed_id(bench, done):
    bench.database.run("INSERT INTO effect (consumer, event_id, pid, at) VALUES (%s, %s, 1, now())", done.consumer, uuid7())
    with pytest.raises(AssertionError, match="without its claim"):
        done.check()


def test_sees_an_event_both_applied_and_dead(broker, done):
    broker.create(done.dlq, 1)
    dead = Event(b"{}", id=done.produced[0].id, headers=[
        (f"x-origin-{name}", str(value).encode()) for name, value in zip(("topic", "partition", "offset"), done.produced[0].copies[0])])
    broker.produce(done.dlq, [dead])
    with pytest.raises(AssertionError, match="processed.*dead"):
        done.check()


def test_sees_an_offset_committed_past_an_unfinished_record(bench):
    case = bench.case(partitions=1)
    first, second = case.produce([event(), event()])
    claim(bench, case, second.id)
    finish_all(case)
    with pytest.raises(AssertionError, match="1 records unfinished"):
        case.watch().finish()


def test_sees_an_offset_going_back(bench, done):
    sampler = done.watch(every=3600)
    done.group.commit(done.topics[0], {0: 1})
    sampler.stop()
    sampler.high[done.topics[0], 0] = 3
    with pytest.raises(AssertionError, match="went back"):
        sampler.finish()


def test_sees_a_transaction_left_open(bench, done):
    backend = bench.postgres.connect(bench.database.name)
    backend.autocommit = False
    backend.cursor().execute("SELECT 1")
    try:
        with pytest.raises(AssertionError, match="idle in transaction"):
            done.check()
    finally:
        backend.close()


@pytest.mark.parametrize("counted,says", [
    ({"processed": 2, "duplicate": 1}, None), ({"processed": 2}, "no counter knows"), ({"processed": 4}, "not there"),
    ({"ignored": 4}, "rows of which"), ({"processed": 3, "consumed": 4}, "ended nowhere")])
def test_sees_counters_that_do_not_account_after_a_kill(bench, counted, says):
    case = bench.case(partitions=1)
    host = bench.host(bench.settings(case))
    case.begin_life(host)
    for one in case.produce(many(3)):
        claim(bench, case, one.id)
    finish_all(case)
    host.is_running, host.logged = lambda: True, lambda event: ["killed"]
    host.counted = lambda pipeline: ({name: counted.get(name, 0) for name in COUNTERS}, counted.get("consumed", 0))
    if not says:
        case.check()
        return
    with pytest.raises(AssertionError, match=says):
        case.check()
