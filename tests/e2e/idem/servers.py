"""The broker and the PostgreSQL of one test session, started by tests/lib."""
import os
import re
import signal
import subprocess
import tempfile

from idem import wait

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("IDEM_BUILD", os.path.join(ROOT, "build"))
LONG = bool(os.environ.get("IDEM_LONG"))


def program(name):
    return os.path.join(BUILD, name)


class Server:
    """with_kafka.sh or with_postgres.sh held open.  An outer one (its variable is set) is used as it is, unless it has to be
    our own because it will be killed."""

    def __init__(self, script, marker, environment=None, own=False):
        self.script = os.path.join(ROOT, "tests/lib", script)
        self.outer = not own and os.environ.get(marker)
        self.environment = {**os.environ, **(environment or {})}
        self.settings = dict(os.environ)
        if self.outer:
            return
        handle, self.file = tempfile.mkstemp(prefix="idem-server-")
        os.close(handle)
        self._run("--start")

    def _run(self, what):
        subprocess.run([self.script, what, self.file], check=True, stdin=subprocess.DEVNULL, env=self.environment)
        with open(self.file, encoding="utf-8") as lines:
            self.settings = dict(re.findall(r"(\w+)=(\S+)", lines.read()))

    def end(self, number=signal.SIGTERM):
        """The server's process ends by this signal; up() starts it again."""
        pid = next(int(value) for name, value in self.settings.items() if name in ("KAFKA_PID", "POSTGRES_PID"))
        os.kill(pid, number)
        wait.until(lambda: not is_alive(pid), f"server {pid} to end on signal {number}", 30)

    def up(self):
        """Where it was, with what it had."""
        self._run("--up")

    def stop(self):
        if not self.outer:
            subprocess.run([self.script, "--stop", self.file], check=False, stdin=subprocess.DEVNULL)
            if os.path.exists(self.file):
                os.unlink(self.file)


def is_alive(pid):
    """There, and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
