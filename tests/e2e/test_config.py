"""The configuration: every mistake found before anything starts, exit statuses, reload, a pooler (field case U9; CFG)."""
import os
import signal
import subprocess

import pytest

from idem import config, wait
from idem.events import event, many
from idem.host import free_port
from idem.servers import program


def refused(bench, over=None, edit=None, **pipeline):
    """idemd --check and idemd itself on a configuration that is wrong; the text of both."""
    case = bench.case()
    settings = config.merge(bench.settings(case, **pipeline), over or {})
    host = bench.host(settings)
    if edit:
        with open(host.file, encoding="utf-8") as file:
            text = edit(file.read())
        with open(host.file, "w", encoding="utf-8") as file:
            file.write(text)
    check = host.check()
    assert check.returncode == 78, check.stderr + check.stdout
    host.start(ready=False)
    assert host.wait_end(10) == 78, "the host refuses to start"
    assert case.group.members() == 0
    return check.stdout + check.stderr, host


def line_of(host, text):
    with open(host.file, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


@pytest.mark.parametrize("pipeline,where,words", [
    ({"worker": 4}, "worker =", ["worker", "workers"]),
    ({"drain_max": "20 parsecs"}, "drain_max", ["drain_max"]),
    ({"dlq": {"topic": "same"}, "topics": ["same"]}, "topic =", ["dlq.topic"]),
    ({"topics": ["a", "a"]}, "topics", ["listed twice"]),
    ({"ordering": "none", "retry": {"mode": "parked"}}, "mode", ["parked", "topics"]),
    ({"ordering": "keys"}, "ordering", ["ordering", "key"]),
    ({"batch": {"max": 0}}, "max =", ["batch.max"]),
    ({"event": {"business_key": "{offset}"}}, "business_key", ["offset"]),
    ({"event": {"id": ["payload:offset"]}}, "id =", ["offset"]),
    ({"kafka": {"enable_auto_commit": "true"}}, "enable_auto_commit", ["enable_auto_commit"]),
    ({"kafka": {"sesion_timeout_ms": "6000"}}, "sesion_timeout_ms", ["session_timeout_ms"]),
])
def test_a_mistake_is_told_with_file_line_and_what_to_do(bench, pipeline, where, words):
    """U9"""
    text, host = refused(bench, **pipeline)
    line = line_of(host, where)
    assert f"{host.file}:{line}:" in text, text
    for word in words:
        assert word in text


def test_a_retry_topic_among_the_sources_is_refused(bench):
    """U9"""
    case = bench.case()
    text, host = refused(bench, name=case.consumer, topics=[f"{case.consumer}.retry.1s"], ordering="none",
                      retry={"mode": "topics", "delays": ["1s"]})
    assert "retry topic" in text and f"{host.file}:{line_of(host, 'topics =')}:" in text


def test_more_workers_than_connections_are_refused(bench):
    """U9"""
    text, host = refused(bench, {"database": {"max_connections": 5}}, workers=10)
    assert "max_connections" in text and f"{host.file}:{line_of(host, 'workers =')}:" in text


def test_all_mistakes_are_told_at_once(bench):
    """CFG"""
    text, host = refused(bench, {"log_levle": "info"}, drain_max="never", workers=0)
    for word in ("log_levle", "drain_max", "workers"):
        assert word in text
    assert text.count(host.file + ":") >= 3


def test_a_file_that_can_not_be_parsed_is_told_with_its_line(bench):
    text, host = refused(bench, edit=lambda text: text.replace("pipelines = (", "pipelines = (("))
    assert f"{host.file}:" in text


def test_two_pipelines_of_one_name_or_none_do_not_start(bench):
    """CONS-1"""
    case = bench.case()
    settings = bench.settings(case)
    settings["pipelines"].append(bench.pipeline(case))
    assert bench.host(settings).check().returncode == 78
    nameless = bench.settings(case)
    nameless["pipelines"][0].pop("name")
    assert bench.host(nameless).check().returncode == 78


def test_a_missing_file_and_a_missing_argument():
    assert subprocess.run([program("idemd"), "-c", "/no/such/file", "--check"], capture_output=True, check=False).returncode == 78
    assert subprocess.run([program("idemd"), "--nonsense"], capture_output=True, check=False).returncode not in (0, 78)


def test_a_right_configuration_passes_without_touching_the_servers(bench):
    """CFG"""
    case = bench.case()
    settings = bench.settings(case)
    settings["database"]["conninfo"] = "host=127.0.0.1 port=1 dbname=x user=x"
    settings["kafka"]["bootstrap_servers"] = "127.0.0.1:1"
    check = bench.host(settings).check()
    assert check.returncode == 0, check.stderr


@pytest.mark.parametrize("over,edit,where,words", [
    ({"database": {"conninfo": "host=127.0.0.1 dbname=x user=x sslrootcert=/nowhere/ca.pem"}}, None, "conninfo", ["sslrootcert=/nowhere/ca.pem"]),
    ({"database": {"conninfo": "host=127.0.0.1 port=70000 dbname=x user=x"}}, None, "conninfo", ["port=70000"]),
    ({"kafka": {"bootstrap_servers": "127.0.0.1:65536"}}, None, "bootstrap_servers", ["127.0.0.1:65536", "65535"]),
    ({}, lambda text: text.replace('ref.so";', 'ref.so"; options = { limt = 3; };'), "file =", ["limt", "takes no options"]),
])
def test_the_files_and_options_that_only_the_start_would_miss(bench, over, edit, where, words):
    """U9: what libpq, librdkafka and the plugin itself would say later, or never."""
    text, host = refused(bench, over, edit)
    assert f"{host.file}:{line_of(host, where)}:" in text, text
    for word in words:
        assert word in text


def test_status_names_each_pipelines_plugin(bench):
    case = bench.case(partitions=1)
    host = bench.start(case)
    line, = [line.split() for line in host.ctl("status").stdout.decode().splitlines() if line.startswith(case.consumer)]
    assert line[1:4] == ["ref", "1.0.0", "running"]


def test_show_config_can_be_read_back_and_hides_secrets(bench):
    """SEC"""
    case = bench.case()
    settings = bench.settings(case)
    settings["database"]["password"] = "s3cr3t-word"
    host = bench.host(settings)
    shown = subprocess.run([program("idemd"), "-c", host.file, "--show-config"], capture_output=True, text=True, check=True)
    assert "s3cr3t-word" not in shown.stdout + shown.stderr
    assert case.consumer in shown.stdout and "drain_max" in shown.stdout


def test_secrets_are_in_no_log_and_no_argument(bench):
    """SEC: the child gets its secrets over a descriptor."""
    case = bench.case(partitions=1)
    settings = bench.settings(case)
    settings["database"]["password"] = "s3cr3t-word"
    settings["log_level"] = "debug"
    host = bench.host(settings).start()
    case.produce([event(note="payl0ad-word"), event("fatal", note="payl0ad-word")])
    case.check()
    for pid in [host.process.pid, *host.children()]:
        for file in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{file}", "rb") as content:
                assert b"s3cr3t-word" not in content.read()
    for text in (host.log(), host.get("/metrics")[1], host.get("/")[1]):
        assert "s3cr3t-word" not in text and "payl0ad-word" not in text


def test_a_service_missing_at_start_is_status_69(bench):
    case = bench.case()
    settings = bench.settings(case)
    settings["database"]["conninfo"] = "host=127.0.0.1 port=1 dbname=x user=x"
    host = bench.host(settings).start(ready=False)
    assert host.wait_end(60) == 69
    assert "postgresql" in host.log().lower() or "connect" in host.log().lower()


def test_an_unknown_schema_version_is_refused(bench):
    """Build 3: the host refuses to start on a schema it does not know, and says which command helps."""
    case = bench.case()
    empty = bench.postgres.create()
    settings = bench.settings(case)
    settings["database"]["conninfo"] = empty.conninfo
    host = bench.host(settings).start(ready=False)
    status = host.wait_end(60)
    empty.drop()
    assert status != 0
    assert "idemctl schema apply" in host.log() or "schema apply" in host.log()


@pytest.mark.parametrize("command", [["status"], ["expire"], ["release", "PIPELINE", "01890a5d-ac96-774b-bcce-b302099a8057"]])
def test_dedup_without_the_schema_names_the_command_that_helps(bench, tmp_path, command):
    case = bench.case()
    empty = bench.postgres.create()
    settings = bench.settings(case)
    settings["database"]["conninfo"] = empty.conninfo
    file = tmp_path / "idem.conf"
    file.write_text(config.settings(settings))
    command = [case.consumer if word == "PIPELINE" else word for word in command]
    done = subprocess.run([program("idemctl"), "-c", str(file), "dedup", *command], capture_output=True, text=True, check=False)
    empty.drop()
    assert done.returncode == 1 and "idemctl schema apply" in done.stderr, done.stderr


def test_schema_apply_can_be_repeated_and_status_tells(bench, tmp_path):
    settings = bench.settings(bench.case())
    settings["database"]["conninfo"] = bench.database.owner_conninfo
    file = tmp_path / "idem.conf"
    file.write_text(config.settings(settings))
    for _ in range(2):
        subprocess.run([program("idemctl"), "-c", str(file), "schema", "apply"], check=True, stdin=subprocess.DEVNULL)
    status = subprocess.run([program("idemctl"), "-c", str(file), "schema", "status"], check=True, capture_output=True, text=True)
    assert status.stdout.strip()


def test_sigterm_is_status_0(bench):
    case = bench.case()
    assert bench.start(case).stop() == 0


# reload ------------------------------------------------------------------------------------------------------------


def reload(host, settings):
    host.configure(settings)
    host.signal(signal.SIGHUP)


def test_reload_replaces_only_the_changed_pipeline(bench):
    first, second = bench.case(partitions=1), bench.case(partitions=1)
    settings = bench.settings(first, workers=1)
    settings["pipelines"].append(bench.pipeline(second))
    host = bench.host(settings).start()
    children = set(host.children())
    assert len(children) == 2
    settings["pipelines"][0]["workers"] = 3
    reload(host, settings)
    wait.until(lambda: host.logged("reload"), "the reload", 30)
    wait.until(lambda: len(set(host.children()) - children) == 1 and len(host.children()) == 2, "one new child", 40)
    assert len(children & set(host.children())) == 1, "the other one goes on"
    for case in (first, second):
        case.produce(many(10))
        case.check()
    assert host.stop() == 0


def test_reload_adds_and_takes_away_pipelines(bench):
    first, second = bench.case(partitions=1), bench.case(partitions=1)
    settings = bench.settings(first)
    host = bench.host(settings).start()
    settings["pipelines"] = [bench.pipeline(second)]
    reload(host, settings)
    second.produce(many(10))
    second.check(timeout=60)
    wait.until(lambda: first.group.members() == 0, "the first one to leave", 20)
    assert len(host.children()) == 1


def test_a_wrong_configuration_on_reload_is_loud_and_changes_nothing(bench):
    """S5: the old one stays active."""
    case = bench.case(partitions=1)
    settings = bench.settings(case)
    host = bench.host(settings).start()
    children = host.children()
    reload(host, config.merge(settings, {"log_levle": "debug"}))
    wait.until(lambda: host.logged("reload_refused"), "the refusal", 20)
    case.produce(many(5))
    case.check()
    assert host.children() == children


def test_no_event_is_lost_or_doubled_across_reloads(bench):
    case = bench.case(partitions=3)
    case.watch()
    settings = bench.settings(case, workers=2)
    host = bench.host(settings).start()
    for workers in (3, 4):
        case.produce(many(300, "sql:SELECT pg_sleep(0.001)"))
        settings["pipelines"][0]["workers"] = workers
        reload(host, settings)
    case.check(timeout=90)


# a pooler ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pooler(bench, tmp_path):
    """PgBouncer in transaction mode in front of the test's database: its conninfo, and a function that starts it again."""
    port = free_port()
    folder = str(tmp_path / "pgbouncer")
    os.mkdir(folder)
    with open(f"{folder}/users.txt", "w", encoding="utf-8") as users:
        users.write(f'"{bench.postgres.ROLE}" ""\n')
    with open(f"{folder}/pgbouncer.ini", "w", encoding="utf-8") as file:
        file.write(f"[databases]\n{bench.database.name} = host=127.0.0.1 port={bench.postgres.port}\n[pgbouncer]\n"
                   f"listen_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = trust\nauth_file = {folder}/users.txt\n"
                   f"pool_mode = transaction\nunix_socket_dir =\nlogfile = {folder}/log\nmax_client_conn = 100\n"
                   f"default_pool_size = 10\nignore_startup_parameters = extra_float_digits,options\n")
    running = []

    def start():
        if running:
            running[-1].terminate()
            running[-1].wait(20)
        as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        if as_user:
            for path in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
                os.chmod(path, 0o755)
            subprocess.run(["chown", "-R", "postgres", folder], check=True)
        running.append(subprocess.Popen([*as_user, "pgbouncer", "-q", f"{folder}/pgbouncer.ini"], stdin=subprocess.DEVNULL))

    start()
    yield bench.postgres.conninfo(bench.database.name, port=port), start
    running[-1].terminate()
    running[-1].wait(20)


def test_everything_works_through_a_pooler_in_transaction_mode(bench, pooler):
    """D15: and the pooler is restarted once."""
    conninfo, restart = pooler
    case = bench.case(partitions=3)
    case.watch()
    settings = bench.settings(case, workers=3)
    settings["database"].update(conninfo=conninfo, pooler="transaction")
    host = bench.host(settings).start()
    case.produce([*many(300), event("queue:0"), event("fatal"), *many(300)])
    wait.until(lambda: bench.database.processed(case.consumer), "the first events", 30)
    restart()
    case.produce(many(300))
    dead = case.check(timeout=90)
    assert len(dead) == 2
    assert host.counted()[0]["processed"] + host.counted()[0]["duplicate"] == 900
