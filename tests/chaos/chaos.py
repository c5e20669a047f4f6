#!/usr/bin/python3
"""Faults over several hosts in one group, and a workload whose answers are known: nothing lost, nothing twice.

The schedule is printed first; it is a function of the seed (and of minutes, faults, hosts), so a run that failed is done again
with the same arguments.  The run has a broker and a PostgreSQL of its own.  The last line is
`chaos seed=… events=… faults=… redelivered=… lost=… doubled=…`; the status is 0 only if nothing was lost or doubled and no
invariant was broken, 1 if something was, 64 for wrong arguments."""
import argparse
import collections
import os
import shutil
import signal
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e")]

import mix  # noqa: E402: the path is set above
import schedule  # noqa: E402

RATE = 1400  # events a second, unless --events says how many


def arguments():
    kinds = "\n".join(f"  {kind.name:<21} {kind.what}" for kind in schedule.KINDS.values())
    parser = argparse.ArgumentParser(prog="./dev chaos", description=__doc__, epilog=f"faults:\n{kinds}\n",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="what the schedule and the events are drawn from (1)")
    parser.add_argument("--minutes", type=float, default=1, metavar="M", help="how long events are produced and faults strike (1)")
    parser.add_argument("--events", type=int, metavar="N", help=f"how many events (default: {RATE} a second)")
    parser.add_argument("--faults", default="all", metavar="LIST", help="kinds, with commas between, or all, or none (all)")
    parser.add_argument("--hosts", type=int, default=3, metavar="N", help="hosts in the group, beside the one that joins and leaves (3)")
    parser.add_argument("--schedule", action="store_true", help="print the schedule and do nothing")
    parser.add_argument("--report", metavar="FILE", help="also write the report there")
    parser.add_argument("--keep", action="store_true", help="leave the logs in their folder; a run that failed always does")
    given = parser.parse_args()
    try:
        given.kinds = schedule.parse_kinds(given.faults)
        if given.minutes <= 0 or given.hosts < 1 or (given.events is not None and given.events < 1):
            raise ValueError("minutes, hosts and events are at least 1 (minutes may be a fraction)")
    except ValueError as mistake:
        print(f"chaos: {mistake}", file=sys.stderr)
        sys.exit(64)
    given.events = given.events or max(int(given.minutes * 60 * RATE), 1)
    return given


class Run:
    def __init__(self, given, faults, folder):
        from faults import Strikes  # noqa: PLC0415: --help and --schedule need no broker's library
        from feeder import Feeder  # noqa: PLC0415
        from field import Field, Keeper  # noqa: PLC0415
        from ledger import PREPARE, Ledger  # noqa: PLC0415
        from watch import Watch  # noqa: PLC0415
        self.given, self.faults, self.folder = given, faults, folder
        self.broken, self.strikes = [], None
        self.field = Field(folder, given.hosts)
        self.field.bench.database.run(PREPARE)
        self.ledger = Ledger(folder, "chaos")
        self.feeder = Feeder(self.field, mix.Mix(given.seed, int(time.time() * 1000) - 60000), self.ledger, given, self.faults_left)
        self.watch = Watch(self.field.bench, self.field.cases, self.ledger, self.say)
        self.strikes = Strikes(self.field, self.watch, self.say, given.minutes * 30 / max(len(faults), 1))
        self.keeper = Keeper(self.field.sites)
        self.found, self.began, self.took = {}, time.monotonic(), 0

    def say(self, text):
        sys.stdout.write(f"{time.monotonic() - self.began:8.1f} s  {text}\n")
        sys.stdout.flush()

    def faults_left(self):
        return len(self.faults) - (len(self.strikes.outcomes) if self.strikes else 0)

    def go(self):
        self.field.start()
        self.began = time.monotonic()
        for thread in (self.watch, self.keeper, self.feeder):
            thread.start()
        self.strike()
        self.feeder.join()
        self.say("every event was produced and every fault is over: waiting for the end of the topics")
        self.settle()
        self.took = time.monotonic() - self.began
        self.judge()

    def strike(self):
        threads = []
        for fault in self.faults:
            threading.Event().wait(max(0, self.began + fault.at - time.monotonic()))
            threads.append(threading.Thread(target=self.strikes.run, args=(fault,), daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join()

    def settle(self):
        """Everything works again: the topics are read to their end, the hosts are ready, and stop when they are told."""
        self.field.heal()
        try:
            self.field.wait_drained()
            for site in self.field.sites[:-1]:
                site.host.wait_ready()
        except AssertionError as problem:
            self.broken.append(f"stuck: {problem}")
        self.keeper.stop()
        self.watch.stop()
        if not self.watch.mistakes and not self.watch.look(to_end=True):
            self.broken.append("the last sample could not be taken")
        for site in self.field.sites[:-1]:
            site.down()
            status = site.stop()
            if status:
                self.broken.append(f"host {site.index + 1} ended with status {status} on SIGTERM")

    def judge(self):
        from ledger import Ledger  # noqa: PLC0415
        database = self.field.bench.database.steady()
        self.ledger.load(database)
        self.found = Ledger.judge(database)
        self.dead_again, self.doubled = Ledger.dead_letters_again(database), Ledger.doubled(database)
        self.effects = database.one("SELECT count(*) FROM effect")
        self.broken += self.watch.mistakes + self.strikes.mistakes + self.keeper.mistakes
        self.broken += [f"the feeder: {self.feeder.problem}"] if self.feeder.problem else []
        self.broken += progress_behind(database, self.watch, self.field.cases)
        database.close()

    @property
    def lost(self):
        return sum(self.found.get(name, (0,))[0] for name in ("lost_effects", "lost_dead_letters"))

    @property
    def redelivered(self):
        """Records that the hosts took more than once, as they counted it; what a host counted in its last moment before a kill is
        not known, so it is a lower bound."""
        return max(self.field.consumed - self.ledger.sent_count - self.watch.tail.retry_records, 0)

    def counted(self):
        return [outcome for outcome in self.strikes.outcomes if outcome.counts]

    @property
    def good(self):
        return not self.found and not self.broken

    def last_line(self):
        return (f"chaos seed={self.given.seed} events={self.ledger.sent_count - self.ledger.copies} faults={len(self.counted())} "
                f"redelivered={self.redelivered} lost={self.lost} doubled={self.doubled}")


def progress_behind(database, watch, cases):
    """What was committed to Kafka was written to partition_state before (ENGINE 5)."""
    rows = {(topic, partition): offset for topic, partition, offset in
            database.run("SELECT topic, partition, next_offset FROM partition_state")}
    return [f"{cases[pipeline].topics[0]}[{partition}]: {offset} was committed, partition_state says"
            f" {rows.get((cases[pipeline].topics[0], partition))}"
            for (pipeline, partition), offset in watch.high.items()
            if rows.get((cases[pipeline].topics[0], partition), -1) < offset]


def _row(name, *cells):
    return f"{name:<22}" + "".join(f"{cell:>10}" for cell in cells)


def _longest(watch, kind=None):
    mine = [one for one in watch.recovered + watch.recovering if kind in (None, one.fault.kind)]
    return [f"{max((getattr(one, what) or 0 for one in mine), default=0):.1f}" for what in ("next_effect", "all_finished")]


def report(run):
    """What the run was like, as text."""
    ledger, watch, given = run.ledger, run.watch, run.given
    counts = collections.Counter(outcome.fault.kind for outcome in run.counted())
    missed = collections.Counter(outcome.fault.kind for outcome in run.strikes.outcomes if not outcome.counts)
    lines = [f"./dev chaos --seed {given.seed} --minutes {given.minutes:g} --events {given.events} --faults {given.faults} --hosts {given.hosts}",
             "",
             f"{ledger.sent_count} records ({ledger.sent_count - ledger.copies} events, {ledger.copies} copies) in {run.took:.0f} s over"
             f" {given.hosts} hosts with {len(run.field.cases)} pipelines each",
             f"{run.effects} effects, {ledger.dead_count} dead letters ({run.dead_again} written again after a kill),"
             f" {watch.tail.retry_records} retry records",
             f"{run.field.consumed} records consumed: {run.redelivered} redelivered at least; {run.field.duplicates} duplicates recognised",
             f"{watch.samples} samples of the offsets, {watch.unsure} put off because a server was away",
             f"{run.keeper.restarts} starts repeated and {run.strikes.cut_short} stops cut short because a server was away", "",
             "Longest: the most seconds from a fault until every pipeline had committed an effect of an event produced after it (fresh), and",
             "until every record produced before it was finished (all).", "",
             _row("fault", "in flight", "without", "fresh, s", "all, s")]
    lines += [_row(kind, counts[kind], missed[kind], *_longest(watch, kind)) for kind in given.kinds]
    lines += [_row("all", sum(counts.values()), sum(missed.values()), *_longest(watch)), ""]
    for name, (count, examples, meaning) in run.found.items():
        lines += [f"BROKEN {name}: {count} times {meaning}", *(f"    {example}" for example in examples)]
    lines += [f"BROKEN {text}" for text in run.broken]
    return "\n".join([*lines, "no invariant is broken" if run.good else f"the logs are in {run.folder}", ""])


def main():
    given = arguments()
    faults = schedule.make(given.seed, given.minutes, given.kinds, given.hosts, len(mix.PIPELINES))
    print(f"schedule of seed {given.seed}: {len(faults)} faults in {given.minutes:g} minutes")
    print("\n".join(map(str, faults)), flush=True)
    if given.schedule:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended then, too
    folder = tempfile.mkdtemp(prefix="idem-chaos.")
    run = Run(given, faults, folder)
    try:
        run.go()
    finally:
        run.field.close()
    text = report(run)
    if given.report:
        with open(given.report, "w", encoding="utf-8") as file:
            file.write(f"{text}\n{run.last_line()}\n")
    if run.good and not given.keep:
        shutil.rmtree(folder)
    print(f"\n{text}\n{run.last_line()}")
    return 0 if run.good else 1


if __name__ == "__main__":
    sys.exit(main())
