"""The two steps at a handler's deadline: the statement it waits for is cancelled, the handler that does not come back is ended (ENGINE 6)."""
from idem import wait
from idem.events import event


def with_proxy(bench, case, timeout, grace="1s"):
    """A proxy, and a started host that has it between itself and PostgreSQL."""
    proxy, conninfo = bench.proxy()
    settings = bench.settings(case)
    settings["database"]["conninfo"] = conninfo
    settings["pipelines"][0]["plugin"].update(timeout=timeout, grace=grace)
    return proxy, bench.host(settings).start()


def sleepers(bench):
    """Backends in a statement that sleeps."""
    return bench.database.one("SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND state = 'active'"
                              " AND wait_event = 'PgSleep'", bench.database.name)


def test_a_cancel_that_hangs_does_not_keep_the_watchdog_from_ending_a_handler(bench):
    """The request to cancel goes into a black hole and does not come back; another worker's handler never does either."""
    case = bench.case(partitions=2)
    proxy, host = with_proxy(bench, case, "3s")
    case.produce([event("sql:SELECT pg_sleep(600)", key="a", partition=0), event("loop", key="b", partition=1)])
    wait.until(lambda: sleepers(bench) == 1 and bench.database.handlers_at_work() == 1, lambda: host.log_tail(), 20)
    proxy.hold()
    wait.until(lambda: host.logged("handler_hang"), lambda: f"the loop to be ended\n{host.log_tail()}", 20)
    assert len(host.logged("handler_timeout")) == 2
    proxy.hold(False)


def test_a_cancel_that_is_lost_is_sent_again(bench):
    """The statement would sleep for a minute; the first request to cancel it reaches nobody."""
    case = bench.case(partitions=1)
    proxy, host = with_proxy(bench, case, "2s")
    bad, = case.produce([event("sql:SELECT pg_sleep(60)")])
    wait.until(lambda: sleepers(bench) == 1, lambda: host.log_tail(), 20)
    proxy.refuse()
    wait.until(lambda: proxy.refused > 0, lambda: f"the request to cancel\n{host.log_tail()}", 20)
    proxy.refuse(False)
    record, = case.check(timeout=40)
    assert (record.id, record.reason) == (bad.id, "attempts_exhausted")
