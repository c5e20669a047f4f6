"""What one test works with: topics, cases, hosts, proxies, and a database made from a template with the schema."""
import os
import subprocess

from idem import config, servers
from idem.checker import Case
from idem.database import Postgres, tables
from idem.host import Host
from idem.proxy import Proxy


def make_template(postgres, folder):
    """The name of a database with the schema of idemctl and the tables of the tests; folder: for a file."""
    postgres.make_role()
    database = postgres.create()
    file = os.path.join(folder, "idem.conf")
    with open(file, "w", encoding="utf-8") as out:
        out.write(config.settings({
            "database": {"conninfo": database.owner_conninfo}, "kafka": {"bootstrap_servers": "127.0.0.1:1"},
            "pipelines": [{"name": "any", "topics": ["any"], "plugin": {"file": plugin_file("ref")}}]}))
    subprocess.run([servers.program("idemctl"), "-c", file, "schema", "apply", "--role", Postgres.ROLE], check=True,
                   stdin=subprocess.DEVNULL)
    database.run(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {Postgres.ROLE}")
    database.run(tables())
    database.connection.close()
    return database.name


class Bench:
    """What one test works with.  Everything it starts is ended after it."""

    def __init__(self, broker, postgres, template, folder, name):
        self.broker, self.postgres, self.folder, self.name = broker, postgres, folder, name
        self.database = postgres.create(template)
        self.cases, self.hosts, self.proxies = [], [], []

    def topic(self, partitions=3, **properties):
        name = f"{self.name}.t{len(self.broker.topics())}"
        self.broker.create(name, partitions, **properties)
        return name

    def case(self, partitions=3, consumer=None, topics=None):
        one = Case(self.broker, self.database, topics or [self.topic(partitions)], consumer or f"{self.name}-c{len(self.cases) + 1}")
        self.cases.append(one)
        return one

    def settings(self, case, plugin="ref", **pipeline):
        """A configuration with the one pipeline of case; keywords go over the pipeline's settings."""
        return {
            "database": {"conninfo": self.database.conninfo},
            "kafka": {"bootstrap_servers": self.broker.bootstrap},
            "pipelines": [self.pipeline(case, plugin, **pipeline)],
        }

    def pipeline(self, case, plugin="ref", **over):
        return config.merge({
            "name": case.consumer, "topics": case.topics, "plugin": {"file": plugin_file(plugin)}, "workers": 4,
            "ordering": "key", "retry": {"mode": "in_place", "delays": ["100ms", "200ms"]},
            "kafka": {"session_timeout_ms": "6000", "heartbeat_interval_ms": "500"},
        }, over)

    def host(self, settings, case=None, **how):
        """A host with this configuration, not started."""
        one = Host(os.path.join(self.folder, f"host{len(self.hosts) + 1}"), settings, **how)
        self.hosts.append(one)
        for owner in [case] if case else self.cases:
            owner.hosts.append(one)
            one.cases.append(owner)
        return one

    def start(self, case, plugin="ref", failpoints=None, **pipeline):
        """The usual way: a started host with the one pipeline of case."""
        return self.host(self.settings(case, plugin, **pipeline), case, failpoints=failpoints).start()

    def proxy(self):
        """A proxy in front of PostgreSQL, and the conninfo that goes through it."""
        proxy = Proxy((self.postgres.host, self.postgres.port))
        self.proxies.append(proxy)
        return proxy, self.postgres.conninfo(self.database.name, port=proxy.port)

    def close(self):
        for case in self.cases:
            if case.sampler:
                case.sampler.stop()
        for host in self.hosts:
            host.kill_group()
        for proxy in self.proxies:
            proxy.close()
        for case in self.cases:
            case.close()
        self.database.drop()


def plugin_file(name):
    """A path as it is, or the name of a plugin of plugins/ or tests/plugins/."""
    if os.sep in name:
        return name
    for folder in ("plugins", "tests/plugins"):
        for found in (f"{folder}/{name}/{name}.so", *(f"{folder}/{kind}/{name}.so" for kind in ("ref", "good", "bad"))):
            if os.path.exists(servers.program(found)):
                return servers.program(found)
    raise FileNotFoundError(f"{name}.so in {servers.BUILD}")
