"""Parked retries: an event that is tried again waits in the database with what follows for its key; the rest flows (ENGINE 7)."""
import json
import random
import threading
import time

import pytest

from idem import wait
from idem.events import Event, event, many
from idem.servers import LONG

RARE = [pytest.mark.long]  # the same path in the host as another one
PARKED = {"mode": "parked", "delays": ["300ms", "300ms", "300ms"]}


def order_of(bench, key):
    return [row[0] for row in bench.database.run("SELECT event_id::text FROM effect WHERE key = %s ORDER BY at", key)]


def parked_rows(bench):
    return bench.database.run("SELECT event_id, attempt, reason FROM parked_event ORDER BY place")


def until_parked(case, count):
    wait.until(lambda: len(case.parked()) >= count, lambda: f"{count} parked events, there are {len(case.parked())}\n"
               + "\n".join(host.log_tail(20) for host in case.hosts), 30)


@pytest.mark.parametrize("ordering, partitions", [("key", 3), ("partition", 1)])
def test_the_order_of_a_key_is_kept_and_other_keys_flow(bench, ordering, partitions):
    """Y13: number 2 of 5 fails twice, then works; what follows for its key waits in the database, L and M do not."""
    case = bench.case(partitions=partitions)
    case.watch()
    slow = [event("failn:2" if i == 1 else "ok", key="K") for i in range(5)]
    other = [event(key=key) for key in "LM" for _ in range(20)]
    case.produce([*slow[:2], *other, *slow[2:]])
    host = bench.start(case, ordering=ordering, workers=2, retry=PARKED)
    case.check()
    assert order_of(bench, "K") == [one.id for one in slow]
    if ordering == "key":
        last_other = bench.database.one("SELECT max(at) FROM effect WHERE key IN ('L', 'M')")
        assert last_other < bench.database.one("SELECT max(at) FROM effect WHERE key = 'K'")
    six, _ = host.counted()
    assert six["parked"] == (4 if ordering == "key" else 44) and six["processed"] == 45 - six["parked"]
    assert host.metrics()["parked_retries"] == 1 and host.metrics()["in_place_retries"] == 0
    case.check_counters()
    case.check_parked(host)


def test_without_an_order_the_rest_overtakes(bench):
    """Y13, the other half: 1, 3, 4, 5, 2."""
    case = bench.case(partitions=1)
    events = [event("failn:2" if i == 1 else "ok", key="K") for i in range(5)]
    case.produce(events)
    bench.start(case, ordering="none", workers=1, retry={"mode": "topics", "delays": ["100ms", "200ms"]})
    case.check()
    assert order_of(bench, "K") == [events[i].id for i in (0, 2, 3, 4, 1)]


def test_after_its_attempts_the_first_is_dead_and_the_next_goes_on(bench):
    """The dead letter carries the attempts; what waited behind it is applied in order."""
    case = bench.case(partitions=1)
    case.watch()
    events = [event("fail", key="K"), *many(3, keys=1), event("ok", key="K"), event("failn:1", key="K"), event("ok", key="K")]
    case.produce(events)
    host = bench.start(case, retry=PARKED)
    record, = case.check()
    assert (record.id, record.reason) == (events[0].id, "attempts_exhausted")
    assert record.header("x-attempt") == "4" and record.origin == events[0].copies[0]
    assert order_of(bench, "K") == [one.id for one in events[4:]]
    assert host.counted()[0]["dead"] == 0 and host.metrics()["parked_dead"] == 1
    case.check_counters()
    case.check_parked(host)


def test_what_was_parked_is_the_record_byte_for_byte(bench):
    """Key, value and headers of a dead letter that was parked; null and empty kept apart."""
    case = bench.case(partitions=1)
    events = [event("fail", key=key, headers=[("h", header)]) for key in (None, b"", b"\x00\xff", b"k" * 3000)
              for header in (None, b"")]
    case.produce(events)
    bench.start(case, event={"id": ["header:eventId"]}, retry={"mode": "parked", "delays": ["50ms"]})
    dead = {record.id: record for record in case.check()}
    for one in events:
        record = dead[one.id]
        assert (record.key, record.value, dict(record.headers)["h"]) == (one.key, one.value, dict(one.headers)["h"])
        assert record.origin == one.copies[0] and record.header("eventType") == "test.v1"


def test_a_copy_of_a_parked_event_is_a_duplicate(bench):
    """Whatever its key: it is neither handled nor parked a second time."""
    case = bench.case(partitions=3)
    first = event("fail", key="K")
    behind = event("ok", key="K")
    case.produce([first, behind])
    host = bench.start(case, retry={"mode": "parked", "delays": ["2s"]})
    until_parked(case, 2)
    copies = [Event(one.value, key, one.id) for one in (first, behind) for key in (b"K", b"other")]
    for copy in copies:  # the checker counts them as copies of the first
        case.broker.produce(case.topics[0], [copy], True, lambda one, place: None)
    wait.until(lambda: host.counted()[0]["duplicate"] == 4, lambda: f"four duplicates: {host.counted()}\n{host.log_tail()}", 30)
    assert case.parked() == {first.id, behind.id} and bench.database.effects(case.consumer) == {}
    record, = case.check()
    assert record.id == first.id and order_of(bench, "K") == [behind.id]
    case.check_parked(host)


def test_parked_events_are_released_after_a_restart(bench):
    """A stop and a kill while K waits; the order is kept, and nothing is counted twice."""
    case = bench.case(partitions=1)
    case.watch()
    slow = [event("failn:2" if i == 0 else "ok", key="K") for i in range(5)]
    settings = bench.settings(case, retry={"mode": "parked", "delays": ["1s", "1s", "1s"]}, kafka={"group_instance_id": "one"})
    host = bench.host(settings).start()
    case.produce(slow[:3])
    until_parked(case, 3)
    assert host.stop() == 0
    again = bench.host(settings).start()
    case.produce(slow[3:])
    wait.until(lambda: parked_rows(bench) and parked_rows(bench)[0][1] == 2, lambda: f"the second attempt: {parked_rows(bench)}", 30)
    again.kill_group()
    last = bench.host(settings).start()
    case.check()
    assert order_of(bench, "K") == [one.id for one in slow]
    assert last.metrics()["parked_applied"] == 5


def test_parked_events_move_with_their_partition(bench):
    """The next owner of the partition releases them, with a folder of its own; the first one is killed."""
    case = bench.case(partitions=2)
    case.watch()
    slow = [event("failn:2" if i == 0 else "ok", key="K", partition=0) for i in range(5)]
    settings = bench.settings(case, retry={"mode": "parked", "delays": ["1s", "1s", "1s"]})
    first = bench.host(settings).start()
    case.produce([*slow[:4], *[event(key="L", partition=1) for _ in range(20)]])
    until_parked(case, 4)
    second = bench.host(settings).start()
    wait.until(lambda: second.partitions() == 1, "the second host to get a partition", 30)
    first.kill_group()
    case.produce(slow[4:])
    case.check(timeout=90)
    assert order_of(bench, "K") == [one.id for one in slow]


@pytest.mark.parametrize("point", ["after_commit", *[pytest.param(point, marks=RARE) for point in ("before_commit", "after_claim")]])
def test_kills_at_commit_with_parked_events(bench, point):
    """CRASH with keys that fail: again and again killed at the nth pass of the point; order, ledger and tables are right."""
    chance = random.Random(7)
    case = bench.case(partitions=3)
    case.watch()
    keys = [f"k{i}" for i in range(6)]
    events = [event("failn:2" if i % 10 < 2 and i > 20 else "ok", key=keys[i % 6]) for i in range(600 if LONG else 240)]
    case.produce(events)
    settings = bench.settings(case, retry={"mode": "parked", "delays": ["50ms", "50ms"]}, batch={"max": 20}, workers=2,
                              kafka={"group_instance_id": "one"})
    for _ in range(20 if LONG else 4):
        host = bench.host(settings, failpoints=f"{point}=kill:{chance.randint(2, 9)}").start(ready=False)
        wait.until(lambda host=host: host.logged("child_died"), lambda host=host: f"the kill\n{host.log_tail()}", 40)
        host.kill_group()
    bench.host(settings).start()
    case.check(timeout=120)
    for key in keys:
        assert order_of(bench, key) == [one.id for one in events if one.key == key.encode()]


@pytest.mark.parametrize("side, pattern, forward", [("server", b"COMMIT\0", False),
                                                    pytest.param("client", b"COMMIT\0", True, marks=RARE)])
def test_a_lost_commit_that_parked_is_counted_as_parked(bench, side, pattern, forward):
    """The rows tell: each event is parked once, counted once and applied once."""
    case = bench.case(partitions=1)
    case.watch()
    proxy, conninfo = bench.proxy()
    settings = bench.settings(case, workers=1, retry=PARKED)
    settings["database"]["conninfo"] = conninfo
    slow = [event("failn:1" if i == 0 else "ok", key="K") for i in range(5)]
    case.produce(slow)
    proxy.cut_when(side, pattern, forward, 1)
    host = bench.host(settings).start(ready=False)
    case.check(timeout=60)
    assert proxy.cuts == 1 and order_of(bench, "K") == [one.id for one in slow]
    six, _ = host.counted()
    assert six["parked"] >= 1 and six["parked"] + six["processed"] == 5, six
    case.check_counters()
    case.check_parked(host)


@pytest.mark.parametrize("limits", [{"max_parked_per_key": 2}, pytest.param({"max_parked": 2, "max_parked_per_key": 2}, marks=RARE)])
def test_at_the_limit_the_lane_waits_in_place_and_nothing_is_lost(bench, limits):
    """What may not be parked any more stays at the head of its lane, unfinished; other keys flow."""
    case = bench.case(partitions=1)
    case.watch()
    slow = [event("failn:2" if i == 0 else "ok", key="K") for i in range(6)]
    case.produce([*slow, event(key="L")])
    host = bench.start(case, retry={"mode": "parked", "delays": ["500ms", "500ms"], **limits})
    wait.until(lambda: host.logged("parked_full"), lambda: f"the limit\n{host.log_tail()}", 30)
    assert len(case.parked()) == 2 and case.group.committed(case.topics[0]).get(0, 0) <= 2
    wait.until(lambda: order_of(bench, "L"), "the other key", 30)
    assert order_of(bench, "K") == []
    case.check()
    assert order_of(bench, "K") == [one.id for one in slow]
    case.check_counters()
    case.check_parked(host)


def test_a_parked_event_that_kills_is_put_aside(bench):
    """ENGINE 6 holds for what is released: at most three deaths, a dead letter, and its key goes on."""
    case = bench.case(partitions=1)
    bad = event("failn:1", key="K")
    bad.value = bad.value.replace(b'"failn:1"', b'"segv"')
    events = [event("failn:1", key="K"), bad, event("ok", key="K")]
    case.produce([*events, *many(20)])
    settings = bench.settings(case, retry=PARKED, kafka={"group_instance_id": "one"})
    host = bench.host(settings).start()
    record, = case.check(timeout=90)
    assert (record.id, record.reason) == (bad.id, "process_crash")
    assert order_of(bench, "K") == [events[0].id, events[2].id]
    assert len([line for line in host.logged("child_died") if "stays down" not in line]) <= 3


def test_with_another_retry_mode_what_is_parked_is_still_released(bench):
    """And what comes for its key goes behind it; only nothing new is parked."""
    case = bench.case(partitions=1)
    slow = [event("failn:1" if i == 0 else "ok", key="K") for i in range(4)]
    settings = bench.settings(case, retry={"mode": "parked", "delays": ["2s"]}, kafka={"group_instance_id": "one"})
    host = bench.host(settings).start()
    case.produce(slow[:2])
    until_parked(case, 2)
    assert host.stop() == 0
    settings = bench.settings(case, retry={"mode": "in_place", "delays": ["2s"]}, kafka={"group_instance_id": "one"})
    bench.host(settings).start()
    case.produce([*slow[2:], event(key="L")])
    case.check()
    assert order_of(bench, "K") == [one.id for one in slow]


def test_a_hot_key_comes_back_to_the_fast_way(bench):
    """While events of a key come without end, its parked ones are worked off, and then the key is not parked any more."""
    case = bench.case(partitions=1)
    case.produce([event("failn:1", key="K")])
    host = bench.start(case, retry={"mode": "parked", "delays": ["200ms"]})
    until_parked(case, 1)
    stop = threading.Event()

    def feed():
        while not stop.wait(0.005):
            case.produce([event(key="K") for _ in range(5)])
    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        wait.until(lambda: host.counted()[0]["processed"] > 100, lambda: f"the fast way: {host.counted()}\n{host.log_tail()}", 30)
    finally:
        stop.set()
        feeder.join()
    case.check()
    assert order_of(bench, "K") == [one.id for one in sorted(case.produced, key=lambda one: one.copies[0])]


@pytest.mark.parametrize("delays", [[1, 2], pytest.param([5, 30, 300], marks=pytest.mark.long)])
def test_every_attempt_comes_when_it_is_due(bench, delays):
    """Y7: at due … due + 2 s, with a poll limit far below the longest wait; the membership is kept."""
    case = bench.case(partitions=1)
    host = bench.start(case, retry={"mode": "parked", "delays": [f"{delay}s" for delay in delays]},
                       kafka={"max_poll_interval_ms": "60000" if delays[-1] > 60 else "6000"})
    failing, = case.produce([event(f"failn:{len(delays)}", key="K")])
    due = time.monotonic()
    for attempt, delay in enumerate(delays, 1):
        wait.until(lambda attempt=attempt: parked_rows(bench) and parked_rows(bench)[0][1] == attempt,
                   lambda: f"attempt {attempt}: {parked_rows(bench)}", delay + 10)
        late = time.monotonic() - due
        assert attempt == 1 or 0 <= late + 0.1 <= 2.1, f"attempt {attempt} came {late:.1f} s after it was due"
        due = time.monotonic() + delay
    wait.until(lambda: order_of(bench, "K") == [failing.id], "the last attempt", delays[-1] + 10)
    assert time.monotonic() - due <= 2
    assert host.metrics()["rebalances"] == 1, "the member was thrown out"
    case.check()


def parked(host, verb, case, *options, status=0):
    """The answer of idemctl parked … --json."""
    ended = host.ctl("parked", verb, "--pipeline", case.consumer, "--json", *options)
    assert ended.returncode == status, ended.stdout.decode() + ended.stderr.decode()
    return json.loads(ended.stdout)


def test_an_operator_lists_what_is_parked_and_releases_it(bench):
    """idemctl parked: keys, the events of one, a dry run, now instead of in an hour."""
    case = bench.case(partitions=1)
    host = bench.start(case, retry={"mode": "parked", "delays": ["1h", "1h"]})
    first, second, other = case.produce([event("failn:1", key="order-7"), event(key="order-7"), event("failn:1", key="\x1b[31m")])
    until_parked(case, 3)
    keys = parked(host, "list", case)
    assert keys["matched"] == 2
    row = next(row for row in keys["parked"] if row["key"] == "key:order-7")
    assert (row["events"], row["attempts"], row["reason"], row["event_id"]) == (2, 1, "retry", first.id)
    assert tuple(row["origin"][name] for name in ("topic", "partition", "offset")) == first.copies[0]
    events = parked(host, "list", case, "--key", "order-7")["parked"]
    assert [(row["event_id"], row["attempts"], row["reason"]) for row in events] == \
        [(first.id, 1, "retry"), (second.id, 0, "parked_behind")]
    assert b"\x1b" not in host.ctl("parked", "list", "--pipeline", case.consumer).stdout
    assert parked(host, "release", case, "--key", "order-7", "--dry-run")["matched"] == 1
    assert host.ctl("parked", "release", "--pipeline", case.consumer, "--key", "nobody").returncode == 1
    assert host.ctl("parked", "release", "--pipeline", case.consumer).returncode == 64
    assert len(case.parked()) == 3
    assert parked(host, "release", case, "--key", "order-7")["matched"] == 1
    wait.until(lambda: case.parked() == {other.id}, "the key to be released", 30)
    assert order_of(bench, "order-7") == [first.id, second.id]
    assert parked(host, "release", case, "--all")["matched"] == 1
    case.check()
    case.check_parked(host)


def p95_ms(bench, sent):
    """Of the time from before an event was produced to its effect, both by this machine's clock."""
    rows = bench.database.run("SELECT event_id::text, extract(epoch FROM at) * 1000 FROM effect WHERE event_id = ANY(%s::uuid[])",
                              list(sent))
    times = sorted(float(at) - sent[id] for id, at in rows)
    assert len(times) == len(sent)
    return times[int(len(times) * 0.95)]


def pace(cases, seconds, produced):
    """Events of eight keys and one of K, 50 times a second, for each case; when each of the eight was produced (ms)."""
    sent, until, rest = [{} for _ in cases], time.monotonic() + seconds, threading.Event()
    while time.monotonic() < until:
        for place in random.sample(range(len(cases)), len(cases)):  # none is always the first
            batch = [event(key=f"k{i}") for i in range(8)]
            sent[place].update({one.id: time.time() * 1000 for one in batch})
            case, deed = cases[place]
            produced[place].append(event(deed, key="K"))
            case.produce([produced[place][-1], *batch])
        rest.wait(0.02)
    return sent


@pytest.mark.parametrize("seconds, slack_ms", [(4, 40), pytest.param(300, 0, marks=RARE)])
def test_a_key_that_fails_costs_other_keys_nothing(bench, seconds, slack_ms):
    """Y13: the 95th percentile of the other keys' latency is at most 1.2 times that without it; the key's order is kept.  Two
    consumers side by side, so that both meet the same machine: in one of them K fails all the time."""
    failing, calm = bench.case(partitions=1), bench.case(partitions=1)
    retry = {"mode": "parked", "delays": ["1s"] * 1000, "max_parked_per_key": 100000}
    host = bench.start(failing, retry=retry)
    bench.start(calm, retry=retry)
    cases, produced = [(failing, "miss:retry"), (calm, "ok")], [[], []]
    pace(cases, 1, produced)
    sent = pace(cases, seconds, produced)
    until_parked(failing, len(produced[0]))
    bench.database.run("INSERT INTO balance VALUES ('a key that is not there', 0)")
    calm.check(timeout=120)
    failing.check(timeout=120)
    order = [row[0] for row in bench.database.run("SELECT event_id::text FROM effect WHERE key = 'K' AND consumer = %s ORDER BY at",
                                                  failing.consumer)]
    assert order == [one.id for one in produced[0]]
    failing.check_parked(host)
    p95 = p95_ms(bench, sent[1]), p95_ms(bench, sent[0])
    print(f"p95 of other keys: {p95[0]:.1f} ms without, {p95[1]:.1f} ms with a failing key, ratio {p95[1] / p95[0]:.2f}; "
          f"{len(sent[1])} and {len(sent[0])} events, {len(produced[0])} of the key")
    assert p95[1] <= 1.2 * p95[0] + slack_ms
