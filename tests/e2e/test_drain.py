"""SIGTERM: what was begun is committed in both places, the group is left, exit 0 in time (F-1, L1)."""
import socket
import time

from idem import wait
from idem.events import event, many


def stop_and_time(host):
    begin = time.monotonic()
    status = host.stop()
    return status, time.monotonic() - begin


def test_64_in_flight_are_committed_and_nothing_comes_again(bench):
    """L1: 64 handlers of 3 s, SIGTERM, exit 0 in less than 10 s, no duplicate after the restart."""
    case = bench.case(partitions=4)
    case.watch()
    settings = bench.settings(case, ordering="none", workers=64, batch={"max": 1}, retry={"mode": "topics"})
    host = bench.host(settings).start()
    case.produce([event("nap:3000", key=None, partition=i % 4) for i in range(64)])
    wait.until(lambda: bench.database.handlers_at_work() == 64, "64 handlers at work", 30)
    status, seconds = stop_and_time(host)
    assert status == 0 and seconds < 10
    assert len(bench.database.processed(case.consumer)) == 64
    assert case.lag() == 0 and case.group.members() == 0
    again = bench.host(settings).start()
    case.produce([event()])
    case.check()
    assert again.counted()[0]["duplicate"] == 0


def test_500_slow_events_in_the_lanes_do_not_hold_up_the_stop(bench):
    """Those begun are committed, the others stay for the next process; whatever was fetched."""
    case = bench.case(partitions=4)
    case.watch()
    settings = bench.settings(case, workers=8)
    host = bench.host(settings).start()
    case.produce(many(500, "nap:1000", keys=100))
    wait.until(lambda: len(bench.database.processed(case.consumer)) >= 8, "the first events", 60)
    status, seconds = stop_and_time(host)
    assert status == 0 and seconds < 20
    done = len(bench.database.processed(case.consumer))
    assert 500 - case.lag() <= done < 500
    assert set(bench.database.effects(case.consumer)) == bench.database.processed(case.consumer)
    wait.until(lambda: case.group.members() == 0, "the group to be empty", 5)
    assert not bench.database.open_transactions()
    case.sampler.finish()


def test_a_handler_that_never_comes_back_is_cut_off_in_time(bench):
    """F-1: the whole process is gone before 60 s, whatever a handler does."""
    case = bench.case(partitions=1)
    host = bench.start(case, drain_max="3s")
    case.produce([event("loop")])
    wait.until(lambda: bench.database.handlers_at_work() == 1, "the handler to be entered", 20)
    _, seconds = stop_and_time(host)
    assert seconds < 30
    assert bench.database.processed(case.consumer) == set()


def test_a_handler_that_looks_is_told_before_the_drain_is_over(bench):
    """F-1: it gives up in good order.  No attempt is counted, its event is as if it had not been begun."""
    case = bench.case(partitions=1)
    host = bench.start(case, drain_max="5s", ordering="none", retry={"mode": "topics"})
    case.produce([event("sleep:60000")])
    wait.until(lambda: bench.database.handlers_at_work() == 1, "the handler to be entered", 20)
    status, seconds = stop_and_time(host)
    assert status == 0 and seconds < 10
    assert host.logged("handler_stopped") and not host.logged("handler_timeout")
    assert bench.database.processed(case.consumer) == set() and case.lag() == 1


def test_stop_of_an_idle_host_is_quick_and_leaves_the_group(bench):
    case = bench.case()
    host = bench.start(case)
    wait.until(lambda: case.group.members() == 1, "the member", 20)
    status, seconds = stop_and_time(host)
    assert status == 0 and seconds < 5
    wait.until(lambda: case.group.members() == 0, "the group to be empty", 5)


def test_a_plugin_that_takes_sigterm_away_does_not_stop_the_drain(bench):
    """G5: the plugin installs its own SIGTERM handler."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    case.produce([event("sigterm"), event()])
    case.check()
    status, seconds = stop_and_time(host)
    assert status == 0 and seconds < 30


def silent_server():
    """A server that takes connections and never says a word."""
    return socket.create_server(("127.0.0.1", 0))


def stop_while_it_connects_to(bench, silent, settings):
    host = bench.host(settings).start(ready=False)
    silent.settimeout(20)
    with silent, silent.accept()[0]:
        status, seconds = stop_and_time(host)
    assert status == 0 and seconds < 2 * wait.PATIENCE


def test_a_host_that_waits_for_a_silent_broker_at_start_stops_at_once(bench):
    case, silent = bench.case(partitions=1), silent_server()
    settings = bench.settings(case)
    settings["kafka"]["bootstrap_servers"] = "127.0.0.1:%d" % silent.getsockname()[1]
    stop_while_it_connects_to(bench, silent, settings)


def test_a_host_that_waits_for_a_stopped_postgresql_at_start_stops_at_once(bench):
    case, silent = bench.case(partitions=1), silent_server()
    settings = bench.settings(case)
    settings["database"]["conninfo"] = bench.postgres.conninfo(bench.database.name, port=silent.getsockname()[1])
    stop_while_it_connects_to(bench, silent, settings)
