"""The bench workload (orders, 10 % sent again) ends in an exact ledger in every mode."""
import threading

import pytest

from idem import wait
from idem.servers import LONG
from idem.workload import Workload

COUNT = 100000 if LONG else 20000


@pytest.fixture(scope="module")
def orders(broker):
    """A topic that holds the whole workload, read by every test from its beginning with a group of its own."""
    workload = Workload(COUNT)
    topic = f"orders-{COUNT}-{id(workload)}"
    broker.create(topic, 6)
    broker.produce(topic, workload.records)
    return topic, workload


@pytest.mark.parametrize("plugin", ["billing", "billing_batch"])
@pytest.mark.parametrize("workers", [1, 4, 12])
@pytest.mark.parametrize("ordering", ["partition", "key", "none"])
def test_ledger_is_exact(bench, orders, ordering, workers, plugin):
    topic, workload = orders
    case = bench.case(topics=[topic])
    host = bench.start(case, plugin, ordering=ordering, workers=workers)
    case.check_ledger(workload)
    six, consumed = host.counted()
    assert six["processed"] == COUNT and six["duplicate"] == len(workload.records) - COUNT
    case.check_counters()
    assert host.stop() == 0


@pytest.mark.parametrize("assignor", ["range,roundrobin", "cooperative-sticky"])
def test_ledger_is_exact_while_a_second_host_joins_and_leaves(bench, assignor):
    """Also with cooperative rebalancing (R15)."""
    workload = Workload(COUNT)
    case = bench.case(partitions=6)
    case.applicable.update(workload.ids)
    case.watch()
    settings = bench.settings(case, "billing", workers=4, kafka={"partition_assignment_strategy": assignor})
    bench.host(settings).start()
    feeder = threading.Thread(target=feed, args=(case, workload))
    feeder.start()
    try:
        for _ in range(3):
            second = bench.host(settings).start()
            wait.until(lambda second=second: second.metrics().get("partitions_assigned", 0) > 0, "the second host to work", 30)
            before = second.metrics().get("records_consumed", 0)
            wait.until(lambda second=second, before=before: not feeder.is_alive()
                       or second.metrics().get("records_consumed", 0) > before, "the second host to consume", 30)
            assert second.stop() == 0
    finally:
        feeder.join()
    case.check_ledger(workload)


def feed(case, workload, per_second=1500):
    """Paced, so that the joins and leaves fall into the run."""
    step = max(per_second // 20, 1)
    pause = threading.Event()
    for start in range(0, len(workload.records), step):
        case.produce(workload.records[start:start + step], flush=False)
        pause.wait(0.05)
    case.broker.producer.flush(60)
