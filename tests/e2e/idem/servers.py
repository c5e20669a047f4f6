"""The broker and the PostgreSQL of one test session, started by tests/lib."""
import os
import re
import subprocess
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("IDEM_BUILD", os.path.join(ROOT, "build"))
LONG = bool(os.environ.get("IDEM_LONG"))


def program(name):
    return os.path.join(BUILD, name)


class Server:
    """with_kafka.sh or with_postgres.sh held open; an outer one (its variable is set) is used as it is."""

    def __init__(self, script, marker, environment=None):
        self.script = os.path.join(ROOT, "tests/lib", script)
        self.outer = os.environ.get(marker)
        self.settings = dict(os.environ)
        if self.outer:
            return
        handle, self.file = tempfile.mkstemp(prefix="idem-server-")
        os.close(handle)
        subprocess.run([self.script, "--start", self.file], check=True, stdin=subprocess.DEVNULL,
                       env={**os.environ, **(environment or {})})
        with open(self.file, encoding="utf-8") as lines:
            self.settings = dict(re.findall(r"(\w+)=(\S+)", lines.read()))

    def stop(self):
        if not self.outer:
            subprocess.run([self.script, "--stop", self.file], check=False, stdin=subprocess.DEVNULL)
            if os.path.exists(self.file):
                os.unlink(self.file)
