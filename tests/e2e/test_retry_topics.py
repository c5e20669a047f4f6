"""Retry topics: due times, what a record carries through its tiers, tiers that are configured no more (ENGINE 7)."""
import pytest

from idem import wait
from idem.events import event, many
from idem.servers import LONG

DELAYS = {"2s": 2000, "3s": 3000, "4s": 4000} if not LONG else {"5s": 5000, "30s": 30000, "5m": 300000}
HEADERS_MOST = 2048  # bytes of all headers of ours together, names included: doc/operator-guide.md
OURS = {"x-attempt", "x-round", "x-due-ms", "x-reason", "x-error", "x-origin-topic", "x-origin-partition", "x-origin-offset",
        "x-origin-timestamp", "x-consumer-group", "x-plugin", "x-plugin-version"}


def topics(*delays):
    return {"mode": "topics", "delays": list(delays)}


def members(bench, case):
    return [member.id for member in bench.broker.admin.list_groups(case.consumer, timeout=10)[0].members]


def number(record, name):
    return int(record.header(name))


def test_each_attempt_is_made_when_it_is_due_and_the_group_is_not_left(bench):
    """Y7: at due … due + 2 s, with a poll limit shorter than the longest tier; with --long it is 5 s, 30 s, 5 min and 60 s.  What
    an attempt writes (the record of the next tier, the dead letter) says when it was made; other events flow meanwhile."""
    limit = "60000" if LONG else "6000"
    case = bench.case(partitions=1)
    host = bench.start(case, ordering="none", retry=topics(*DELAYS), kafka={"max_poll_interval_ms": limit})
    wait.until(lambda: len(members(bench, case)) == 1 and host.partitions() >= 1, "the group to be joined", 30)
    joined = members(bench, case)
    failing = case.produce([event("fail", key=f"f{i}") for i in range(20)])
    longest = sum(DELAYS.values()) / 1000 + 30
    wait.until(lambda: case.produce(many(5)) and len(case.dead()) == len(failing), "all to be dead", longest, every=1)
    case.check(timeout=longest)
    written = {}
    for record in case.retries() + case.dead():
        written.setdefault(record.id, {})[number(record, "x-attempt"), record.topic == case.dlq] = record
    for one in failing:
        tiers = [written[one.id][attempt, False] for attempt in (2, 3, 4)]
        assert [record.topic for record in tiers] == [f"{case.consumer}.retry.{delay}" for delay in DELAYS]
        made = [*tiers, written[one.id][4, True]]
        for record, after, delay in zip(made, made[1:], DELAYS.values()):
            due = number(record, "x-due-ms")
            assert abs(due - record.timestamp - delay) < 1000, "the delay is counted from the attempt before"
            assert 0 <= after.timestamp - due <= 2000, f"{record.topic}: {after.timestamp - due} ms after it was due"
    assert members(bench, case) == joined, "the member left the group"
    case.check_counters()


def test_through_five_tiers_there_is_one_of_each_header_and_the_originals_are_intact(bench):
    """Y1: 8 KB of error text each time; all that is ours stays under the documented bound, whatever the tier."""
    case = bench.case(partitions=1)
    bench.start(case, ordering="none", retry=topics("100ms", "200ms", "300ms", "400ms", "500ms"))
    own = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("twice", b"1"), ("null", None),
           ("twice", b""), ("bytes", bytes(range(256))), ("X-Attempt", b"the case differs: it is not ours")]
    one = event("faillong:8192", headers=own)
    case.produce([one])
    record, = case.check()
    seen = sorted(case.retries(), key=lambda found: number(found, "x-attempt")) + [record]
    assert [(found.topic, number(found, "x-attempt")) for found in seen] == [
        *((f"{case.consumer}.retry.{i}00ms", i + 1) for i in range(1, 6)), (case.dlq, 6)]
    for found in seen:
        theirs = [header for header in found.headers if header[0] not in OURS]
        ours = [header for header in found.headers if header[0] in OURS]
        assert theirs == one.wire_headers() and (found.key, found.value) == (one.key, one.value)
        assert len({name for name, _ in ours}) == len(ours) >= 10
        assert len(found.header("x-error")) == 1000, "a plugin's text is cut there"
        assert sum(len(name) + len(value) for name, value in ours) <= HEADERS_MOST


@pytest.mark.parametrize("left", [topics("1s"), {"mode": "in_place", "delays": ["100ms"]}])
def test_a_tier_that_is_configured_no_more_is_drained_when_its_records_are_due(bench, left):
    """ENGINE 7: a retry tier removed while it holds records; also when retry topics are not used any more."""
    case = bench.case(partitions=1)
    ordering = "none" if left["mode"] == "topics" else "key"
    settings = bench.settings(case, ordering="none", retry=topics("1s", "6s"))
    host = bench.host(settings, case).start()
    works, fails = case.produce([event("failn:2"), event("fail", key="f")])
    wait.until(lambda: sum(record.topic.endswith(".6s") for record in case.retries()) == 2, "both in the second tier", 30)
    assert host.stop() == 0
    settings["pipelines"][0].update(ordering=ordering, retry=left)
    host.configure(settings)
    host.start()
    record, = case.check()
    assert (record.id, record.reason) == (fails.id, "attempts_exhausted") and number(record, "x-attempt") == 3
    waited = {found.id: number(found, "x-due-ms") for found in case.retries() if found.topic.endswith(".6s")}
    applied = bench.database.one("SELECT extract(epoch FROM at) * 1000 FROM effect WHERE event_id = %s", works.id)
    assert 0 <= float(applied) - waited[works.id] <= 2000 and 0 <= record.timestamp - waited[fails.id] <= 2000
    assert bench.database.effects(case.consumer) == {works.id: 1}


def test_topics_of_the_host_are_made_to_lose_nothing(bench):
    """Delete policy, the DLQ for ever, tiers for 10 delays and no less than a week, room for the headers."""
    case = bench.case(partitions=2)
    bench.start(case, ordering="none", retry=topics("1s", "1d"))
    week, day = 7 * 86400000, 86400000
    for name, partitions, keeps in ((".dlq", 2, -1), (".retry.1s", 2, week), (".retry.1d", 2, 10 * day), (".retry.replay", 1, week)):
        topic = case.consumer + name
        found = bench.broker.settings(topic)
        assert bench.broker.partitions(topic) == list(range(partitions))
        assert found["cleanup.policy"] == "delete" and int(found["retention.bytes"]) == -1
        assert int(found["retention.ms"]) == keeps
        assert int(found["max.message.bytes"]) >= int(bench.broker.settings(case.topics[0])["max.message.bytes"]) + 65536


@pytest.mark.parametrize("name, setting, value, words", [
    (".retry.2s", "retention.ms", "1000", ["keeps records only 1000 ms", "before they are due", "retention.ms=604800000"]),
    (".retry.2s", "cleanup.policy", "compact", ["is compacted", "cleanup.policy=delete"]),
    (".dlq", "cleanup.policy", "compact", ["is compacted", "cleanup.policy=delete"]),
])
def test_a_topic_that_would_lose_records_is_refused_at_the_start(bench, name, setting, value, words):
    case = bench.case(partitions=1)
    bench.broker.create(case.consumer + name, 1, **{setting: value})
    host = bench.host(bench.settings(case, ordering="none", retry=topics("1s", "2s")), case).start(ready=False)
    assert host.wait_end() == 69
    for word in [f"topic {case.consumer}{name}", *words]:
        assert word in host.log(), host.log_tail()


def test_a_topic_that_may_lose_records_is_warned_of_at_the_start(bench):
    case = bench.case(partitions=1)
    bench.broker.create(case.dlq, 1, **{"retention.ms": "86400000", "retention.bytes": "1000000", "max.message.bytes": "2000"})
    bench.broker.create(case.consumer + ".retry.1s", 1, **{"retention.ms": "5000"})
    host = bench.start(case, ordering="none", retry=topics("1s"))
    warned = "\n".join(host.logged("config_warning"))
    for text in (f"{case.dlq} keeps records only 86400000 ms", f"{case.dlq} keeps only 1000000 bytes",
                 f"{case.dlq} has max.message.bytes=2000", f"{case.consumer}.retry.1s keeps records only 5000 ms"):
        assert text in warned, host.log_tail()
