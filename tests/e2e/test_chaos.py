"""The chaos harness: its schedule, that it sees what it is there for, and a short run (tests/chaos/README.md)."""
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time

import ledger as ledgers
import mix as mixes
import pytest
import schedule
from faults import Strikes
from idem.events import event
from idem.proxy import Proxy
from idem.servers import ROOT, program
from watch import Watch

CHAOS = os.path.join(ROOT, "tests/chaos/chaos.py")
LAST = re.compile(r"^chaos seed=\d+ events=\d+ faults=(\d+) redelivered=\d+ lost=(\d+) doubled=(\d+)$")


def chaos(*arguments, timeout=400):
    return subprocess.run([CHAOS, *arguments], capture_output=True, text=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL)


# the schedule ----------------------------------------------------------------------------------------------------------

def test_the_same_seed_makes_the_same_schedule_and_another_seed_another():
    first, second, other = chaos("--seed", "5", "--schedule"), chaos("--seed", "5", "--schedule"), chaos("--seed", "6", "--schedule")
    assert first.returncode == 0 and len(first.stdout.splitlines()) == 1 + len(schedule.KINDS)
    assert first.stdout == second.stdout != other.stdout


def test_the_same_seed_makes_the_same_events():
    def records(seed):
        mix = mixes.Mix(seed, 1764547200000)
        return [mix.next() for _ in range(3000)]
    assert records(5) == records(5) != records(6)


@pytest.mark.parametrize("seed", [1, 2])
def test_an_hour_has_500_faults_and_20_of_each_kind_in_order_of_time(seed):
    faults = schedule.make(seed, 60)
    kinds = [fault.kind for fault in faults]
    assert len(faults) >= 500 and min(kinds.count(kind) for kind in schedule.KINDS) >= 20
    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults) and faults[-1].at < 3600


def test_every_kind_has_a_strike():
    assert all(callable(getattr(Strikes, kind)) for kind in schedule.KINDS)


def test_an_unknown_fault_is_refused_with_the_list_of_all():
    done = chaos("--faults", "kill_child,earthquake")
    assert done.returncode == 64 and "earthquake" in done.stderr and "kafka_cut_bytes" in done.stderr


# the tools -------------------------------------------------------------------------------------------------------------

def test_the_wall_clock_of_a_living_process_is_stepped_and_its_monotonic_clock_is_not(tmp_path):
    clock = tmp_path / "clock"
    clock.write_bytes(struct.pack("q", 0))
    code = "import sys, time\nfor line in sys.stdin: print(time.time(), time.monotonic(), flush=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
            **os.environ, "LD_PRELOAD": program("tests/chaos/clock_shim.so"), "IDEM_CLOCK_FILE": str(clock)}) as process:
        def ask():
            process.stdin.write("\n")
            process.stdin.flush()
            return [float(word) for word in process.stdout.readline().split()]
        wall, monotonic = ask()
        assert abs(wall - time.time()) < 10
        with open(clock, "r+b") as file:
            file.write(struct.pack("q", -3600500))
        stepped = ask()
        assert -3601 < stepped[0] - wall < -3590 and 0 <= stepped[1] - monotonic < 10
        process.stdin.close()


@pytest.fixture
def link():
    """A proxy in front of a server that answers with what it hears."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                one = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=echo, args=(one,), daemon=True).start()

    def echo(one):
        with one:
            while data := one.recv(1000):
                one.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    proxy = Proxy(listener.getsockname())
    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.settimeout(20)
        yield proxy, client
    proxy.close()
    listener.close()


def read_to_end(client):
    heard = b""
    while data := client.recv(1000):
        heard += data
    return heard


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_connection_is_cut_right_behind_the_nth_byte(link, side):
    proxy, client = link
    proxy.cut_after(side, 7)
    client.sendall(b"0123456789")
    assert read_to_end(client) == (b"0123456" if side == "server" else b"") and proxy.cuts == 1


def test_a_black_hole_holds_what_is_sent_and_delivers_it_after(link):
    proxy, client = link
    proxy.hold()
    client.sendall(b"late")
    client.settimeout(0.3)
    with pytest.raises(TimeoutError):
        client.recv(10)
    client.settimeout(20)
    proxy.hold(False)
    assert client.recv(10) == b"late"


def test_a_slow_link_delays_both_ways(link):
    proxy, client = link
    proxy.slow(0.1)
    began = time.monotonic()
    client.sendall(b"x")
    assert client.recv(10) == b"x" and time.monotonic() - began >= 0.2


# the verdict: what it must not let through -----------------------------------------------------------------------------

@pytest.fixture
def ended(bench, tmp_path):
    """A database as a run leaves it in which all is well: (database, ledger, the records)."""
    database = bench.database
    database.run(ledgers.PREPARE)
    ledger, mix = ledgers.Ledger(str(tmp_path), "chaos"), mixes.Mix(3, int(time.time() * 1000))
    records = [mix.next() for _ in range(4000)]
    for record in records:
        ledger.sent(record)
        if record.answer != "effect" and not record.is_copy:
            ledger.dead(record.number, ledger.consumers[record.pipeline], record.answer, "t/0/0")
    ledger.moved(mix.elsewhere)
    ledger.load(database)
    database.run("INSERT INTO processed_event_other (event_id, consumer_group, content_hash)"
                 " SELECT event_id, consumer, 0 FROM expected WHERE answer = 'effect'")
    database.run("INSERT INTO effect (consumer, event_id, key, seq, pid, at) SELECT consumer, event_id, key, number, 1,"
                 " now() + number * interval '1 ms' FROM expected WHERE answer = 'effect'")
    database.run("UPDATE balance SET amount = -(SELECT count(*) FROM expected e WHERE e.key = balance.key AND e.deed = 'read')")
    return database, ledger


# An event with many behind it in its lane, a partition.
ONE = "(SELECT event_id FROM expected WHERE answer = 'effect' AND lane LIKE 'p1 %' AND number NOT IN (SELECT number FROM moved) ORDER BY number LIMIT 1)"


@pytest.mark.parametrize("name,mistake", [
    (None, "SELECT 1"),
    ("lost_effects", f"DELETE FROM effect WHERE event_id = {ONE}"),
    ("claims", f"DELETE FROM effect WHERE event_id = {ONE}"),
    ("claims", f"DELETE FROM processed_event_other WHERE event_id = {ONE}"),
    ("lost_dead_letters", "DELETE FROM dead WHERE number = (SELECT min(number) FROM dead)"),
    ("doubled_effects", f"INSERT INTO effect SELECT * FROM effect WHERE event_id = {ONE}"),
    ("two_places", f"INSERT INTO dead SELECT number, consumer, 'rejected', 't/0/0' FROM expected WHERE event_id = {ONE}"),
    ("wrong_reason", "UPDATE dead SET reason = 'process_crash' WHERE number = (SELECT min(number) FROM dead)"),
    ("unknown_effects", "INSERT INTO effect SELECT consumer, gen_random_uuid(), key, number, 1, now() FROM expected LIMIT 1"),
    ("order", f"UPDATE effect SET at = at + interval '1 hour' WHERE event_id = {ONE}"),
    ("balances", "UPDATE balance SET amount = amount + 1 WHERE key = (SELECT min(key) FROM balance)"),
    ("parked", "INSERT INTO parked_key VALUES ('chaos-parked', 'key:x', now(), 1, 't', 0)"),
    ("attempts", "INSERT INTO event_attempt (consumer_group, event_id, round, attempt, route, reason)"
                 f" SELECT consumer, event_id::text, 0, 1, 'dead', 'rejected' FROM expected WHERE event_id = {ONE}")])
def test_the_verdict_sees(ended, name, mistake):
    database, ledger = ended
    database.run(mistake)
    found = ledger.judge(database)
    assert (name in found) if name else not found, found
    assert ledger.doubled(database) == (1 if name in ("doubled_effects", "two_places") else 0)


@pytest.fixture
def watched(bench, tmp_path):
    """Three events in a topic of which nothing became anything, and who watches."""
    case = bench.case(mixes.PARTITIONS, "chaos-lanes")
    ledger = ledgers.Ledger(str(tmp_path), "chaos")
    for number, one in enumerate(case.produce([event(partition=0) for _ in range(3)])):
        ledger.placed(0, *one.copies[0][1:], number)
    watch = Watch(bench, [case], ledger)
    return case, watch


def test_the_watch_sees_an_offset_ahead_of_what_is_finished_and_one_that_goes_back(watched):
    case, watch = watched
    case.group.commit(case.topics[0], {0: 2})
    assert watch.look() and "2 events unfinished" in watch.mistakes[0]
    case.group.commit(case.topics[0], {0: 1})
    assert watch.look() and "went back from 2 to 1" in watch.mistakes[1]


# runs ------------------------------------------------------------------------------------------------------------------

def check_run(done, at_least):
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    faults, lost, doubled = map(int, LAST.match(done.stdout.splitlines()[-1]).groups())
    assert lost == doubled == 0 and faults >= at_least, done.stdout[-6000:]


def test_a_short_run_with_every_kind_of_fault_loses_and_doubles_nothing():
    """The promise under fire: doc/testing.md."""
    check_run(chaos("--seed", "1", "--minutes", "0.75"), at_least=15)


def test_commits_cut_again_and_again_lose_nothing():
    """With the mutant that guesses their outcome this is red: the harness sees a loss."""
    check_run(chaos("--seed", "7", "--minutes", "0.3", "--faults", "pg_cut_commit", "--hosts", "1"), at_least=2)
