"""Killed at any moment: nothing lost, nothing twice (CRASH)."""
import json
import random
import subprocess
import threading

import pytest

from idem import wait
from idem.events import event, many
from idem.servers import LONG, is_alive, program
from idem.workload import Workload
from test_workload import feed

KILLS = 100 if LONG else 6


def test_random_kills_of_child_and_group_leave_an_exact_ledger(bench):
    """Half the kills go to the child, half to the whole process group, each while a transaction is open; session 6 s."""
    chance = random.Random(5)
    workload = Workload(100000 if LONG else 20000)
    case = bench.case(partitions=6)
    case.applicable.update(workload.ids)
    case.watch(every=1 if LONG else 0.2)
    settings = bench.settings(case, "billing", workers=4)
    host = bench.host(settings).start()
    rate = 100 if LONG else 500
    feeder = threading.Thread(target=feed, args=(case, workload, rate))
    feeder.start()
    try:
        for kill in range(KILLS):
            wait_a_little(chance.random())
            wait.until(lambda: bench.database.open_transactions() > 0, "an open transaction", 60, every=0.001)
            if kill % 2 == 0:
                wait.until(host.kill_child, "a child to kill", 20)
            else:
                host.kill_group()
                host.start(ready=False)
    finally:
        feeder.join()
    case.check_ledger(workload, timeout=180)


@pytest.mark.parametrize("point", ["after_commit", "before_commit", "after_claim"])
def test_kills_at_commit_leave_an_exact_ledger(bench, point):
    """CRASH again and again: each process is killed at the nth pass of the point, the next one takes its place at once."""
    chance = random.Random(11)
    workload = Workload(100000 if LONG else 10000)
    case = bench.case(partitions=6)
    case.applicable.update(workload.ids)
    case.produce(workload.records)
    case.watch(every=1 if LONG else 0.2)
    settings = bench.settings(case, "billing", workers=4, batch={"max": 100}, kafka={"group_instance_id": "one"})
    for _ in range(KILLS):
        host = bench.host(settings, failpoints=f"{point}=kill:{chance.randint(1, 12)}").start(ready=False)
        wait.until(lambda host=host: host.logged("child_died"), lambda host=host: f"the kill\n{host.log_tail()}", 40)
        host.kill_group()
    bench.host(settings).start()
    case.check_ledger(workload, timeout=180)


def wait_a_little(seconds):
    threading.Event().wait(seconds)


def run_until_killed(bench, case, failpoint, **pipeline):
    """A host whose child dies at the fail point; nothing of it is left."""
    host = bench.host(bench.settings(case, **pipeline), failpoints=failpoint).start(ready=False)
    wait.until(lambda: host.logged("child_died"), lambda: f"the child to die\n{host.log_tail()}", 30)
    host.kill_group()
    return host


def test_killed_after_commit_before_the_offset_commit_gives_duplicates_and_no_second_effect(bench):
    """D3, CRASH: each process dies right behind its first COMMIT until all 200 are applied; the last one sees all of them again."""
    case = bench.case(partitions=1)
    case.watch()
    case.produce(many(200))
    settings = bench.settings(case, workers=1, kafka={"group_instance_id": "one"})
    kills = 0
    while len(bench.database.processed(case.consumer)) < 200:
        before = len(bench.database.processed(case.consumer))
        host = bench.host(settings, failpoints="after_commit=kill").start(ready=False)
        wait.until(lambda host=host: host.logged("child_died"), lambda host=host: f"the kill\n{host.log_tail()}", 30)
        host.kill_group()
        assert len(bench.database.processed(case.consumer)) > before, "the kill fell behind a COMMIT"
        kills += 1
    committed = case.group.committed(case.topics[0]).get(0, 0)
    assert kills > 1 and committed < 200
    host = bench.host(settings).start()
    case.check()
    assert host.counted()[0]["duplicate"] == 200 - committed
    assert host.counted()[0]["processed"] == 0
    case.check_counters(host)


@pytest.mark.long
def test_down_for_longer_than_the_retention_after_a_kill_at_commit(bench):
    """D19: what can be redelivered is not forgotten; when it can't come any more, it is."""
    case = bench.case(partitions=1)
    case.watch()
    dedup = {"retention": "1m", "day": "10s"}
    case.produce(many(200))
    host = run_until_killed(bench, case, "after_commit=kill:3", workers=1, dedup=dedup)
    applied = len(bench.database.processed(case.consumer))
    assert applied > case.group.committed(case.topics[0]).get(0, 0)
    wait.until(lambda: bench.database.one("SELECT min(now() - processed_at) > interval '90s' FROM processed_event"),
               "the rows to be older than the retention", 120, every=1)
    assert forget(host, case) == 0
    again = bench.start(case, dedup=dedup)
    assert case.check() == []
    assert again.counted()[0]["processed"] == 200 - applied
    wait.until(lambda: forget(again, case) > 0, "the days to be forgotten when nothing old can come", 180, every=1)


def forget(host, case):
    """idemctl dedup expire: how many days went."""
    done = subprocess.run([program("idemctl"), "-c", host.file, "dedup", "expire", case.consumer, "--json"], check=True,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)["days_forgotten"]


def test_killed_before_commit_repeats_everything(bench):
    """CRASH: nothing of the open transaction is there, all of it is applied by the next process."""
    case = bench.case(partitions=1)
    case.watch()
    case.produce(many(100))
    run_until_killed(bench, case, "before_commit=kill", workers=1)
    assert bench.database.processed(case.consumer) == set() and bench.database.effects(case.consumer) == {}
    host = bench.start(case)
    case.check()
    assert host.counted()[0]["duplicate"] == 0
    case.check_counters(host)


def test_killed_between_the_dead_letter_and_its_offset_makes_no_lost_event(bench):
    """CONS-2: the offset follows the acknowledged dead letter; a kill in between may repeat the letter, never lose it."""
    case = bench.case(partitions=1)
    case.produce([event("fatal"), *many(5)])
    run_until_killed(bench, case, "after_commit=kill:2", workers=1, batch={"max": 1})
    bench.start(case)
    case.wait_drained()
    assert {one.id for one in case.dead()} == {case.produced[0].id}
    assert len(bench.database.processed(case.consumer)) == 5


def test_a_killed_supervisor_takes_its_children_with_it(bench):
    """No child goes on without its parent: two processes would work as one member each."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    children = host.children()
    host.process.kill()
    host.process.wait()
    wait.until(lambda: not any(is_alive(pid) for pid in children), "the children to end", 20)


@pytest.mark.parametrize("moment", ["after_commit=kill:2", "before_commit=kill:2"])
def test_the_supervisor_starts_a_dead_child_again(bench, moment):
    """The next child takes over where the dead one stopped, without anybody's help."""
    case = bench.case(partitions=1)
    case.watch()
    host = bench.host(bench.settings(case, workers=1), failpoints=moment).start(ready=False)
    case.produce(many(3))
    case.check(timeout=90)
    assert host.logged("child_restart")
