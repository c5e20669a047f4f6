"""idemd under test: one process group, its log in the test's folder, its metrics and its children looked at from outside."""
import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

from idem import config, wait
from idem.servers import program

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')
WRAP = os.environ.get("IDEM_WRAP", "").split()  # valgrind and the like
COUNTERS = ("processed", "duplicate", "ignored", "retried", "parked", "dead")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            after_name = stat.read().rpartition(")")[2].split()
        return int(after_name[1]) if after_name[0] != "Z" else 0
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Host:
    def __init__(self, folder, settings, failpoints=None, environment=None):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.port, self.process = folder, free_port(), None
        self.killed = False  # the whole group, at some time
        self.cases = []      # told when a life of this host begins
        self.file, self.log_file = os.path.join(folder, "idemd.conf"), os.path.join(folder, "idemd.log")
        self.environment = {**os.environ, **(environment or {})}
        if failpoints:
            self.environment["IDEM_FAILPOINTS"] = failpoints
        self.configure(settings)

    def configure(self, settings):
        self.settings = config.merge({"state_dir": os.path.join(self.folder, "state"),
                                      "admin": {"listen": f"127.0.0.1:{self.port}"}}, settings)
        os.makedirs(self.settings["state_dir"], exist_ok=True)
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(config.settings(self.settings))

    def check(self, *arguments):
        """idemd -c FILE --check: the finished process."""
        return subprocess.run([program("idemd"), "-c", self.file, "--check", *arguments], capture_output=True, text=True,
                              check=False, timeout=30, stdin=subprocess.DEVNULL)

    def start(self, ready=True):
        for case in self.cases:
            case.begin_life(self)
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen([*WRAP, program("idemd"), "-c", self.file], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, start_new_session=True, env=self.environment)
        if ready:
            self.wait_ready()
        return self

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def wait_ready(self, timeout=40):
        def answer():
            assert self.process.poll() is None, f"idemd ended with {self.process.returncode}:\n{self.log_tail()}"
            return self.get("/readyz")[0] == 200
        wait.until(answer, lambda: f"idemd to be ready\n{self.log_tail()}", timeout)
        return self

    def get(self, path):
        """(status, text); status 0: nobody listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metrics(self, pipeline=None):
        """{name without idem_ and _total: value}, summed over labels, of one pipeline or all."""
        found = {}
        for line in self.get("/metrics")[1].splitlines():
            match = SAMPLE.match(line)
            if not match:
                continue
            labels = dict(LABEL.findall(match[2] or ""))
            if pipeline is None or labels.get("pipeline") == pipeline:
                name = match[1].removeprefix("idem_").removesuffix("_total")
                found[name] = found.get(name, 0) + float(match[3])
        return found

    def partitions(self):
        """How many partitions it works on, beside the one for replays."""
        answer = self.get("/api/v1/status")[1]
        return sum(not row["topic"].endswith(".retry.replay") for pipeline in json.loads(answer or "{}").get("pipelines", [])
                   for row in pipeline["partitions"])

    def ctl(self, *arguments):
        """idemctl -c FILE …: the finished process, its output as bytes."""
        return subprocess.run([program("idemctl"), "-c", self.file, *arguments], capture_output=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL)

    def counted(self, pipeline=None):
        """The six counters and what they must add up to."""
        metrics = self.metrics(pipeline)
        return {name: int(metrics.get(f"events_{name}", -1)) for name in COUNTERS}, int(metrics.get("records_consumed", -1))

    def children(self):
        mine = self.process.pid
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _parent(int(pid)) == mine]

    def log(self):
        with open(self.log_file, encoding="utf-8", errors="backslashreplace") as file:
            return file.read()

    def log_tail(self, lines=40):
        return "\n".join(self.log().splitlines()[-lines:])

    def logged(self, event):
        """The lines of one log event."""
        return [line for line in self.log().splitlines() if f"event={event} " in line + " "]

    def signal(self, number):
        self.process.send_signal(number)

    def wait_end(self, timeout=65):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"idemd is still there after {timeout} s\n{self.log_tail()}") from None

    def stop(self, timeout=65):
        """SIGTERM; the exit status."""
        self.signal(signal.SIGTERM)
        status = self.wait_end(timeout)
        if status:
            print(self.log_tail())  # pytest shows it when the test minds
        return status

    def kill_child(self):
        """SIGKILL to a pipeline child; False: there was none just now."""
        for pid in self.children():
            os.kill(pid, signal.SIGKILL)
            return True
        return False

    def kill_group(self):
        """SIGKILL to the whole process group, and nothing of it is left afterwards."""
        if self.process is None:
            return
        group = self.process.pid
        self.killed |= self.is_running()
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(10)
        wait.until(lambda: not _group_alive(group), f"process group {group} to be gone", 10)


def _group_alive(group):
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and os.getpgid(int(pid)) == group and _parent(int(pid)):
                return True
        except (ProcessLookupError, PermissionError):
            continue
    return False
