#!/usr/bin/python3
"""The demo: an embedded broker, a PostgreSQL of its own, idemd with the billing plugin, 20,000 records, one SIGKILL.

Run by ./dev demo, which sets PGHOST, PGPORT, PGUSER and IDEM_BUILD.  Every order is paid by exactly one event, so that the
effect of each event can be read off its order: nothing paid means lost, more than once means doubled.  Both are computed from
what was produced and from the rows, never from the counters of idemd.
"""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

RECORDS = 20_000
DUPLICATES = RECORDS // 10
MALFORMED = 40
REJECTED = 60
IGNORED = 100
ORDERS = RECORDS - DUPLICATES - MALFORMED - REJECTED - IGNORED
CHUNK = 1000  # records sent at a time
PATIENCE_S = 120
GROUP = "billing-order-confirmed"
TOPIC = "orders.confirmed"
BUILD = os.environ["IDEM_BUILD"]


def say(text):
    print(f"==> {text}", flush=True)


def v7(rnd, ms):
    raw = bytearray(ms.to_bytes(6, "big") + rnd.getrandbits(80).to_bytes(10, "big"))
    raw[6] = raw[6] & 15 | 0x70
    raw[8] = raw[8] & 63 | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))


def make_records(rnd):
    """(key, value) of every record, and what each order must show in the end."""
    now = int(time.time() * 1000) - 60_000
    records, expected = [], {}

    def event(order, amount, kind="order.confirmed.v1"):
        body = {"eventId": v7(rnd, now + len(records)), "eventType": kind, "orderId": order, "totalAmount": amount, "currency": "EUR"}
        return str(order), json.dumps(body, separators=(",", ":"))

    for order in range(1, ORDERS + 1):
        expected[order] = rnd.randint(100, 99_999)
        records.append(event(order, expected[order]))
    good = len(records)
    records += [event(ORDERS + 1 + i, 5) for i in range(REJECTED)]  # no such order
    records += [event(i + 1, 5, "order.cancelled.v1") for i in range(IGNORED)]  # a type billing does not handle
    records += [("broken", '{"eventId": "' + str(i)) for i in range(MALFORMED)]
    rnd.shuffle(records)
    for _ in range(DUPLICATES):  # a copy somewhere behind its original
        at = rnd.randrange(len(records))
        if json_like(records[at][1]):
            records.insert(rnd.randrange(at, len(records)) + 1, records[at])
        else:
            records.append(records[at - 1] if json_like(records[at - 1][1]) else next(r for r in records if json_like(r[1])))
    assert good == ORDERS and len(records) == RECORDS
    return records, expected


def json_like(value):
    return value.endswith("}") and "order.confirmed.v1" in value


def psql(database, sql):
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"demo: psql: {done.stderr.strip()}")
    return done.stdout.strip()


@contextlib.contextmanager
def process(*command, **options):
    running = subprocess.Popen(command, **options)
    try:
        yield running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            try:
                running.wait(60)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def wait_for(what, condition):
    """Until condition() is true; its value.  The demo gives up with what it waited for."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise SystemExit(f"demo: gave up waiting for {what}")


def prepare_database(database, config):
    psql("postgres", f"CREATE DATABASE {database}")
    psql(database, f"""CREATE TABLE orders(id bigint PRIMARY KEY, paid_amount bigint NOT NULL DEFAULT 0,
         status text NOT NULL DEFAULT 'NEW') WITH (fillfactor=70); INSERT INTO orders(id) SELECT generate_series(1, {ORDERS})""")
    subprocess.run([f"{BUILD}/idemctl", "-c", config, "schema", "apply"], check=True, stdout=subprocess.DEVNULL)


def write_config(folder, bootstrap, database):
    schemas = os.path.join(folder, "schemas")
    os.mkdir(schemas)
    for kind in ("order.confirmed.v1", "order.cancelled.v1"):
        with open(os.path.join(schemas, kind + ".json"), "w") as file:
            file.write("{}\n")
    config = os.path.join(folder, "idem.conf")
    with open(config, "w") as file:
        file.write(f"""state_dir = "{folder}/state";
database = {{ conninfo = "host={os.environ['PGHOST']} port={os.environ['PGPORT']} user={os.environ['PGUSER']} dbname={database}"; }};
kafka = {{ bootstrap_servers = "{bootstrap}"; session_timeout_ms = 6000; }};
admin = {{ listen = "127.0.0.1:{free_port()}"; }};
pipelines = ({{
  name = "{GROUP}";
  topics = ["{TOPIC}"];
  plugin = {{ file = "{BUILD}/plugins/billing/billing.so"; }};
  event = {{ schemas = "{schemas}"; }};
  ordering = "key";
  workers = 2;
  retry = {{ mode = "in_place"; delays = ["200ms", "1s"]; }};
}});
""")
    os.mkdir(os.path.join(folder, "state"))
    return config


def free_port():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def status(config):
    port = next(line for line in open(config) if line.startswith("admin")).split(":")[1].split('"')[0]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/status", timeout=5) as answer:
            return json.load(answer)["pipelines"][0]
    except OSError:
        return None


def dead_letters(bootstrap):
    """The origins (topic, partition, offset) of the records in the dead letter topic."""
    done = subprocess.run(["kcat", "-C", "-b", bootstrap, "-t", f"{GROUP}.dlq", "-e", "-q", "-f", "%h\n"], capture_output=True, text=True)
    headers = [dict(pair.split("=", 1) for pair in line.split(",") if "=" in pair) for line in done.stdout.splitlines()]
    return {tuple(each.get(f"x-origin-{part}") for part in ("topic", "partition", "offset")) for each in headers}


def produce(folder, bootstrap, records):
    path = os.path.join(folder, "records.tsv")
    with open(path, "w") as file:
        file.writelines(f"{key}\t{value}\n" for key, value in records)
    subprocess.run(["kcat", "-P", "-b", bootstrap, "-t", TOPIC, "-K", "\t", "-l", path], check=True)


def produce_and_kill(folder, bootstrap, records, find_victim, database):
    """In chunks; half-way, with work in flight, the pipeline's process is killed."""
    victim = find_victim()
    for at in range(0, RECORDS, CHUNK):
        produce(folder, bootstrap, records[at : at + CHUNK])
        if at == RECORDS // 2:
            os.kill(victim, signal.SIGKILL)
            say(f"SIGKILL to the pipeline's process {victim}, in the middle of its work")
        show(database, at + CHUNK)


def show(database, produced, shown=[None]):
    """One line when there is news; how many orders are paid."""
    paid = int(psql(database, "SELECT count(*) FROM orders WHERE paid_amount > 0"))
    if shown[0] != (paid, produced):
        shown[0] = (paid, produced)
        print(f"    applied {paid:>6} of {ORDERS} orders |{'#' * (40 * paid // ORDERS):<40}| produced {produced}", flush=True)
    return paid


def counted(now):
    return {name: now["counters"][name] for name in ("processed", "duplicates", "ignored", "retried", "parked", "dead")} if now else {}


def run(folder, host_log):
    rnd = random.Random(7)
    records, expected = make_records(rnd)
    database = "idem_demo"
    with process(f"{BUILD}/tests/tools/devbroker", f"{TOPIC}:6", f"{GROUP}.dlq:6", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
        bootstrap = broker.stdout.readline().strip().split("=", 1)[1]
        config = write_config(folder, bootstrap, database)
        prepare_database(database, config)
        say(f"broker at {bootstrap}, database {database}; starting idemd with the billing plugin (key order, 2 workers)")
        with process(f"{BUILD}/idemd", "-c", config, stderr=host_log) as host:
            wait_for("idemd to be ready", lambda: (status(config) or {}).get("ready") or host.poll() is not None)
            say(f"producing {RECORDS} records: {DUPLICATES} copies, {IGNORED} of another type, {REJECTED} for unknown orders, {MALFORMED} malformed")
            produce_and_kill(folder, bootstrap, records, lambda: status(config)["pid"], database)
            wait_for("all orders to be paid", lambda: show(database, RECORDS) == ORDERS)
            counters = wait_for("every record to have its end", lambda: settled(config))
            say("SIGTERM to idemd: it drains and leaves the group")
        dead = len(dead_letters(bootstrap))
        return ledger(database, expected, counters, (dead, sum(map(is_dead, records))), host.returncode)


def settled(config):
    now = status(config)
    counters = counted(now)
    return counters if now and now.get("lag") == 0 and sum(counters.values()) >= RECORDS else None


def is_dead(record):
    """Malformed, or for an order that is not there."""
    return not record[0].isdigit() or int(record[0]) > ORDERS


def ledger(database, expected, counters, dead_letters_found_and_due, exit_status):
    dead, due = dead_letters_found_and_due
    rows = dict(map(lambda line: tuple(map(int, line.split("|"))), psql(database, "SELECT id, paid_amount FROM orders").splitlines()))
    lost = sum(rows[order] < amount for order, amount in expected.items()) + max(0, due - dead)
    doubled = sum(rows[order] > amount for order, amount in expected.items())
    processed = sum(rows[order] >= amount for order, amount in expected.items())
    print(f"""
What you saw: one handler call per new event, in batches of one transaction each; the killed process left its transaction
unfinished, so PostgreSQL undid it, Kafka delivered again, and the claimed ids told what had been applied before.

What to try next:
  plugins/billing/             the handler: thirty lines that matter
  doc/plugin-guide.md          your own plugin, from the first line to a broker
  doc/operator-guide.md        a real broker, roles, signals, health
  ./dev test                   every rule against a real Kafka broker and a real PostgreSQL
""")
    if exit_status != 0:
        print(f"demo: idemd ended with status {exit_status}")
    print(
        f"ledger produced={RECORDS} processed={processed} duplicates={counters['duplicates']} ignored={counters['ignored']} "
        f"retried={counters['retried']} parked={counters['parked']} dead={dead} lost={lost} doubled={doubled}"
    )
    return 0 if lost == doubled == exit_status == 0 else 1


def main():
    folder = tempfile.mkdtemp(prefix="idem-demo.")
    log = os.path.join(folder, "idemd.log")
    try:
        with open(log, "w") as host_log:
            code = run(folder, host_log)
    except SystemExit:
        with open(log) as lines:
            sys.stderr.writelines(lines.readlines()[-20:])
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
