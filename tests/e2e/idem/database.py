"""A database of its own for each test, made from a template that idemctl has put the schema into."""
import contextlib
import itertools
import os

import psycopg2

from idem.servers import ROOT

ORDERS = """
CREATE TABLE orders (id bigint PRIMARY KEY, paid_amount bigint NOT NULL DEFAULT 0, status text NOT NULL DEFAULT 'NEW')
    WITH (fillfactor = 70);
INSERT INTO orders (id) SELECT generate_series(1, 10000);
"""


def tables():
    """What the plugins of the tests write into."""
    with open(os.path.join(ROOT, "tests/plugins/ref/ref.sql"), encoding="utf-8") as ref:
        return ref.read() + ORDERS


_numbers = itertools.count(1)


class Postgres:
    ROLE = "idem_host"  # what the hosts under test connect as: it owns nothing

    def __init__(self, settings):
        self.host, self.port, self.owner = settings["PGHOST"], int(settings["PGPORT"]), settings["PGUSER"]

    def conninfo(self, database, user=ROLE, port=None):
        return f"host={self.host} port={port or self.port} dbname={database} user={user}"

    def connect(self, database):
        connection = psycopg2.connect(self.conninfo(database, self.owner) + " application_name=test")
        connection.autocommit = True
        return connection

    def make_role(self):
        self.run(f"DO $$BEGIN CREATE ROLE {self.ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$")

    def run(self, sql):
        with contextlib.closing(self.connect("postgres")) as connection, connection.cursor() as cursor:
            cursor.execute(sql)

    def create(self, template="template1"):
        name = f"t{os.getpid()}_{next(_numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return Database(self, name)


class Database:
    def __init__(self, server, name):
        self.server, self.name = server, name
        self.connection = server.connect(name)

    def steady(self):
        """The same one for somebody who outlives the server."""
        return SteadyDatabase(self.server, self.name)

    @property
    def conninfo(self):
        """The host's."""
        return self.server.conninfo(self.name)

    @property
    def owner_conninfo(self):
        return self.server.conninfo(self.name, self.server.owner)

    def run(self, sql, *parameters):
        """Rows of a query, [] of anything else."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def one(self, sql, *parameters):
        return self.run(sql, *parameters)[0][0]

    def effects(self, consumer):
        """{event id: how many effect rows}"""
        return dict(self.run("SELECT event_id::text, count(*) FROM effect WHERE consumer = %s GROUP BY 1", consumer))

    # Ids of days, and those older than the group or of no time.
    CLAIMS = ("(SELECT event_id, consumer_group FROM processed_event"
              " UNION ALL SELECT event_id, consumer_group FROM processed_event_other) AS claims")

    def processed(self, consumer):
        return {row[0] for row in self.run(f"SELECT event_id::text FROM {self.CLAIMS} WHERE consumer_group = %s", consumer)}

    def processed_among(self, consumer, ids):
        return {row[0] for row in self.run(f"SELECT event_id::text FROM {self.CLAIMS} WHERE consumer_group = %s"
                                           " AND event_id = ANY(%s::uuid[])", consumer, list(ids))}

    def parked(self, consumer):
        return {row[0] for row in self.run("SELECT event_id FROM parked_event WHERE consumer_group = %s", consumer)}

    def stray_parked(self):
        """Keys whose events were counted wrong, and events without their key: nobody would release them."""
        return self.run("SELECT coalesce(k.key, e.key), k.events, e.count FROM parked_key k FULL JOIN (SELECT consumer_group, key, count(*)"
                        " FROM parked_event GROUP BY 1, 2) e USING (consumer_group, key) WHERE k.events IS DISTINCT FROM e.count")

    def idle_in_transaction(self):
        return self.run("SELECT pid, application_name, state, query FROM pg_stat_activity WHERE datname = %s"
                        " AND state LIKE 'idle in transaction%%'", self.name)

    def open_transactions(self):
        """Backends of the host inside a transaction that has written."""
        return self.one("SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name <> 'test'"
                        " AND backend_xid IS NOT NULL", self.name)

    def handlers_at_work(self):
        """Transactions in which nothing was sent for a while: a handler runs that asks the database nothing."""
        return self.one("SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND state = 'idle in transaction'"
                        " AND state_change < clock_timestamp() - interval '300 ms'", self.name)

    def keep(self):
        """A copy of what is there now; whoever is connected loses the connection."""
        copy = f"{self.name}_kept"
        with self._alone():
            self.server.run(f"CREATE DATABASE {copy} TEMPLATE {self.name} STRATEGY file_copy")
        return copy

    def go_back(self, copy):
        """The copy takes its place, as after a failover to a standby that lagged, or a restore."""
        with self._alone():
            self.server.run(f"DROP DATABASE {self.name} WITH (FORCE)")
            self.server.run(f"ALTER DATABASE {copy} RENAME TO {self.name}")

    @contextlib.contextmanager
    def _alone(self):
        self.connection.close()
        self.server.run(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
        self.server.run(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{self.name}'")
        yield
        self.server.run(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")
        self.connection = self.server.connect(self.name)

    def drop(self):
        self.connection.close()
        self.server.run(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")


class SteadyDatabase(Database):
    """One connection that is made anew after every error: psycopg2.Error as long as the server is away.  For one thread."""

    def __init__(self, server, name):  # without a connection yet
        self.server, self.name, self.connection = server, name, None

    def run(self, sql, *parameters):
        if self.connection is None:
            self.connection = self.server.connect(self.name)
        try:
            return super().run(sql, *parameters)
        except psycopg2.Error:
            self.close()
            raise

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
