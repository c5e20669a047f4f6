"""The connection is cut around COMMIT: never read, never guess, run the batch again (ENGINE 2)."""
import threading

import pytest

from idem import wait
from idem.events import many
from idem.servers import LONG
from idem.workload import Workload
from test_workload import feed

COMPLETE = b"COMMIT\0"  # the command tag in the server's answer


def farewell(state, text):
    """What the server says when it is told to end a connection."""
    fields = b"".join(kind + value + b"\0" for kind, value in ((b"S", b"FATAL"), (b"V", b"FATAL"), (b"C", state), (b"M", text))) + b"\0"
    return b"E" + (len(fields) + 4).to_bytes(4, "big") + fields


def run_through_proxy(bench, side, pattern, forward, after, last=b""):
    case = bench.case(partitions=1)
    case.watch()
    proxy, conninfo = bench.proxy()
    settings = bench.settings(case, workers=1)
    settings["database"]["conninfo"] = conninfo
    case.produce(many(300))
    proxy.cut_when(side, pattern, forward, after, last)
    host = bench.host(settings).start(ready=False)
    case.check(timeout=90)
    assert proxy.cuts == 1, "the connection was cut"
    assert case.dead() == []
    return case, host


@pytest.mark.parametrize("after", [1, 2, 4])
def test_committed_and_the_answer_lost(bench, after):
    """The server said COMMIT, nobody heard it: rows that are there count as processed, by this process's own COMMIT."""
    case, host = run_through_proxy(bench, "server", COMPLETE, False, after)
    assert host.metrics()["commits_unknown"] == 1
    assert host.counted()[0]["processed"] == 300 and host.counted()[0]["duplicate"] == 0
    case.check_counters()


@pytest.mark.parametrize("after", [1, 2, 4])
def test_commit_never_arrived(bench, after):
    """COMMIT was sent and lost: the old transaction dies, the batch runs again."""
    case, host = run_through_proxy(bench, "client", b"COMMIT\0", False, after)
    assert host.counted()[0]["processed"] == 300
    case.check_counters()


@pytest.mark.parametrize("after", [1, 3])
def test_commit_arrived_and_the_connection_was_cut_at_once(bench, after):
    """The claim of the new run waits for the old backend, whichever way that one ends."""
    case, host = run_through_proxy(bench, "client", b"COMMIT\0", True, after)
    assert host.counted()[0]["processed"] == 300
    case.check_counters()


@pytest.mark.parametrize("after", [1, 3])
def test_stopped_between_the_answer_to_commit_and_the_sync_point(bench, after):
    """A server that is shut down says so there; the process lives."""
    case, host = run_through_proxy(bench, "server", COMPLETE, True, after,
                                   farewell(b"57P01", b"terminating connection due to administrator command"))
    assert not host.logged("child_died") and not host.logged("assertion")
    assert host.counted()[0]["processed"] == 300
    case.check_counters()


@pytest.mark.parametrize("side,forward", [("server", False), ("client", False), ("client", True)])
def test_cuts_around_commit_again_and_again_leave_an_exact_ledger(bench, side, forward):
    """The producer is paced, so that there is work left for the last cut, however fast the machine is."""
    workload = Workload(100000 if LONG else 6000)
    case = bench.case(partitions=6)
    case.applicable.update(workload.ids)
    proxy, conninfo = bench.proxy()
    settings = bench.settings(case, "billing", workers=4, batch={"max": 100})
    settings["database"]["conninfo"] = conninfo
    cuts = 100 if LONG else 5
    proxy.cut_when(side, b"COMMIT\0", forward)
    bench.host(settings).start(ready=False)
    feeder = threading.Thread(target=feed, args=(case, workload, 500))
    feeder.start()
    try:
        for cut in range(1, cuts + 1):
            wait.until(lambda cut=cut: proxy.cuts == cut, lambda cut=cut: f"cut number {cut}, lag {case.lag()}", 30)
            if cut < cuts:
                proxy.cut_when(side, b"COMMIT\0", forward, 1 + cut % 5)
    finally:
        feeder.join()
    case.check_ledger(workload, timeout=180)


def test_connection_cut_in_the_middle_of_a_batch(bench):
    """08 is infrastructure: no attempt counted, nothing dead."""
    case, host = run_through_proxy(bench, "client", b"SAVEPOINT c0", True, 2)
    assert host.counted()[0]["processed"] == 300
    case.check_counters()


def test_backends_terminated_again_and_again(bench):
    """57P01 ends the connection, not the events."""
    case = bench.case(partitions=3)
    case.watch()
    host = bench.start(case, workers=3)
    for _ in range(5):
        case.produce(many(100, "sql:SELECT pg_sleep(0.002)"))
        bench.database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
                           " AND application_name <> 'test'", bench.database.name)
    case.check(timeout=90)
    assert case.dead() == []
    assert host.counted()[0]["processed"] + host.counted()[0]["duplicate"] == 500
