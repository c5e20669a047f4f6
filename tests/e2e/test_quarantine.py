"""A record that ends the process is put aside; what ends every process is nobody's fault (ENGINE 6)."""
import threading

import pytest

from idem import wait
from idem.events import event, many

WAYS = {"segv": "process_crash", "wild": "process_crash", "abort": "process_crash", "exit": "process_crash",
        "overflow": "process_crash", "throw": "process_crash", "close": "process_crash", "eat": "process_crash",
        "loop": "handler_hang"}
RARE = [pytest.mark.long] # the same path in the host as one of the others
QUICK = {"timeout": "500ms", "grace": "300ms"}
SAID = {"eat": "memory_max is", "close": "descriptors_are_left_open", "throw": "signal 6", "segv": "signal 11"}  # in the log


def settings_of(bench, case, plugin="ref", **pipeline):
    """A static member: a process takes the place of the one that died at once, not after its session."""
    settings = bench.settings(case, plugin, kafka={"group_instance_id": "one"}, **pipeline)
    settings["pipelines"][0]["plugin"].update(QUICK)
    return settings


def deaths(host):
    return sum("stays down" not in line for line in host.logged("child_died"))


def check_one_dead(case, bad, reason):
    dead, = case.dead()
    assert (dead.id, dead.reason) == (bad.id, reason)
    return dead


@pytest.mark.parametrize("deed, plugin", [
    ("segv", "ref"), ("exit:1", "ref"), ("overflow", "ref"), ("loop", "ref"), ("close", "ref"), ("eat", "ref"), ("throw", "ref_throw"),
    ("abort", "ref_batch"),
    *[pytest.param(deed, "ref", marks=RARE) for deed in ("wild", "abort", "exit:0")],
    *[pytest.param(deed, "ref_batch", marks=RARE) for deed in WAYS if deed not in ("abort", "throw")]])
def test_one_poisonous_record_among_a_thousand(bench, deed, plugin):
    """Y15, G5: at most three deaths, then a dead letter; the other 999 are applied."""
    case = bench.case(partitions=3)
    bad = event(deed, key="bad")
    case.produce([*many(500), bad, *many(499)])
    settings = settings_of(bench, case, plugin, memory_max="300MiB", queue={"max_bytes": "16MiB"}, event={"max_bytes": "1MiB"})
    deed = deed.partition(":")[0]
    if deed == "eat":
        settings["pipelines"][0]["plugin"].update(timeout="30s", grace="5s")
    host = bench.host(settings).start()
    case.check(timeout=120)
    dead = check_one_dead(case, bad, WAYS[deed])
    assert deaths(host) <= 3
    assert ("did not come back" if deed == "loop" else "died") in dead.header("x-error")
    assert dead.header("x-plugin-version")
    assert SAID.get(deed, "") in host.log()
    assert len(bench.database.processed(case.consumer)) == 999


def delays_ms(bench, case, events):
    """From when each was made, which its id says, to when its effect was written."""
    rows = bench.database.run("SELECT event_id::text, extract(epoch FROM at) * 1000 FROM effect WHERE consumer = %s", case.consumer)
    at = {id: float(ms) for id, ms in rows}
    return sorted(at[one.id] - int(one.id.replace("-", "")[:12], 16) for one in events)


def test_the_other_pipelines_go_on_as_before_while_one_dies(bench):
    """PLUG-4: events that come at a steady pace take as long as without the deaths, in the same process."""
    good, bad = bench.case(partitions=3), bench.case(partitions=1)
    settings = settings_of(bench, bad)
    settings["pipelines"].append(bench.pipeline(good))
    host = bench.host(settings).start()
    before, during, ended = [], [], threading.Event()

    def feed():
        while not ended.wait(0.01):
            one = event()
            (during if bad.produced else before).append(one)
            good.produce([one], flush=False)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        wait.until(lambda: len(before) >= 200, "a while without deaths", 30)
        bad.produce([event("segv", key="bad"), *many(20)])
        wait.until(lambda: bad.dead(), lambda: host.log_tail(), 60)
    finally:
        ended.set()
        feeder.join()
    bench.broker.producer.flush(10)
    good.check()
    bad.check()
    assert deaths(host) == 3 and not any(f"pipeline {good.consumer}" in line for line in host.logged("child_died"))
    pids = bench.database.run("SELECT count(DISTINCT pid) FROM effect WHERE consumer = %s", good.consumer)
    assert pids[0][0] == 1
    usual, then = delays_ms(bench, good, before), delays_ms(bench, good, during)
    assert then[len(then) // 2] < usual[len(usual) // 2] + 50, "the median of milliseconds"
    assert then[len(then) * 95 // 100] < usual[len(usual) * 95 // 100] + 500, "95 of 100"


def test_a_record_that_takes_the_whole_host_with_it_is_put_aside(bench):
    """ENGINE 6: parent and child are killed at once, as by the kernel for want of memory; the page in state_dir outlives both."""
    case = bench.case(partitions=2)
    bad = event("nap:600000", key="bad", partition=0)
    case.produce([bad])
    settings = settings_of(bench, case)
    settings["pipelines"][0]["plugin"].update(timeout="1h")
    host = bench.host(settings)
    for _ in range(3):
        case.produce([event(partition=1)])
        host.start(ready=False)
        wait.until(lambda: bench.database.handlers_at_work() == 1, lambda: f"the handler to be entered\n{host.log_tail()}", 40)
        host.kill_group()
    case.produce([event(partition=1)])
    host.start()
    case.check()
    assert check_one_dead(case, bad, "process_crash").header("x-error") == "the process died"


def test_a_poison_at_the_end_of_an_idle_partition_is_dead_once(bench):
    """Y17: three restarts of the host later there is one dead letter, and the group is past it."""
    case = bench.case(partitions=1)
    bad = event("segv")
    case.produce([*many(3), bad])
    host = bench.host(settings_of(bench, case)).start()
    case.check(timeout=60)
    for _ in range(3):
        assert host.stop() == 0
        host.start()
    case.check()
    check_one_dead(case, bad, "process_crash")


def test_deaths_survive_the_supervisor_and_another_host(bench):
    """The count moves with the partition: the second host has a folder of its own."""
    case = bench.case(partitions=1)
    bad = event("segv", key="bad")
    case.produce([bad])
    first = bench.host(settings_of(bench, case)).start()
    wait.until(lambda: len(first.logged("event_suspect")) == 2, lambda: first.log_tail(), 60)
    first.kill_group()
    second = bench.host(settings_of(bench, case)).start()
    case.check(timeout=60)
    check_one_dead(case, bad, "process_crash")
    assert deaths(second) <= 1


def test_neighbours_in_the_handler_are_suspected_and_cleared(bench):
    """Events of other workers at the moment of a death run alone once, and are applied."""
    case = bench.case(partitions=4)
    case.produce([*[event("sleep:400", key=f"slow{n}") for n in range(3)], event("segv", key="bad")])
    host = bench.host(settings_of(bench, case)).start()
    dead, = case.check(timeout=120)
    assert dead.reason == "process_crash"
    assert len(bench.database.processed(case.consumer)) == 3
    assert bench.database.one("SELECT count(*) FROM event_attempt WHERE route <> 'dead'") == 0
    assert deaths(host) <= 3


def test_a_broken_build_stops_and_gives_up_nothing(bench):
    """Every event kills: the breaker, readiness red, at most one dead letter of one lane; a good build goes on."""
    case = bench.case(partitions=3)
    case.produce([event("segv", key=f"k{n}") for n in range(30)])
    host = bench.host(settings_of(bench, case)).start(ready=False)
    wait.until(lambda: host.logged("crash_breaker"), lambda: host.log_tail(), 90)
    wait.until(lambda: host.get("/readyz")[0] == 503, "readiness to be red", 10)
    assert deaths(host) == 5
    assert len(case.dead()) <= 1
    assert bench.database.processed(case.consumer) == set()


def test_a_replayed_poison_begins_with_no_deaths(bench):
    case = bench.case(partitions=1)
    bad = event("segv", key="bad")
    case.produce([bad, *many(5)])
    host = bench.host(settings_of(bench, case)).start()
    case.check(timeout=60)
    assert host.ctl("dlq", "replay", "--pipeline", case.consumer, "--id", bad.id).returncode == 0
    wait.until(lambda: len(case.dead()) == 2, lambda: host.log_tail(), 60)
    case.check(replayed={bad.id})
    assert deaths(host) <= 6
