"""Plugins as files: which are accepted, how the others are refused, instances that do not share (field cases G)."""
import os
import re
import shutil
import subprocess
import time

import pytest

from idem import wait
from idem.bench import plugin_file
from idem.events import event, many
from idem.servers import ROOT

SOURCE = """
#include <idem/sugar.h>
static idem_status create(const struct idem_host_api *api, void **out_self) { *out_self = (void *)api; return IDEM_OK; }
static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{ (void)self; (void)call; (void)event; return IDEM_DONE; }
static const char *const types[] = {"test.v1", NULL};
IDEM_PLUGIN_DEFINE("vendor", "1.2.3", "somebody", "42", .event_types = types, .create = create, .handle = handle);
"""


def compiled(folder, name, source=SOURCE, flags=(), header=None):
    """A plugin as a vendor builds it, against a copy of the header in which header(text) was changed."""
    include = os.path.join(folder, name + ".include")
    shutil.copytree(os.path.join(ROOT, "sdk/include"), include)
    if header:
        path = os.path.join(include, "idem/plugin.h")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        changed = header(text)
        assert changed != text
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)
    out = os.path.join(folder, name + ".so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{include}", *flags, "-x", "c", "-", "-o", out],
                   input=source, text=True, check=True)
    return out


def define(name, value):
    return lambda text: re.sub(rf"(#define {name}) \d+", rf"\1 {value}", text)


def wrong_architecture(folder):
    with open(plugin_file("ref"), "rb") as file:
        image = bytearray(file.read())
    image[18:20] = b"\x08\x00"  # MIPS
    path = os.path.join(folder, "mips.so")
    with open(path, "wb") as file:
        file.write(image)
    return path


def text_file(folder):
    path = os.path.join(folder, "text.so")
    with open(path, "w", encoding="utf-8") as file:
        file.write("this is no plugin\n")
    return path


REFUSED = {
    "newer minor needed": lambda folder: compiled(folder, "minor", flags=["-DIDEM_MIN_HOST_MINOR=99"]),
    "wrong major": lambda folder: compiled(folder, "major", header=define("IDEM_ABI_MAJOR", 2)),
    "missing symbol": lambda folder: compiled(folder, "entry", header=lambda text: text.replace(
        "idem_plugin_v1(void)", "another_plugin_v1(void)"), source=SOURCE.replace("IDEM_PLUGIN_DEFINE", "#define idem_plugin_v1 "
        "another_plugin_v1\nIDEM_PLUGIN_DEFINE")),
    "undefined symbol": lambda folder: compiled(folder, "undefined", source=SOURCE.replace(
        "return IDEM_DONE;", "extern int nobody_has_this(void); return nobody_has_this();")),
    "wrong architecture": wrong_architecture,
    "text file": text_file,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_plugin_that_does_not_fit_is_refused_in_one_line_and_the_others_run_on(bench, kind):
    """G1"""
    good, bad = bench.case(partitions=1), bench.case(partitions=1)
    path = REFUSED[kind](bench.folder)
    settings = bench.settings(good)
    settings["pipelines"].append(bench.pipeline(bad, path, workers=1))
    host = bench.host(settings).start(ready=False)
    wait.until(lambda: host.process.poll() is not None or host.logged("plugin_refused"), lambda: host.log_tail(), 30)
    lines = host.logged("plugin_refused")
    assert lines, host.log_tail()
    assert len(set(line.split("event=")[1] for line in lines)) == 1, lines
    assert host.process.poll() is None, "the other pipeline runs on"
    good.produce(many(5))
    good.check()
    assert bad.group.members() == 0
    assert host.get("/readyz")[0] == 503, "one pipeline is missing"


def test_plugins_of_other_minors_that_need_no_more_are_accepted(bench):
    """G1: what counts is what it needs, not what it was built with."""
    case = bench.case(partitions=1)
    newer = compiled(bench.folder, "newer", header=define("IDEM_ABI_MINOR", 7))
    host = bench.start(case, newer, workers=1)
    case.produce([event()])
    case.check(effects=False)
    assert host.counted()[0]["processed"] == 1


def test_another_file_than_the_digest_says_is_refused(bench):
    """PLUG-5"""
    case = bench.case()
    settings = bench.settings(case)
    settings["pipelines"][0]["plugin"]["sha256"] = "0" * 64
    host = bench.host(settings).start(ready=False)
    assert host.wait_end(30) == 78
    assert any("plugin.sha256 says another" in line for line in host.logged("plugin_refused")), host.log_tail()


def test_a_plugin_that_does_not_say_it_is_concurrent_runs_with_one_worker_only(bench):
    case = bench.case()
    path = compiled(bench.folder, "single")
    host = bench.host(bench.settings(case, path, workers=2)).start(ready=False)
    wait.until(lambda: "set workers = 1" in host.log(), lambda: host.log_tail(), 30)
    assert case.group.members() == 0


def test_one_file_in_two_pipelines_has_two_instances(bench):
    """G3: other settings, a destroy each, a clean stop (no double free under ASan)."""
    first, second = bench.case(partitions=1), bench.case(partitions=1)
    settings = bench.settings(first, workers=1)
    settings["pipelines"].append(bench.pipeline(second, workers=3, ordering="none", retry={"mode": "topics"}))
    host = bench.host(settings).start()
    assert len(host.children()) == 2
    for case in (first, second):
        case.produce([*many(50), event("fatal")])
    for case in (first, second):
        assert len(case.check()) == 1
        case.check_counters()
    assert host.stop() == 0
    assert not host.logged("child_died") and "AddressSanitizer" not in host.log()


def test_a_call_used_after_its_callback_is_refused(bench):
    """G5, PLUG-3"""
    case = bench.case(partitions=1)
    host = bench.start(case, workers=1)
    case.produce([event("late"), event(), event()])
    case.check()
    counted = f'idem_plugin_late_refused_total{{pipeline="{case.consumer}"}} 1'
    wait.until(lambda: counted in host.get("/metrics")[1].splitlines(), "the refusal in the metrics", 10)


@pytest.mark.parametrize("deed", ["segv", "abort", "exit:0", "exit:1"])
def test_a_plugin_that_ends_its_process_takes_down_only_its_own_pipeline(bench, deed):
    """PLUG-4: the other pipeline goes on; exit(0) is a death too."""
    good, bad = bench.case(partitions=1), bench.case(partitions=1)
    settings = bench.settings(good)
    settings["pipelines"].append(bench.pipeline(bad))
    host = bench.host(settings).start()
    bad.produce([event(deed)])
    wait.until(lambda: host.logged("child_died"), lambda: host.log_tail(), 30)
    good.produce(many(20))
    good.check()
    assert host.process.poll() is None


@pytest.mark.parametrize("end", ["stop", "destroy"])
def test_a_plugin_that_hangs_at_its_end_does_not_hold_up_the_stop(bench, end):
    """ENGINE 11: all is committed and the group left, so the process may end with the plugin still in it."""
    case = bench.case(partitions=1)
    hangs = SOURCE.replace("static const char", "#include <unistd.h>\nstatic void hang(void *self) { (void)self; for (;;) pause(); }\n"
                           "static const char").replace(".handle = handle", f".handle = handle, .{end} = hang")
    host = bench.start(case, compiled(bench.folder, end, hangs), workers=1)
    case.produce(many(5))
    case.check(effects=False)
    begin = time.monotonic()
    assert host.stop() == 0
    assert time.monotonic() - begin < 10
    assert case.lag() == 0 and case.group.members() == 0


def test_a_locale_set_by_a_plugin_changes_no_number(bench):
    """G5"""
    case = bench.case(partitions=1)
    bench.start(case, workers=1)
    case.produce([event("locale"), event(amount=1.5), event(amount=2.5)])
    assert case.check() == []


THIEF = """
#include <idem/sugar.h>
struct thief { const struct idem_host_api *api; uint32_t effect, steal; };
static idem_status create(const struct idem_host_api *api, void **out_self)
{
	static struct thief thief;
	*out_self = &thief;
	thief.api = api;
	idem_status status = idem_declare(api, "INSERT INTO effect (consumer, event_id, pid, at) VALUES ($1, $2::uuid, 0, now())", 2, 0,
	                                  &thief.effect);
	return status == IDEM_OK ? idem_declare(api, "COMMIT AND CHAIN", 0, 0, &thief.steal) : status;
}
static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
{
	const struct thief *thief = opaque;
	struct idem_bytes deed = {"", 0};
	struct idem_param params[] = {idem_param_string(event->pipeline), idem_param_text(event->id)};
	(void)idem_json_text(thief->api, call, "/do", &deed);
	idem_status status = idem_queue(thief->api, call, idem_equal_string(deed, "steal") ? thief->steal : thief->effect, params,
	                                idem_equal_string(deed, "steal") ? 0 : 2);
	return idem_verdict_of(thief->api, call, status);
}
static const char *const types[] = {"test.v1", NULL};
IDEM_PLUGIN_DEFINE("thief", "1", "tests", "1", .event_types = types, .create = create, .handle = handle);
"""


def test_a_plugin_that_declares_commit_is_refused(bench):
    """ENGINE 3: the first net, when the statement is declared."""
    case = bench.case()
    host = bench.host(bench.settings(case, compiled(bench.folder, "thief", THIEF), workers=1)).start(ready=False)
    wait.until(lambda: host.logged("plugin_refused"), lambda: host.log_tail(), 30)
    assert "COMMIT" in host.log()


def test_a_queued_commit_past_the_first_net_loses_and_doubles_nothing(bench):
    """ENGINE 3: what went out before it is committed with it, and only the claims of the rest are released."""
    case = bench.case(partitions=1)
    case.watch()
    case.produce([*many(300), *many(30), event("steal"), *many(30)])
    host = bench.host(bench.settings(case, compiled(bench.folder, "thief", THIEF), workers=1, ordering="partition"),
                      failpoints="sql_check_off=fail:always").start(ready=False)
    wait.until(lambda: host.logged("transaction_stolen"), lambda: host.log_tail(), 60)
    host.kill_group()
    thief = case.produced[330].id
    assert set(bench.database.effects(case.consumer)) == bench.database.processed(case.consumer)
    bench.start(case, ordering="partition", workers=1)
    dead = case.check()
    assert {record.id for record in dead} <= {thief}
