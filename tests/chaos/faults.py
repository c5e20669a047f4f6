"""How each kind of fault strikes, and how it is undone."""
import contextlib
import dataclasses
import os
import signal
import threading
import time
import traceback

import psycopg2
from idem import wait

from schedule import KINDS

WORK_SECONDS = 120   # how long a fault waits for events in flight at its target and for its turn
FIRE_SECONDS = 30    # how long what is armed for a byte waits for it
DIED = 70            # exit status: a pipeline did not stop cleanly
OPEN = """SELECT application_name FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND application_name LIKE %s
    AND (%s::int[] IS NULL OR client_port = ANY(%s))"""


@dataclasses.dataclass
class Outcome:
    """in_flight: transactions with events in them, open at the target right before the strike; fired: it did strike."""
    fault: object
    in_flight: int = 0
    fired: bool = True
    at: float = 0.0

    @property
    def counts(self):
        return self.fired and self.in_flight > 0


class Strikes:
    """run() may be called from many threads; of two faults on one resource the second waits.  gap: seconds from one strike to the
    next at least, so that those that waited for work through an outage do not make the next one together."""

    def __init__(self, field, watch, say, gap):
        self.field, self.watch, self.say, self.gap = field, watch, say, gap
        self._next_turn = 0.0
        self.outcomes, self.mistakes = [], []
        self.cut_short = 0
        self.locks = {}
        self._lock = threading.Lock()

    def run(self, fault):
        with self._lock:
            lock = self.locks.setdefault(fault.resource, threading.Lock())
        with lock:
            outcome = Outcome(fault)
            try:
                self._strike(fault, outcome)
            except Exception:  # noqa: BLE001: the verdict tells it
                outcome.fired = False
                self.mistakes.append(f"fault {fault.number} {fault.kind}: {traceback.format_exc(limit=3)}")
            with self._lock:
                self.outcomes.append(outcome)

    def _strike(self, fault, outcome):
        outcome.in_flight = self._wait_for_work(fault)
        outcome.at = time.time()
        with contextlib.contextmanager(getattr(self, fault.kind))(fault, outcome):
            if outcome.fired:
                self.watch.struck(outcome)
            self.say(f"struck: {str(fault)[12:]}, {outcome.in_flight} transactions open" + ("" if outcome.fired else ", never fired"))
            threading.Event().wait(fault.seconds)

    # events in flight ------------------------------------------------------------------------------------------------

    def _wait_for_work(self, fault):
        """How many transactions of the target hold events, looked at until there are some and it is this fault's turn; 0: there
        were none for long."""
        target = KINDS[fault.kind].target
        site = self.field.sites[fault.host] if target in ("child", "host", "link") else None
        consumer = self.field.cases[fault.pipeline].consumer if target == "child" else "%"
        database = self.field.bench.database.steady()
        began, found = time.monotonic(), 0
        while not found and time.monotonic() - began < WORK_SECONDS:
            with contextlib.suppress(psycopg2.Error):
                ports = site.pg.state()[2] if site else None
                found = len(database.run(OPEN, f"idem {consumer} worker%", ports, ports)) if self._is_turn() else 0
            if found and not self._take_turn():
                found = 0
            if not found:
                time.sleep(0.002)
        database.close()
        return found

    def _is_turn(self):
        return time.monotonic() >= self._next_turn

    def _take_turn(self):
        with self._lock:
            if not self._is_turn():
                return False
            self._next_turn = time.monotonic() + self.gap
            return True

    # processes -------------------------------------------------------------------------------------------------------

    def _child(self, fault):
        site = self.field.sites[fault.host]
        return wait.until(lambda: site.child(fault.pipeline), "a child of the pipeline", 20)

    def kill_child(self, fault, outcome):
        os.kill(self._child(fault), signal.SIGKILL)
        yield

    def stop_child(self, fault, outcome):
        pid = self._child(fault)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def kill_host(self, fault, outcome):
        site = self.field.sites[fault.host]
        self.field.count(site)
        site.down()
        site.host.kill_group()
        yield
        site.up()

    def stop_host(self, fault, outcome):
        group = self.field.sites[fault.host].host.process.pid
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGCONT)

    def host_leave(self, fault, outcome):
        site = self.field.sites[fault.host]
        self._leave(site)
        yield
        site.up()

    def host_join(self, fault, outcome):
        self.field.sites[-1].up()
        yield
        self._leave(self.field.sites[-1])

    def _leave(self, site):
        site.down()
        was_there, overruns = site.host.is_running(), len(site.host.logged("drain_overrun"))
        status = site.stop()
        if status == DIED and len(site.host.logged("drain_overrun")) > overruns:
            self.cut_short += 1  # the broker was away for all of drain_max: what was begun comes again
        elif was_there and status:
            self.mistakes.append(f"host {site.index + 1} ended with status {status} on SIGTERM\n{site.host.log_tail(10)}")

    def reload(self, fault, outcome):
        site = self.field.sites[fault.host]
        before = site.host.metrics()
        site.batch_max = fault.amount + (50 if site.batch_max == fault.amount else 0)
        site.host.configure(site.settings())
        site.host.signal(signal.SIGHUP)
        process = site.host.process

        def is_taken():
            now = site.host.metrics()
            return process.poll() is not None or any(now.get(name, 0) > before.get(name, 0) for name in ("reloads", "reload_failures"))
        wait.until(is_taken, "the new configuration to be taken over or refused", 20)
        if site.host.metrics().get("reload_failures", 0) > before.get("reload_failures", 0):
            self.mistakes.append(f"host {site.index + 1} refused a right configuration\n{site.host.log_tail(10)}")
        yield

    def clock_step(self, fault, outcome):
        self.field.sites[fault.host].clock.step(fault.amount)
        yield

    # PostgreSQL and the broker ---------------------------------------------------------------------------------------

    def pg_terminate(self, fault, outcome):
        database = self.field.bench.database.steady()

        def is_done():
            with contextlib.suppress(psycopg2.Error):  # it may be restarting
                ports = self.field.sites[fault.host].pg.state()[2]
                return database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_port = ANY(%s)", ports)
            return False
        wait.until(is_done, "backends to terminate", 60)
        outcome.at = time.time()
        database.close()
        yield

    def pg_restart_fast(self, fault, outcome):
        yield from self._restart(self.field.pg_server, signal.SIGINT)

    def pg_restart_immediate(self, fault, outcome):
        yield from self._restart(self.field.pg_server, signal.SIGQUIT)

    def broker_restart(self, fault, outcome):
        yield from self._restart(self.field.broker_server, signal.SIGTERM)

    def broker_kill(self, fault, outcome):
        yield from self._restart(self.field.broker_server, signal.SIGKILL)

    @staticmethod
    def _restart(server, number):
        server.end(number)
        try:
            yield
        finally:
            server.up()

    # the network -----------------------------------------------------------------------------------------------------

    def pg_cut(self, fault, outcome):
        yield from self._cut(self.field.sites[fault.host].pg)

    def kafka_cut(self, fault, outcome):
        yield from self._cut(self.field.sites[fault.host].kafka)

    @staticmethod
    def _cut(link):
        link.refuse(True)
        link.cut()
        yield
        link.refuse(False)

    def pg_delay(self, fault, outcome):
        yield from self._slow(self.field.sites[fault.host].pg, fault)

    def kafka_delay(self, fault, outcome):
        yield from self._slow(self.field.sites[fault.host].kafka, fault)

    @staticmethod
    def _slow(link, fault):
        link.slow(fault.amount / 1000)
        yield
        link.slow()

    def pg_black_hole(self, fault, outcome):
        yield from self._hold(self.field.sites[fault.host].pg, fault)

    def kafka_black_hole(self, fault, outcome):
        yield from self._hold(self.field.sites[fault.host].kafka, fault)

    @staticmethod
    def _hold(link, fault):
        link.hold(True)
        yield
        if fault.amount:
            link.cut()
        link.hold(False)

    def pg_cut_bytes(self, fault, outcome):
        link = self.field.sites[fault.host].pg
        yield from self._armed(link, outcome, lambda: link.cut_after(fault.side, fault.amount))

    def kafka_cut_bytes(self, fault, outcome):
        link = self.field.sites[fault.host].kafka
        yield from self._armed(link, outcome, lambda: link.cut_after(fault.side, fault.amount))

    def pg_cut_commit(self, fault, outcome):
        link = self.field.sites[fault.host].pg
        side, forward = (("client", False), ("client", True), ("server", False))[fault.amount]
        yield from self._armed(link, outcome, lambda: link.cut_when(side, b"COMMIT\0", forward))

    @staticmethod
    def _armed(link, outcome, arm):
        """Struck is when it fires; what never passed so many bytes was no fault."""
        before = link.state()[1]
        deadline = time.monotonic() + FIRE_SECONDS
        arm()
        while link.state()[1] == before and time.monotonic() < deadline:
            time.sleep(0.01)
        link.disarm()
        outcome.fired = link.state()[1] > before
        outcome.at = time.time()
        yield
