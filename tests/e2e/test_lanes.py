"""Who waits for whom: a slow lane holds back itself."""
from idem import wait
from idem.events import event, many


def test_a_slow_key_holds_back_only_itself(bench):
    """K11: one key of P0 takes a second an event; what the others have is long applied when it is not half done."""
    case = bench.case(partitions=3)
    slow = [event("nap:1000", key="slow", partition=0) for _ in range(12)]
    quick = [event(key=f"k{n % 200}", partition=1 + n % 2) for n in range(3000)]
    case.produce([each for n, turn in enumerate(zip(*[iter(quick)] * 250)) for each in (*turn, slow[n])])
    host = bench.start(case, ordering="key", workers=4)
    ids = [each.id for each in quick]
    wait.until(lambda: len(bench.database.processed_among(case.consumer, ids)) == len(quick), host.log_tail, 60)
    assert len(bench.database.processed_among(case.consumer, [each.id for each in slow])) < 6
    case.check(timeout=60)
    order = [row[0] for row in bench.database.run("SELECT event_id::text FROM effect WHERE key = 'slow' ORDER BY at")]
    assert order == [each.id for each in slow]


def test_more_slow_keys_than_workers_let_the_others_pass(bench):
    """K11: a worker gives a slow lane one event and looks for others then."""
    case = bench.case(partitions=3)
    slow = [event("nap:300", key=f"slow{n % 6}", partition=0) for n in range(60)]
    quick = many(600, keys=100)
    case.produce([*slow, *quick])
    bench.start(case, ordering="key", workers=2)
    ids = [each.id for each in quick]
    wait.until(lambda: len(bench.database.processed_among(case.consumer, ids)) == len(quick), "the quick ones", 60)
    assert len(bench.database.processed_among(case.consumer, [each.id for each in slow])) < 45
    case.check(timeout=60)
