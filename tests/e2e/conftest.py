"""Fixtures: one broker and one PostgreSQL for the session; for each test a database, topics and a group of its own."""
import hashlib
import os
import re

import pytest

from idem import servers
from idem.bench import Bench, make_template
from idem.broker import Broker
from idem.database import Postgres


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("long") and not servers.LONG:
            item.add_marker(pytest.mark.skip(reason="only with ./dev test --long"))


@pytest.fixture(scope="session")
def broker():
    server = servers.Server("with_kafka.sh", "KAFKA_BOOTSTRAP",
                            {"KAFKA_SERVER_PROPERTIES": "log.cleaner.backoff.ms=200\nlog.cleaner.threads=1"})
    yield Broker(server.settings["KAFKA_BOOTSTRAP"])
    server.stop()


@pytest.fixture(scope="session")
def postgres():
    server = servers.Server("with_postgres.sh", "PGPORT")
    yield Postgres(server.settings)
    server.stop()


@pytest.fixture(scope="session")
def template(postgres, tmp_path_factory):
    """The name of a database with the schema of idemctl and the tables of the tests."""
    name = make_template(postgres, str(tmp_path_factory.mktemp("schema")))
    yield name
    postgres.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture
def bench(broker, postgres, template, tmp_path, request):
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")
    digest = hashlib.sha256(f"{os.getpid()} {request.node.nodeid}".encode()).hexdigest()[:8]
    one = Bench(broker, postgres, template, str(tmp_path), f"{name}-{digest}")
    yield one
    one.close()
