"""A record that ends the process is put aside; what ends every process is nobody's fault (ENGINE 6)."""
import pytest

from idem import wait
from idem.events import event, many

WAYS = {"segv": "process_crash", "wild": "process_crash", "abort": "process_crash", "exit": "process_crash",
        "overflow": "process_crash", "loop": "handler_hang"}
RARE = [pytest.mark.long] # the same path in the host as one of the others
QUICK = {"timeout": "500ms", "grace": "300ms"}


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
    ("segv", "ref"), ("exit", "ref"), ("overflow", "ref"), ("loop", "ref"), ("abort", "ref_batch"),
    *[pytest.param(deed, "ref", marks=RARE) for deed in ("wild", "abort")],
    *[pytest.param(deed, "ref_batch", marks=RARE) for deed in WAYS if deed != "abort"]])
def test_one_poisonous_record_among_a_thousand(bench, deed, plugin):
    """Y15, G5: at most three deaths, then a dead letter; the other 999 are applied."""
    case = bench.case(partitions=3)
    bad = event(deed, key="bad")
    case.produce([*many(500), bad, *many(499)])
    host = bench.host(settings_of(bench, case, plugin)).start()
    case.check(timeout=120)
    dead = check_one_dead(case, bad, WAYS[deed])
    assert deaths(host) <= 3
    assert ("did not come back" if deed == "loop" else "died") in dead.header("x-error")
    assert dead.header("x-plugin-version")
    assert len(bench.database.processed(case.consumer)) == 999


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
