"""Which faults strike when: a function of the seed, the minutes, the kinds and the number of hosts, and of nothing else."""
import dataclasses
import random

FAULTS_A_MINUTE = 9
QUIET_SECONDS = 2  # before the first one, and behind the last one begins


@dataclasses.dataclass(frozen=True)
class Kind:
    """target: "child", "host", "link", "server" or "group", what it strikes and so what it is locked against; holds: seconds from
    the strike until it is undone, drawn between these two; amounts: what it draws its number from."""
    name: str
    target: str
    what: str
    holds: tuple = (0, 0)
    amounts: tuple = (0,)


BYTES = (1, 5, 40, 300, 2500, 20000, 150000)
STEPS_MS = tuple(sign * ms for ms in (1500, 30000, 3600000, 86400000) for sign in (1, -1))

KINDS = {kind.name: kind for kind in (
    Kind("kill_child", "child", "SIGKILL to a pipeline's process"),
    Kind("kill_host", "host", "SIGKILL to the process group of a host, which is started again", (0, 8)),
    Kind("stop_child", "child", "SIGSTOP, then SIGCONT, to a pipeline's process", (0.3, 12)),
    Kind("stop_host", "host", "SIGSTOP, then SIGCONT, to a process group", (0.3, 12)),
    Kind("host_leave", "host", "SIGTERM to a host, which is started again", (0, 6)),
    Kind("host_join", "group", "another host joins, then leaves by SIGTERM", (6, 14)),
    Kind("reload", "host", "SIGHUP with a setting changed, so that a pipeline's process is replaced", (0, 0), (100, 250, 400)),
    Kind("clock_step", "host", "the host's wall clock stands so many ms off", (0, 0), STEPS_MS),
    Kind("pg_terminate", "host", "pg_terminate_backend of the host's connections"),
    Kind("pg_restart_fast", "server", "PostgreSQL is shut down fast and started", (0, 2)),
    Kind("pg_restart_immediate", "server", "PostgreSQL is shut down at once, and recovers", (0, 2)),
    Kind("pg_cut", "link", "the host's connections to PostgreSQL are cut, new ones refused", (0, 5)),
    Kind("pg_delay", "link", "every piece between host and PostgreSQL waits so many ms", (1, 8), (10, 40, 150, 400)),
    Kind("pg_black_hole", "link", "nothing passes between host and PostgreSQL; what was held goes on after, or (1) never", (0.5, 12), (0, 1)),
    Kind("pg_cut_bytes", "link", "a connection to PostgreSQL is cut when so many bytes have passed", (0, 0), BYTES),
    Kind("pg_cut_commit", "link", "a connection to PostgreSQL is cut at COMMIT: before it (0), behind it (1), its answer lost (2)", (0, 0), (0, 1, 2)),
    Kind("broker_restart", "server", "the broker is shut down and started", (0, 1)),
    Kind("broker_kill", "server", "SIGKILL to the broker, which recovers", (0, 1)),
    Kind("kafka_cut", "link", "the host's connections to the broker are cut, new ones refused", (0, 9)),
    Kind("kafka_delay", "link", "every piece between host and broker waits so many ms", (1, 8), (10, 40, 150, 400)),
    Kind("kafka_black_hole", "link", "nothing passes between host and broker; what was held goes on after, or (1) never", (0.5, 12), (0, 1)),
    Kind("kafka_cut_bytes", "link", "a connection to the broker is cut when so many bytes have passed", (0, 0), BYTES),
)}


@dataclasses.dataclass(frozen=True)
class Fault:
    number: int
    at: float         # seconds from the start
    kind: str
    host: int         # whom it strikes, where the kind has a host
    pipeline: int     # and which of its pipelines, where the kind is about a child
    side: str         # "client" or "server": whose bytes are counted
    seconds: float    # until it is undone
    amount: int

    @property
    def resource(self):
        """What no other fault strikes at the same time."""
        target = KINDS[self.kind].target
        if target == "server":
            return self.kind.split("_", maxsplit=1)[0]
        if target == "link":
            return f"{self.kind.split('_', maxsplit=1)[0]} link of host {self.host}"
        return "the other host" if target == "group" else f"host {self.host}"

    def __str__(self):
        kind = KINDS[self.kind]
        text = f"{self.at:8.1f} s  {self.kind:<21}"
        if kind.target not in ("server", "group"):
            text += f" host {self.host + 1}"
        if kind.target == "child":
            text += f" pipeline {self.pipeline + 1}"
        if len(kind.amounts) > 1:
            text += f" {self.amount}"
        if kind.amounts is BYTES or self.kind == "pg_cut_commit":
            text += f" from the {self.side}" if kind.amounts is BYTES else ""
        return text + (f" for {self.seconds:.1f} s" if kind.holds[1] else "")


def parse_kinds(text):
    """The kinds that a list with commas names; "all" and "none" are lists too."""
    if text in ("all", "none"):
        return list(KINDS) if text == "all" else []
    names = text.split(",")
    for name in names:
        if name not in KINDS:
            raise ValueError(f"there is no fault '{name}': {', '.join(KINDS)}")
    return names


def make(seed, minutes, kinds=tuple(KINDS), hosts=3, pipelines=4):
    """Every kind equally often, in another order each round, at least FAULTS_A_MINUTE; evenly spread with some scatter."""
    if not kinds:
        return []
    chance = random.Random(f"schedule {seed}")
    rounds = max(1, -int(-FAULTS_A_MINUTE * minutes // len(kinds)))
    order = [kind for _ in range(rounds) for kind in chance.sample(sorted(kinds), len(kinds))]
    span = max(minutes * 60 - 2 * QUIET_SECONDS, 1) / len(order)
    return [_fault(chance, number, QUIET_SECONDS + span * (number + chance.random()), KINDS[kind], hosts, pipelines)
            for number, kind in enumerate(order)]


def _fault(chance, number, at, kind, hosts, pipelines):
    return Fault(number + 1, round(at, 1), kind.name, chance.randrange(hosts), chance.randrange(pipelines),
                 chance.choice(("client", "server")), round(chance.uniform(*kind.holds), 1), chance.choice(kind.amounts))
