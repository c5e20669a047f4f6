"""The database goes back behind the group: what it lost is applied again (ENGINE 5)."""
import pytest

from idem import wait
from idem.events import event, many


def went_back(host):
    return host.logged("database_went_back")


def check_all_applied(bench, case):
    case.check()
    assert len(bench.database.effects(case.consumer)) == len(case.produced)


@pytest.mark.parametrize("mode", ["in_place", "topics"])
def test_a_restored_database_gets_the_lost_transactions_again(bench, mode):
    """Stopped, restored to a state of before, started: Kafka's offsets are ahead of the table."""
    case = bench.case()
    retry = {"mode": mode, "delays": ["100ms", "200ms"]}
    settings = bench.settings(case, retry=retry)
    case.produce(many(100))
    host = bench.host(settings).start()
    case.check()
    assert host.stop() == 0
    copy = bench.database.keep()
    case.produce([*many(100), event("failn:1")])
    host.start()
    case.check()
    assert host.stop() == 0
    bench.database.go_back(copy)
    assert len(bench.database.effects(case.consumer)) == 100
    host.start()
    wait.until(lambda: len(bench.database.effects(case.consumer)) == 201, lambda: host.log_tail(), 40)
    assert went_back(host)
    check_all_applied(bench, case)
    assert host.metrics()["database_went_back"] >= 1
    case.produce(many(20))
    check_all_applied(bench, case)


def test_a_failover_under_a_running_host_loses_nothing(bench):
    """The host only sees its connections break; the server it finds lacks what was committed last."""
    case = bench.case()
    host = bench.start(case)
    case.produce(many(100))
    case.check()
    copy = bench.database.keep()
    case.produce(many(100))
    case.check()
    bench.database.go_back(copy)
    case.produce(many(50))
    wait.until(lambda: len(bench.database.effects(case.consumer)) == 250, lambda: host.log_tail(), 60)
    assert went_back(host)
    check_all_applied(bench, case)
    assert host.stop() == 0


def test_offsets_moved_forward_by_another_tool_are_undone_with_an_alarm(bench):
    case = bench.case(partitions=1)
    settings = bench.settings(case)
    case.produce(many(50))
    host = bench.host(settings).start()
    case.check()
    assert host.stop() == 0
    case.produce(many(50))
    case.group.commit(case.topics[0], {0: 100})
    host.start()
    wait.until(lambda: len(bench.database.effects(case.consumer)) == 100, lambda: host.log_tail(), 40)
    assert went_back(host)
    check_all_applied(bench, case)


def test_offsets_moved_forward_are_taken_over_where_that_is_wanted(bench):
    case = bench.case(partitions=1)
    settings = bench.settings(case, accept_foreign_offsets=True)
    case.produce(many(50))
    host = bench.host(settings).start()
    case.check()
    assert host.stop() == 0
    skipped = many(50)
    case.produce(skipped)
    case.group.commit(case.topics[0], {0: 100})
    host.start()
    case.produce(many(10))
    wait.until(lambda: len(bench.database.effects(case.consumer)) == 60, lambda: host.log_tail(), 40)
    case.wait_drained()
    assert not went_back(host) and not bench.database.processed(case.consumer) & {one.id for one in skipped}


def test_a_group_that_used_something_else_before_goes_on_where_it_was(bench):
    """Its offset is ahead of a table that has no row: that is no database that went back."""
    case = bench.case(partitions=1)
    before = many(30)
    case.produce(before)
    case.group.commit(case.topics[0], {0: 30})
    host = bench.start(case)
    after = many(10)
    case.produce(after)
    wait.until(lambda: len(bench.database.effects(case.consumer)) == 10, lambda: host.log_tail(), 40)
    case.wait_drained()
    assert set(bench.database.effects(case.consumer)) == {one.id for one in after}
    assert not went_back(host)
