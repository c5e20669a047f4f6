"""The field of a run: a broker and a PostgreSQL of its own, hosts whose every connection goes through a proxy of their own."""
import contextlib
import os
import signal
import struct
import threading

from idem import servers, wait
from idem.bench import Bench, make_template
from idem.broker import Broker
from idem.database import Postgres
from idem.host import Host
from idem.proxy import Proxies

from mix import PARTITIONS, PIPELINES

KAFKA = "\n".join(("log.segment.bytes=33554432", "log.cleaner.threads=1"))  # small ones, so that an unclean start reads little
POSTGRES = "\n".join(("max_wal_size = 256MB", "checkpoint_timeout = 30s", "shared_buffers = 256MB", "max_locks_per_transaction = 128"))
UNAVAILABLE = 69  # exit status: a server could not be had at the start


class Clock:
    """The offset of one host's wall clock, read by clock_shim.so."""

    def __init__(self, file):
        self.file = file
        self.step(0)

    def step(self, offset_ms):
        with open(self.file, "r+b" if os.path.exists(self.file) else "wb") as out:
            out.write(struct.pack("q", offset_ms))


class Site:
    """A host with its links and its clock."""

    def __init__(self, field, index):
        self.field, self.index = field, index
        self.pg, self.kafka = field.pg_links[index], field.kafka_links[index]
        folder = os.path.join(field.folder, f"host{index + 1}")
        os.makedirs(folder, exist_ok=True)
        self.clock = Clock(os.path.join(folder, "clock"))
        self.batch_max, self.wanted, self.lock = 500, False, threading.Lock()
        self.host = Host(folder, self.settings(), environment={
            "LD_PRELOAD": servers.program("tests/chaos/clock_shim.so"), "IDEM_CLOCK_FILE": self.clock.file})
        field.bench.hosts.append(self.host)

    def settings(self):
        bench = self.field.bench
        return {
            "database": {"conninfo": bench.postgres.conninfo(bench.database.name, port=self.pg.state()[0])},
            "kafka": {"bootstrap_servers": f"127.0.0.1:{self.kafka.state()[0]}"},
            "pipelines": [bench.pipeline(case, pipeline.plugin, ordering=pipeline.ordering, retry=pipeline.retry,
                                         batch={"max": self.batch_max if number == 0 else 500})
                          for number, (case, pipeline) in enumerate(zip(self.field.cases, PIPELINES))],
        }

    def child(self, pipeline):
        """The process of that pipeline, or None."""
        name = self.field.cases[pipeline].consumer
        for pid in self.host.children() if self.host.is_running() else []:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                if name.encode() in file.read().split(b"\0"):
                    return pid
        return None

    def up(self):
        """It shall run from now on; see Keeper."""
        with self.lock:
            self.host.start(ready=False)
            self.wanted = True

    def down(self):
        """It may end from now on."""
        with self.lock:
            self.wanted = False

    def stop(self):
        """SIGTERM; the status."""
        self.field.count(self)
        return self.host.stop()


class Keeper(threading.Thread):
    """Does what a service manager does: a host that could not have its servers at the start (status 69) is started again.  Any
    other end that nobody asked for is a mistake."""

    def __init__(self, sites):
        super().__init__(daemon=True)
        self.sites, self.mistakes, self.restarts = sites, [], 0
        self._end = threading.Event()

    def run(self):
        while not self._end.wait(0.3):
            for site in self.sites:
                with site.lock:
                    if site.wanted and not site.host.is_running():
                        self._start_again(site)

    def _start_again(self, site):
        status = site.host.process.returncode
        if status != UNAVAILABLE:
            self.mistakes.append(f"host {site.index + 1} ended by itself with status {status}\n{site.host.log_tail(10)}")
        self.restarts += 1
        site.host.start(ready=False)

    def stop(self):
        self._end.set()
        self.join()


class Field:
    def __init__(self, folder, hosts):
        self.folder = folder
        self.consumed = self.duplicates = 0  # as counted by hosts that are gone, read right before
        self.proxies = Proxies()
        self.proxies.start(signal.signal, (signal.SIGINT, signal.SIG_IGN))
        self.kafka_links = [self.proxies.Proxy() for _ in range(hosts + 1)]
        self.pg_links = [self.proxies.Proxy() for _ in range(hosts + 1)]
        self.broker_server = servers.Server("with_kafka.sh", "KAFKA_BOOTSTRAP", own=True, environment={
            "KAFKA_SERVER_PROPERTIES": KAFKA, "KAFKA_ADVERTISED": " ".join(str(link.state()[0]) for link in self.kafka_links)})
        self.pg_server = servers.Server("with_postgres.sh", "PGPORT", own=True, environment={"POSTGRES_CONF": POSTGRES})
        for link, port in zip(self.kafka_links, self.broker_server.settings["KAFKA_PROXIED"].split(",")):
            link.aim(("127.0.0.1", int(port)))
        self._prepare(hosts)

    def _prepare(self, hosts):
        broker, postgres = Broker(self.broker_server.settings["KAFKA_BOOTSTRAP"]), Postgres(self.pg_server.settings)
        for link in self.pg_links:
            link.aim((postgres.host, postgres.port))
        self.bench = Bench(broker, postgres, make_template(postgres, self.folder), self.folder, "chaos")
        self.cases = [self.bench.case(PARTITIONS, f"chaos-{pipeline.name}") for pipeline in PIPELINES]
        self.sites = [Site(self, index) for index in range(hosts + 1)]  # the last one only joins and leaves

    def count(self, site):
        """Adds up what a host counted before it goes."""
        metrics = site.host.metrics() if site.host.is_running() else {}
        self.consumed += int(metrics.get("records_consumed", 0))
        self.duplicates += int(metrics.get("events_duplicate", 0))

    def start(self):
        for site in self.sites[:-1]:
            site.up()
        for site in self.sites[:-1]:
            site.host.wait_ready()

    def heal(self):
        """No link is broken any more."""
        for link in self.pg_links + self.kafka_links:
            link.disarm()
            link.slow()
            link.refuse(False)
            link.hold(False)

    def wait_drained(self, timeout=300):
        def lag():
            return sum(case.lag() for case in self.cases)
        database = self.bench.database.steady()

        def parked():
            return database.one("SELECT count(*) FROM parked_event")
        wait.until(lambda: lag() == 0 and parked() == 0,
                   lambda: f"every topic to be read to its end, lag {[case.lag() for case in self.cases]}, {parked()} parked\n" +
                   "\n".join(site.host.log_tail(15) for site in self.sites), timeout / wait.PATIENCE, every=0.5)

    def close(self):
        for site in self.sites:
            site.down()
        self.heal()
        self.bench.close()
        self.pg_server.stop()
        self.broker_server.stop()
        self.proxies.shutdown()

