"""When a batch does not go through, and what a plugin's SQL cannot do (ENGINE 2 and 3)."""
import json

import pytest

from idem import wait
from idem.events import Event, event, many, uuid7
from idem.workload import Workload

TOGETHER = {"ordering": "partition", "workers": 1}  # one worker, so that what was produced before shares batches


def warm():
    """Enough work for the batch size to grow before what matters comes."""
    return many(300)


def together(bench, events, partitions=1, **pipeline):
    """The events lie in the topic before the host starts: they come in full batches."""
    case = bench.case(partitions=partitions)
    case.watch()
    case.produce([*warm(), *events])
    return case, bench.start(case, **{**TOGETHER, **pipeline})


def test_an_error_swallowed_by_the_handler_is_a_failure_all_the_same(bench):
    """D5: no effect, no claim, reason tx_aborted_by_handler; its neighbours are applied."""
    bad = event("swallow:SELECT * FROM no_such_table")
    case, _ = together(bench, [event(), bad, event()])
    record, = case.check()
    assert (record.id, record.reason) == (bad.id, "tx_aborted_by_handler")


def test_a_failing_statement_takes_down_its_own_event_only(bench):
    """The position in the pipeline names the culprit."""
    good, bad = many(100), many(10, "queue:0")
    mixed = [one for i in range(10) for one in good[i * 10:i * 10 + 10] + [bad[i]]]
    case, host = together(bench, mixed)
    dead = case.check()
    assert {record.id for record in dead} == {one.id for one in bad}
    assert host.counted()[0]["processed"] == 400
    case.check_counters()


def test_claims_of_events_not_begun_in_time_are_released(bench):
    """The batch grew with fast events; then slow ones come, and only a few of them are begun before its time is over."""
    slow = many(60, "nap:20")
    case, host = together(bench, slow, batch={"max_ms": 50})
    assert case.check() == []
    assert host.counted()[0]["processed"] == 360
    case.check_counters()


def test_rejected_beside_failing_its_replay_is_applied(bench):
    """A claim deleted at once would come back by the ROLLBACK TO of a neighbour, and the event's replay would be a duplicate."""
    rejected = [event("miss"), event("read:later"), event("fatal")]
    mixed = [event("queue:0"), rejected[0], event(), event("queue:0"), rejected[1], event("queue:0"), event(), rejected[2],
             event("queue:0"), event()]
    case, host = together(bench, mixed)
    case.wait_drained()
    dead = {record.id for record in case.dead()}
    assert dead == {one.id for one in mixed if one.value != mixed[2].value and b'"ok"' not in one.value}
    assert not bench.database.processed(case.consumer) & dead
    bench.database.run("INSERT INTO balance VALUES ('a key that is not there', 0), ('later', 5)")
    ids = [word for one in rejected[:2] for word in ("--id", one.id)]
    assert host.ctl("dlq", "replay", "--pipeline", case.consumer, *ids).returncode == 0
    case.wait_drained()
    effects = bench.database.effects(case.consumer)
    assert [effects.get(one.id) for one in rejected] == [1, 1, None]
    assert host.counted()[0]["duplicate"] == 0
    assert bench.database.one("SELECT amount FROM balance WHERE key = 'later'") == 4


@pytest.mark.parametrize("ordering,workers", [("partition", 1), ("key", 4), ("none", 4)])
def test_a_read_balance_beside_failing_neighbours_loses_no_update(bench, ordering, workers):
    """A stale write must not be replayed after ROLLBACK TO let go of its row lock (seen: 90 instead of 40)."""
    bench.database.run("INSERT INTO balance VALUES ('shared', 1000)")
    readers = [event("read:shared", key=f"k{i % 7}") for i in range(150)]
    failing = [event(("queue:0", "fatal", "miss", "swallow:SELECT 1/0")[i % 4], key=f"k{i % 5}") for i in range(60)]
    mixed = [one for i in range(30) for one in readers[i * 5:i * 5 + 3] + failing[i * 2:i * 2 + 2] + readers[i * 5 + 3:i * 5 + 5]]
    case, _ = together(bench, mixed, partitions=3 if workers > 1 else 1, ordering=ordering, workers=workers,
                       retry={"mode": "topics", "delays": ["100ms"]} if ordering == "none" else {})
    dead = case.check(timeout=120)
    assert {record.id for record in dead} == {one.id for one in failing}
    assert bench.database.one("SELECT amount FROM balance WHERE key = 'shared'") == 850
    case.check_counters()


def test_a_lane_keeps_its_order_behind_an_event_that_is_tried_again(bench):
    """In place: what follows it in the lane waits with it; other lanes do not."""
    slow = [event("failn:2" if i == 1 else "ok", key="K") for i in range(5)]
    other = [event(key=key) for key in "LM" for _ in range(20)]
    case, _ = together(bench, [*slow[:2], *other, *slow[2:]], ordering="key", workers=2,
                       retry={"mode": "in_place", "delays": ["500ms", "500ms", "500ms"]})
    case.check()
    order = [row[0] for row in bench.database.run("SELECT event_id::text FROM effect WHERE key = 'K' ORDER BY at")]
    assert order == [one.id for one in slow]
    last_other = bench.database.one("SELECT max(at) FROM effect WHERE key IN ('L', 'M')")
    assert last_other < bench.database.one("SELECT max(at) FROM effect WHERE key = 'K'")


@pytest.mark.parametrize("constraint", ["deferred", "immediate"])
def test_deferred_constraints_blame_their_event_and_stay_deferred(bench, constraint):
    """A violation found at COMMIT would fail the batch; checked for good, it broke a child-before-parent insert in the next chunk."""
    bench.database.run("CREATE TABLE parent (id int PRIMARY KEY)")
    bench.database.run("CREATE TABLE child (id int, parent int REFERENCES parent DEFERRABLE INITIALLY "
                       + ("DEFERRED)" if constraint == "deferred" else "IMMEDIATE)"))
    # The child before its parent, which an immediate check would refuse.
    both = "DO $$BEGIN INSERT INTO child VALUES (%d, %d); INSERT INTO parent VALUES (%d); END$$" if constraint == "deferred" \
        else "WITH c AS (INSERT INTO child VALUES (%d, %d)) INSERT INTO parent VALUES (%d)"
    pairs = [event("sql:" + both % (i, i, i)) for i in range(60)]
    orphans = [event(f"sql:INSERT INTO child VALUES ({1000 + i}, {1000 + i})") for i in range(3)]
    case, _ = together(bench, [*pairs[:30], orphans[0], *pairs[30:45], orphans[1], orphans[2], *pairs[45:]])
    dead = case.check()
    assert {record.id for record in dead} == {one.id for one in orphans}
    assert bench.database.one("SELECT count(*) FROM child") == 60


def test_settings_and_locks_of_a_session_are_refused(bench):
    """D7 in a shared session: the statement never runs, its event is dead, the 100 others are applied as if nothing was said."""
    bench.database.run("CREATE SCHEMA evil; CREATE TABLE evil.effect (LIKE public.effect); GRANT USAGE ON SCHEMA evil TO idem_host")
    statements = ["SET search_path = evil", "SET ROLE pg_monitor", "SELECT set_config('search_path', 'evil', false)",
                  "SELECT pg_advisory_lock(42)", "select Pg_Catalog.SET_CONFIG('search_path', 'evil', true)", "RESET ALL",
                  "/* x */ SET search_path = evil", "-- x\nSET search_path = evil", "DISCARD ALL", "LISTEN x", "PREPARE p AS SELECT 1"]
    bad = [event("sql:" + statement) for statement in statements]
    case, _ = together(bench, [*bad, *many(100)])
    dead = case.check()
    assert {record.id for record in dead} == {one.id for one in bad}
    assert bench.database.one("SELECT count(*) FROM evil.effect") == 0
    assert bench.database.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42") == 0


def test_an_isolated_pipeline_gives_every_event_a_clean_session(bench):
    """D7 where settings are allowed: event 1 changes all it can and fails, the next 100 see none of it, on one connection."""
    bench.database.run("CREATE SCHEMA evil; CREATE TABLE evil.effect (LIKE public.effect); GRANT USAGE ON SCHEMA evil TO idem_host")
    case = bench.case(partitions=1)
    case.watch()
    bad = [event("sql:SELECT set_config('search_path', 'evil', false), pg_advisory_lock(42)"),
           event("sql:SELECT pg_advisory_lock(43), set_config('statement_timeout', '1', false), 1 / (random() * 0)::int"),
           event("swallow:SELECT pg_advisory_lock(44), 1 / (random() * 0)::int")]
    case.produce([*bad, *many(100)])
    bench.start(case, plugin="ref_isolated", isolation="event", workers=1)
    case.wait_drained()
    assert bench.database.one("SELECT count(*) FROM evil.effect") <= 1
    assert bench.database.one("SELECT count(*) FROM public.effect") >= 100
    assert {one.id for one in case.produced[3:]} <= set(bench.database.effects(case.consumer))
    wait.until(lambda: bench.database.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid BETWEEN 42 AND 44") == 0,
               "no stray lock", 5)


@pytest.fixture
def evil(bench):
    """A schema and a role that no event may end up in."""
    role = f"evil_{bench.database.name}"
    bench.database.run(f"CREATE SCHEMA evil; CREATE TABLE evil.effect (LIKE public.effect); CREATE ROLE {role};"
                       f" GRANT {role} TO idem_host; GRANT USAGE ON SCHEMA evil TO idem_host, {role};"
                       f" GRANT ALL ON ALL TABLES IN SCHEMA public, evil TO {role};"
                       " ALTER TABLE effect ADD who text DEFAULT current_user")
    yield role
    bench.database.run(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize("plugin,isolation", [("ref", "batch"), ("ref_isolated", "event")])
def test_what_a_failing_event_changed_in_its_session_reaches_nobody_else(bench, evil, plugin, isolation):
    """D7 whole: search_path, role, a temporary table in front of the real one, then a failure; on one connection."""
    change = f"SET search_path = evil; SET ROLE {evil}; CREATE TEMP TABLE effect (LIKE public.effect);"
    lock = " PERFORM pg_advisory_lock(42);" if isolation == "event" else ""
    block = f"BEGIN {change}{lock} RAISE EXCEPTION 'x'; END"
    bench.database.run(f"CREATE FUNCTION hidden() RETURNS void LANGUAGE plpgsql AS $$ {block} $$")
    bad = [event(f"sql:DO $${block}$$"), event("sql:SELECT hidden()"), event("swallow:SELECT hidden()")]
    if isolation == "batch":  # in a session of its own it may
        bad += [event(f"sql:DO $$BEGIN {one}; END$$") for one in (f"SET ROLE {evil}", "SET LOCAL search_path = evil", "RESET ALL")]
    case = bench.case(partitions=1)
    case.watch()
    case.produce([*bad, *many(100)])
    bench.start(case, plugin=plugin, isolation=isolation, workers=1)
    dead = case.check()
    assert {record.id for record in dead} == {one.id for one in bad}
    assert bench.database.run("SELECT who, count(*) FROM public.effect GROUP BY who") == [("idem_host", 100)]
    assert bench.database.one("SELECT count(*) FROM evil.effect") == 0
    wait.until(lambda: bench.database.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42") == 0,
               "no stray lock", 5)


def test_deadlocks_between_batches_are_redone_and_never_counted_as_attempts(bench):
    """D11: A then B against B then A with a gap, in different partitions."""
    bench.database.run("INSERT INTO balance VALUES ('A', 0), ('B', 0)")
    bench.database.run(f"ALTER DATABASE {bench.database.name} SET deadlock_timeout = '50ms'")
    pairs = 100
    crossing = "sql:DO $$BEGIN UPDATE balance SET amount = amount + 1 WHERE key = '%s'; PERFORM pg_sleep(0.2);" \
               " UPDATE balance SET amount = amount + 1 WHERE key = '%s'; END$$"
    case = bench.case(partitions=2)
    case.watch()
    case.produce([event(crossing % order, partition=partition) for _ in range(pairs)
                  for partition, order in ((0, ("A", "B")), (1, ("B", "A")))])
    host = bench.start(case, ordering="partition", workers=2, retry={"mode": "in_place", "delays": ["10ms"]})
    assert case.check(timeout=240) == []
    assert len(bench.database.effects(case.consumer)) == 2 * pairs
    assert bench.database.run("SELECT amount FROM balance ORDER BY key") == [(2 * pairs,), (2 * pairs,)]
    assert host.metrics()["deadlocks"] >= 1, "the two really met"
    assert host.metrics()["in_place_retries"] == 0, "no attempt was counted"
    assert host.counted()[0]["processed"] == 2 * pairs


def test_conflicts_that_never_end_count_as_an_attempt(bench):
    """Nothing is redone without a bound: 40001 again and again, alone, is the event's own failure in the end."""
    bad = event("sql:DO $$BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END$$")
    case, _ = together(bench, [event(), bad, event()], retry={"mode": "in_place", "delays": ["10ms"]})
    record, = case.check()
    assert (record.id, record.reason) == (bad.id, "attempts_exhausted")


@pytest.mark.parametrize("ends", ["commits", "aborts"])
def test_a_copy_in_somebody_elses_open_transaction_holds_back_only_itself(bench, ends):
    """ENGINE 1: the claim waits 250 ms with company, then the batch is halved; alone it waits for the original's end."""
    case = bench.case(partitions=1)
    host = bench.start(case, ordering="none", workers=2, retry={"mode": "topics"})
    case.produce([event()])
    case.wait_drained()
    held = event()
    table = bench.database.one("SELECT c.relname FROM pg_class c JOIN processed_event p ON p.tableoid = c.oid")
    other = bench.postgres.connect(bench.database.name)
    other.autocommit = False
    with other.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} (event_id, consumer_group, content_hash) VALUES (%s, %s, 0)", (held.id, case.consumer))
    neighbours = many(200)
    case.produce([*neighbours[:100], held, *neighbours[100:]])
    wait.until(lambda: len(bench.database.processed(case.consumer)) == 201, "the neighbours to be applied", 20)
    assert held.id not in bench.database.effects(case.consumer)
    (other.rollback if ends == "aborts" else other.commit)()
    other.close()
    case.wait_drained()
    assert (held.id in bench.database.effects(case.consumer)) == (ends == "aborts")
    six, _ = host.counted()
    assert six["processed"] == (202 if ends == "aborts" else 201)
    case.check_counters()


def test_locks_off_the_key_are_taken_in_one_order(bench):
    """Statements that name the row they lock go out sorted: batches on many workers meet and never in a circle."""
    workload = Workload(10000, orders=300)
    case = bench.case(partitions=6)
    case.broker.produce(case.topics[0], workload.records)
    host = bench.start(case, "billing", ordering="none", workers=4, retry={"mode": "topics"})
    case.check_ledger(workload)
    assert host.metrics()["deadlocks"] == 0


def test_commit_is_durable_whatever_a_function_of_the_plugins_set(bench):
    """ENGINE 3: the host has the last word on synchronous_commit; a deferred trigger sees what COMMIT will see."""
    bench.database.run("CREATE TABLE seen (setting text)")
    bench.database.run("CREATE FUNCTION hide() RETURNS void LANGUAGE sql AS"
                       " $$SELECT set_config('synchronous_commit', 'off', true)$$")
    bench.database.run("CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS"
                       " $$BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END$$")
    bench.database.run("CREATE CONSTRAINT TRIGGER look AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED"
                       " FOR EACH ROW EXECUTE FUNCTION look()")
    case, _ = together(bench, [event("sql:SELECT hide()")])
    assert case.check() == []
    assert {row[0] for row in bench.database.run("SELECT setting FROM seen")} == {"on"}


# handle_batch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordering,workers", [("partition", 1), ("key", 4)])
def test_handle_batch_is_called_again_without_what_fell_out(bench, ordering, workers):
    """An item whose own statement fails after DONE, one that is rejected, one that was left unset: the others' one statement is
    undone with it and done again without it, and each has its effect once."""
    bad = [event(("own", "fatal", "fail", "unset")[i % 4], key=f"k{i % 3}") for i in range(24)]
    good = many(240, keys=9)
    mixed = [one for i in range(24) for one in [*good[i * 10:i * 10 + 10], bad[i]]]
    case, host = together(bench, mixed, plugin="ref_batch", ordering=ordering, workers=workers,
                          retry={"mode": "in_place", "delays": ["20ms"]})
    dead = case.check(timeout=120)
    assert {record.id for record in dead} == {one.id for one in bad}
    assert host.counted()[0]["processed"] == 540
    case.check_counters()


@pytest.mark.parametrize("deed", ["break", "negative"])
def test_a_failure_of_the_whole_call_halves_the_batch_down_to_its_event(bench, deed):
    bad = many(3, deed)
    good = many(120)
    case, host = together(bench, [*good[:40], bad[0], *good[40:80], bad[1], bad[2], *good[80:]], plugin="ref_batch",
                          retry={"mode": "in_place", "delays": ["20ms"]})
    dead = case.check(timeout=120)
    assert {record.id for record in dead} == {one.id for one in bad}
    case.check_counters()


def test_orders_that_do_not_exist_reject_their_events_alone(bench):
    """The set-based example: the sum of all others is exact."""
    workload = Workload(3000)
    case = bench.case(partitions=3)
    strangers = [Event(json.dumps({"eventId": id, "eventType": "order.confirmed.v1", "orderId": 99000 + i, "totalAmount": 5}).encode(),
                       b"x", id, in_headers=False) for i, id in enumerate(uuid7() for _ in range(50))]
    records = list(workload.records)
    for i, one in enumerate(strangers):
        records.insert(i * 60, one)
    case.broker.produce(case.topics[0], records)
    bench.start(case, "billing_batch", workers=3)
    case.wait_drained()
    assert bench.database.one("SELECT sum(paid_amount) FROM orders") == workload.sum
    assert bench.database.processed(case.consumer) == set(workload.ids)
    assert {json.loads(record.value)["eventId"] for record in case.dead()} == {one.id for one in strangers}


# what a plugin's SQL cannot do -------------------------------------------------------------------------------------

TRANSACTION_CONTROL = ["COMMIT AND CHAIN", "commit and chain", "/* a /* nested */ comment */ COMMIT AND CHAIN", "-- x\n COMMIT AND CHAIN",
                       "ROLLBACK", "ROLLBACK AND CHAIN", "END", "ABORT", "SAVEPOINT s", "RELEASE s", "BEGIN", "START TRANSACTION",
                       "PREPARE TRANSACTION 'x'", "COMMIT PREPARED 'x'", ";COMMIT AND CHAIN", "DO $$BEGIN COMMIT; END$$",
                       "EXECUTE x", "DEALLOCATE ALL", "COPY effect TO STDOUT", "VACUUM", "LOAD 'x'"]


def test_transaction_control_is_refused_by_keyword(bench):
    """The first net: each of these events is dead, its neighbours are applied once."""
    bad = [event("sql:" + statement) for statement in TRANSACTION_CONTROL]
    case, _ = together(bench, [one for pair in zip(many(len(bad)), bad) for one in pair])
    dead = case.check()
    assert {record.id for record in dead} == {one.id for one in bad}


def test_commit_and_chain_past_the_first_net_stops_the_pipeline(bench):
    """The second net: the transaction's id is checked last before COMMIT.  Stopped with an alarm; nothing lost or doubled once the
    plugin is put right."""
    case = bench.case(partitions=1)
    case.watch()
    bad = event("sql:COMMIT AND CHAIN")
    case.produce([*warm(), event(), bad, event()])
    host = bench.host(bench.settings(case, **TOGETHER), failpoints="sql_check_off=fail:always").start(ready=False)
    wait.until(lambda: host.logged("transaction_stolen"), lambda: f"the alarm\n{host.log_tail()}", 60)
    wait.until(lambda: host.get("/readyz")[0] == 503, "the host to be not ready", 20)
    host.kill_group()
    bench.start(case, **TOGETHER)
    dead = case.check()
    assert {record.id for record in dead} <= {bad.id}
