"""What is fetched ahead has a limit, whatever the number of partitions."""
import pytest

from idem.events import event

FILLER = "x" * 175000


def backlog(case, count, nap):
    """In chunks, whose payloads are let go: the whole of it would not fit in memory."""
    for start in range(0, count, 200):
        events = [event(f"nap:{nap}", key=f"k{i}", partition=i % 90, filler=FILLER) for i in range(start, min(start + 200, count))]
        case.produce(events)
        for one in events:
            one.value = None


def peak_bytes(host):
    child, = host.children()
    with open(f"/proc/{child}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def quarters(bench, count):
    """Seconds that each quarter of the events took."""
    times = [float(row[0]) for row in bench.database.run("SELECT extract(epoch FROM at) FROM effect ORDER BY at")]
    assert len(times) == count
    marks = [times[i * (count - 1) // 4] for i in range(5)]
    return [after - before for before, after in zip(marks, marks[1:])]


@pytest.mark.parametrize("count, nap, memory, queue", [
    (600, 20, 96_000_000, "8MiB"),
    pytest.param(20000, 20, 256_000_000, "64MiB", marks=pytest.mark.long)])
def test_a_backlog_in_ninety_partitions_stays_under_the_cap(bench, count, nap, memory, queue):
    """K9: records of 175 KB in 90 partitions, a slow handler; the process never holds more than memory_max and is not killed for it,
    and the last quarter takes no longer than the others."""
    case = bench.case(partitions=90)
    backlog(case, count, nap)
    host = bench.start(case, ordering="partition", memory_max=f"{memory}B", queue={"max_bytes": queue})
    case.check(timeout=60 + count * nap / 1000)
    peak, took = peak_bytes(host), quarters(bench, count)
    print(f"peak {peak / 1e6:.0f} MB of {memory / 1e6:.0f}, quarters {[round(one, 1) for one in took]} s")
    assert peak < memory and not host.logged("child_died"), host.log_tail()
    assert max(took) < 2 * min(took) + 2
    case.check_counters()
