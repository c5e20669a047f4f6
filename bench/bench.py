#!/usr/bin/python3
"""idem, the plain-SQL limit and kafkajs consumers on the same work, side by side and in turn, as ratios.

Run by ./dev bench, which starts a broker and a PostgreSQL (with fsync) and sets KAFKA_BOOTSTRAP, PG… and IDEM_BUILD.
Work: per event one claim of the id and, if it is new, orders.paid_amount += totalAmount.  The ledger (rows and sum) is checked
after every run; a run whose ledger is wrong ends the bench.
"""
import argparse
import json
import os
import platform
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

BUILD = os.environ["IDEM_BUILD"]
BOOTSTRAP = os.environ["KAFKA_BOOTSTRAP"]
HERE = os.path.dirname(os.path.abspath(__file__))
PARTITIONS = 6
ORDERS = 10_000
LIMIT_EVENTS = 500  # per transaction, as batch.max


def say(text):
    print(f"==> {text}", flush=True)


def psql(database, *commands):
    arguments = [argument for command in commands for argument in ("-c", command)]
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: psql: {done.stderr.strip()}")
    return done.stdout.strip()


# ---- the work ----

def make_workload(path, unique, seed=7, duplicates=0.1):
    """KEY<tab>JSON lines of `unique` events, a tenth of them sent again within 2,000; what the ledger must show."""
    rnd = random.Random(seed)
    start = int(time.time() * 1000) - 60_000
    recent, lines, total = [], [], 0
    for number in range(unique):
        raw = bytearray((start + number // 100).to_bytes(6, "big") + rnd.getrandbits(80).to_bytes(10, "big"))
        raw[6] = raw[6] & 15 | 0x70
        raw[8] = raw[8] & 63 | 0x80
        order, cents = rnd.randint(1, ORDERS), rnd.randint(100, 99_999)
        body = {"eventId": str(uuid.UUID(bytes=bytes(raw))), "eventType": "order.confirmed.v1", "occurredAt": "2026-11-30T21:00:00.000Z",
                "aggregateType": "Order", "orderId": order, "customerId": rnd.randint(1, 5000), "totalAmount": cents, "currency": "EUR", "note": "x" * 60}
        line = f"{order}\t{json.dumps(body, separators=(',', ':'))}\n"
        lines.append(line)
        total += cents
        recent.append(line)
        if len(recent) > 2000:
            recent.pop(0)
        if rnd.random() < duplicates:
            lines.append(rnd.choice(recent))
    with open(path, "w") as file:
        file.writelines(lines)
    return {"unique": unique, "messages": len(lines), "sum": total}


def load_topic(topic, path):
    subprocess.run([f"{BUILD}/tests/tools/topics", "create", f"{topic}:{PARTITIONS}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["kcat", "-P", "-b", BOOTSTRAP, "-t", topic, "-K", "\t", "-X", "partitioner=murmur2_random", "-l", path], check=True)


def fresh_database(name):
    psql("postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
    psql(name, "CREATE TABLE orders(id bigint PRIMARY KEY, paid_amount bigint NOT NULL DEFAULT 0, status text NOT NULL DEFAULT 'NEW') WITH (fillfactor=70)",
         f"INSERT INTO orders(id) SELECT generate_series(1, {ORDERS})",
         "CREATE TABLE processed_event_peer(event_id uuid, consumer_group text, processed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (event_id, consumer_group))",
         "VACUUM ANALYZE orders", "CHECKPOINT")


def check_ledger(name, table, expected):
    found = psql(name, f"SELECT (SELECT count(*) FROM {table}), (SELECT sum(paid_amount) FROM orders)")
    if found != f"{expected['unique']}|{expected['sum']}":
        sys.exit(f"bench: the ledger of {name} is wrong: {found}, expected {expected['unique']}|{expected['sum']}")


# ---- the contestants: each returns {"rate": events/s, "rss_mb": …} ----

class Idem:
    def __init__(self, label, plugin, workers, ordering="partition"):
        self.label, self.plugin, self.workers, self.ordering = label, plugin, workers, ordering

    def run(self, topic, expected):
        database = "bench_idem"
        fresh_database(database)
        folder = tempfile.mkdtemp(prefix="idem-bench.")
        try:
            config, port = self.write_config(folder, topic, database)
            subprocess.run([f"{BUILD}/idemctl", "-c", config, "schema", "apply"], check=True, stdout=subprocess.DEVNULL)
            with open(f"{folder}/log", "w") as log:
                host = subprocess.Popen([f"{BUILD}/idemd", "-c", config], stderr=log)
                try:
                    result = self.measure(port, expected, host)
                finally:
                    host.send_signal(signal.SIGTERM)
                    host.wait(60)
            check_ledger(database, "processed_event", expected)
            return result
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write_config(self, folder, topic, database):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        os.mkdir(f"{folder}/state")
        with open(f"{folder}/idem.conf", "w") as file:
            file.write(f"""state_dir = "{folder}/state"; log_level = "warning";
database = {{ conninfo = "host={os.environ['PGHOST']} port={os.environ['PGPORT']} user={os.environ['PGUSER']} dbname={database}"; }};
kafka = {{ bootstrap_servers = "{BOOTSTRAP}"; }};
admin = {{ listen = "127.0.0.1:{port}"; }};
pipelines = ({{ name = "bench-{uuid.uuid4().hex[:12]}"; topics = ["{topic}"]; plugin = {{ file = "{BUILD}/plugins/{self.plugin}/{self.plugin}.so"; }};
  ordering = "{self.ordering}"; workers = {self.workers}; }});
""")
        return f"{folder}/idem.conf", port

    def measure(self, port, expected, host):
        """From the assignment to the last record's end, looked at every 10 ms."""
        started, end = None, time.monotonic() + 300
        while time.monotonic() < end and host.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/status", timeout=5) as answer:
                    now = json.load(answer)["pipelines"][0]
            except OSError:
                continue
            if started is None and (now["partitions"] or now["counters"]["consumed"]):
                started = time.monotonic()
            if now["counters"]["processed"] + now["counters"]["duplicates"] >= expected["messages"]:
                seconds = time.monotonic() - started
                return {"rate": expected["messages"] / seconds, "rss_mb": rss_mb(now["pid"])}
            time.sleep(0.01)
        sys.exit(f"bench: {self.label} did not finish")


def rss_mb(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0


class Kafkajs:
    def __init__(self, label, variant, most=None):
        self.label, self.variant, self.most = label, variant, most

    def run(self, topic, expected):
        database = "bench_peer"
        fresh_database(database)
        total = min(expected["messages"], self.most or expected["messages"])
        group = f"bench-{uuid.uuid4().hex[:12]}"
        done = subprocess.run(["/usr/bin/time", "-f", "%M", "node", "consumer.js", self.variant, BOOTSTRAP, topic, group, str(total)],
                              cwd=f"{HERE}/peers", env={**os.environ, "PGDATABASE": database}, capture_output=True, text=True, timeout=600)
        if done.returncode or not done.stdout.strip():
            sys.exit(f"bench: {self.label}: {done.stderr[-500:]}")
        if not self.most:
            check_ledger(database, "processed_event_peer", expected)
        result = json.loads(done.stdout.strip().splitlines()[-1])
        return {"rate": result["messages"] / result["seconds"], "rss_mb": int(done.stderr.split()[-1]) / 1024}


class Limit:
    """What PostgreSQL does with the same statements and nobody in front: bench/limit.sql by pgbench."""

    def __init__(self, label, workers, seconds=10):
        self.label, self.workers, self.seconds = label, workers, seconds

    def run(self, topic, expected):
        fresh_database("bench_limit")
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(limit_script())
            script.flush()
            done = subprocess.run(["pgbench", "-n", "-M", "prepared", "-c", str(self.workers), "-j", "2", "-T", str(self.seconds), "-f", script.name, "bench_limit"],
                                  capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"bench: pgbench: {done.stderr.strip()}")
        rate = next(float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("tps"))
        # A tenth of the events of the workload are copies, which cost their claim only: count as the consumers do.
        return {"rate": rate * LIMIT_EVENTS * expected["messages"] / expected["unique"], "rss_mb": 0}


def limit_script():
    """One sorted insert of 500 new ids, 500 updates of rows of this client's own partition of the orders, in one pipeline."""
    with open(f"{HERE}/limit.sql") as file:
        head, update, tail = file.read().split("-- update\n")
    lines = [head]
    lines += [f"\\set id{i} :client_id % 6 + 6 * random(0, {ORDERS // 6 - 1}) + 1\n" for i in range(LIMIT_EVENTS)]
    lines.append("\\startpipeline\n" + tail.split("-- commit\n")[0])
    lines += [update.replace(":id", f":id{i}") for i in range(LIMIT_EVENTS)]
    lines.append(tail.split("-- commit\n")[1] + "\\endpipeline\n")
    return "".join(lines)


# ---- the report ----

def median(results, label, key="rate"):
    return statistics.median(result[key] for result in results[label])


def report(results):
    print(f"\n{'who':<28}{'runs':>5}{'events/s min':>14}{'median':>10}{'max':>10}{'peak RSS MB':>13}")
    for label, rows in results.items():
        rates = [row["rate"] for row in rows]
        print(f"{label:<28}{len(rows):>5}{min(rates):>14,.0f}{statistics.median(rates):>10,.0f}{max(rates):>10,.0f}{median(results, label, 'rss_mb'):>13.0f}")
    handle, batch, limit = (median(results, label) for label in ("idem handle", "idem handle_batch", "limit"))
    guide, node, best = (median(results, label) for label in ("kafkajs guide", "kafkajs coalesced", "kafkajs hand-written batch"))
    print(f"\nratios handle/guide={handle / guide:.0f} handle/node={handle / node:.1f} handle/limit={handle / limit:.2f} batch/best={batch / best:.2f}")


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(), "postgresql": psql("postgres", "SHOW server_version")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="alternating runs of each")
    parser.add_argument("--events", type=int, default=100_000, help="unique events of the large topic")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="two runs, 50,000 events, under five minutes")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.events = 2, 50_000
    with tempfile.TemporaryDirectory() as folder:
        say(f"loading {options.events} and 20000 unique events, a tenth of them sent twice")
        large = make_workload(f"{folder}/large", options.events)
        small = make_workload(f"{folder}/small", 20_000)
        load_topic("bench-large", f"{folder}/large")
        load_topic("bench-small", f"{folder}/small")
    contestants = [
        (Idem("idem handle", "billing", options.workers), "bench-large", large),
        (Limit("limit", options.workers), None, large),
        (Idem("idem handle_batch", "billing_batch", options.workers), "bench-large", large),
        (Kafkajs("kafkajs hand-written batch", "batch"), "bench-large", large),
        (Kafkajs("kafkajs coalesced", "node"), "bench-small", small),
        (Kafkajs("kafkajs guide", "guide", most=1000 if options.quick else 2000), "bench-small", small),
    ]
    results = {contestant.label: [] for contestant, _, _ in contestants}
    for number in range(options.runs):
        for contestant, topic, expected in contestants:
            result = contestant.run(topic, expected)
            results[contestant.label].append(result)
            print(f"    run {number + 1}: {contestant.label:<28}{result['rate']:>10,.0f} events/s", flush=True)
    os.makedirs(f"{HERE}/results", exist_ok=True)
    path = f"{HERE}/results/{time.strftime('%Y%m%d-%H%M%S')}.json"
    with open(path, "w") as file:
        json.dump({"machine": machine(), "options": vars(options), "results": results}, file, indent=1)
    report(results)


if __name__ == "__main__":
    main()
