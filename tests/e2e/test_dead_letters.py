"""What an operator does with dead letters: idemctl dlq list, show, replay, discard, index; dedup release (DLQ-2, ENGINE 1, 7)."""
import base64
import json
import re
import time

import pytest

from idem import wait
from idem.database import Postgres
from idem.events import Event, event, many, uuid7

DAY_MS = 86400000


def dlq(host, verb, case, *options, status=0):
    """The answer of idemctl dlq … --json."""
    ended = host.ctl("dlq", verb, "--pipeline", case.consumer, "--json", *options)
    assert ended.returncode == status, ended.stdout.decode() + ended.stderr.decode()
    return json.loads(ended.stdout) if ended.stdout else None


def listed(host, case, *options):
    return dlq(host, "list", case, *options)["dead_letters"]


def repair(bench):
    """What the events that say miss lack."""
    bench.database.run("INSERT INTO balance VALUES ('a key that is not there', 0)")


def state_of(bench, case):
    """What a command that changes nothing must leave as it is."""
    topics = [case.dlq, case.consumer + ".retry.replay", *case.topics]
    return {topic: bench.broker.watermarks(topic) for topic in topics}, bench.database.processed(case.consumer)


def test_a_dead_letter_is_found_repaired_replayed_and_applied_once(bench):
    """DLQ-2; Y19: a dry run changes nothing; the second replay has no effect."""
    case = bench.case()
    case.watch()
    host = bench.start(case)
    bad, _ = case.produce([event("miss", key="order-7"), event()])
    record, = case.check()
    letter, = listed(host, case)
    assert (letter["event_id"], letter["reason"], letter["claimed"]) == (bad.id, "expectation_missed", "no")
    assert (letter["partition"], letter["offset"]) == record.place[1:]
    assert tuple(letter["origin"][name] for name in ("topic", "partition", "offset")) == bad.copies[0]
    assert (letter["attempt"], letter["round"], letter["copies"]) == (1, 0, 1)
    shown = dlq(host, "show", case, "--id", bad.id.upper())
    assert (shown["key"], shown["payload"]) == ("order-7", bad.value.decode())
    assert {"name": "eventType", "value": "test.v1"} in shown["headers"]
    repair(bench)
    before = state_of(bench, case)
    would, = dlq(host, "replay", case, "--id", bad.id, "--dry-run")["dead_letters"]
    assert (would["event_id"], would["claimed"]) == (bad.id, "no")
    assert state_of(bench, case) == before
    assert dlq(host, "replay", case, "--id", bad.id) == {"matched": 1, "done": 1, "failed": 0}
    case.check(replayed=[bad.id])
    assert bench.database.effects(case.consumer)[bad.id] == 1
    assert listed(host, case)[0]["claimed"] == "yes" and listed(host, case, "--open") == []
    assert dlq(host, "replay", case, "--id", bad.id, "--dry-run")["dead_letters"][0]["claimed"] == "yes"
    assert dlq(host, "replay", case, "--id", bad.id)["done"] == 1
    case.check(replayed=[bad.id])
    assert bench.database.effects(case.consumer)[bad.id] == 1
    assert host.counted()[0]["duplicate"] == 1
    case.check_counters()


def test_a_replay_is_seen_by_its_own_group_only(bench):
    """Y9: c1 can't handle an event that c2 handled; its replay does not reach c2."""
    first = bench.case(partitions=1)
    second = bench.case(topics=first.topics)
    settings = bench.settings(first, event={"max_bytes": "40B"})
    settings["pipelines"].append(bench.pipeline(second))
    host = bench.host(settings).start()
    big, _ = first.produce([event(filler="x" * 100), event()])
    for one in (first, second):
        one.places, one.produced, one.applicable = first.places, first.produced, first.applicable
    first.check()
    second.check()
    assert host.stop() == 0
    settings["pipelines"][0] = bench.pipeline(first)
    host = bench.host(settings).start()
    assert dlq(host, "replay", first, "--all")["done"] == 1
    first.check(replayed=[big.id])
    second.check()
    assert bench.database.effects(first.consumer) == bench.database.effects(second.consumer)
    six, _ = host.counted(second.consumer)
    assert six == {"processed": 0, "duplicate": 0, "ignored": 0, "retried": 0, "parked": 0, "dead": 0}
    first.check_counters(host)


def test_a_replayed_record_is_the_original_a_round_later(bench):
    """DLQ-1, P3: key, value and headers byte for byte, null and empty kept apart; x-attempt 1, one round more, no x-due-ms."""
    case = bench.case(partitions=1)
    host = bench.start(case, ordering="none", event={"tombstone": "dlq"}, retry={"mode": "topics", "delays": ["100ms"]})
    events = [event("fail", key=key, headers=[("h", header)]) for key in (None, b"", b"\x00\xff") for header in (None, b"")]
    events += [Event(value, b"k", uuid7(), headers=[("h", b"\xff")]) for value in (None, b"")]
    case.produce(events)
    case.check()
    assert dlq(host, "replay", case, "--all")["done"] == len(events)
    sent = {record.id: record for record in bench.broker.read(case.consumer + ".retry.replay")}
    for one in events:
        record, headers = sent[one.id], dict(sent[one.id].headers)
        assert (record.key, record.value, headers["h"]) == (one.key, one.value, dict(one.headers)["h"])
        assert (headers["x-attempt"], headers["x-round"]) == (b"1", b"1")
        assert record.origin == one.copies[0] and headers["x-consumer-group"] == case.consumer.encode()
        assert not {"x-due-ms", "x-reason", "x-error"} & set(headers)
        assert len(headers) == len(record.headers), "a header stands twice"
    case.check(replayed=[one.id for one in events])
    again = {letter["event_id"]: letter for letter in listed(host, case)}
    assert {letter["round"] for letter in again.values()} == {1} and {letter["copies"] for letter in again.values()} == {2}
    case.check_counters()


def test_chosen_dead_letters_are_replayed_and_the_others_remain(bench):
    """Y19: 30 are dead, 10 are chosen; nothing happens without a choice."""
    case = bench.case()
    host = bench.start(case)
    dead = case.produce([event("miss", key=f"k{i % 5}") for i in range(30)])
    case.check()
    repair(bench)
    assert dlq(host, "replay", case, status=64) is None
    chosen = [word for one in dead[:10] for word in ("--id", one.id)]
    began = time.monotonic()
    assert dlq(host, "replay", case, "--rate", "20", *chosen)["done"] == 10
    assert time.monotonic() - began >= 9 / 20, "the rate was kept"
    case.check(replayed=[one.id for one in dead])
    assert set(bench.database.effects(case.consumer)) == {one.id for one in dead[:10]}
    assert {letter["event_id"] for letter in listed(host, case, "--open")} == {one.id for one in dead[10:]}
    assert dlq(host, "replay", case, "--reason", "nobody", status=1) == {"matched": 0, "done": 0, "failed": 0}
    assert dlq(host, "replay", case, "--reason", "expectation_missed", "--limit", "5")["matched"] == 5


@pytest.mark.parametrize("command", [["replay"], ["replay", "--dry-run"], ["discard"], ["discard", "--dry-run"]])
def test_that_nothing_matches_is_said_once(bench, command):
    case = bench.case(partitions=1)
    host = bench.start(case)
    case.produce([event("fatal")])
    case.check()
    ended = host.ctl("dlq", *command, "--pipeline", case.consumer, "--reason", "nobody")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.decode() == f"idemctl: no dead letter in topic {case.dlq} matches\n"


def test_filters_choose_what_is_listed(bench):
    case = bench.case(partitions=2)
    host = bench.start(case)
    rejected, old = case.produce([event("fatal", partition=0), event(id="f47ac10b-58cc-4372-a567-0e02b2c3d479", partition=1)])
    case.check()
    whole = {letter["reason"]: letter for letter in listed(host, case)}
    assert set(whole) == {"rejected", "id_invalid"} and whole["id_invalid"]["event_id"] is None
    at = "{partition}/{offset}".format(**whole["rejected"])
    topic, partition, offset = old.copies[0]
    for options, reason in ((["--id", rejected.id], "rejected"), (["--id", old.id], "id_invalid"), (["--at", at], "rejected"),
                            (["--origin", f"{topic}/{partition}/{offset}"], "id_invalid"), (["--origin", f"{topic}/0"], "rejected"),
                            (["--reason", "id_invalid", "--since", "1h"], "id_invalid")):
        assert [letter["reason"] for letter in listed(host, case, *options)] == [reason], options
    for options in (["--until", "1h"], ["--origin", "elsewhere"], ["--since", "2100-01-01"]):
        assert listed(host, case, *options) == [], options
    assert len(listed(host, case, "--limit", "1")) == 1
    for options in (["--since", "soon"], ["--at", "7"], ["--origin", "/1"], ["--rate", "3"], ["--limit", "many"]):
        assert dlq(host, "list", case, *options, status=64) is None, options
    assert dlq(host, "show", case, status=1) is None, "show takes one"


def test_a_discarded_event_is_not_applied_by_a_later_copy(bench):
    """ENGINE 1: the copy is a duplicate, and so is a replay."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    bad, = case.produce([event("miss")])
    case.check()
    before = state_of(bench, case)
    assert dlq(host, "discard", case, "--id", bad.id, "--dry-run")["matched"] == 1
    assert state_of(bench, case) == before
    answer = dlq(host, "discard", case, "--id", bad.id)
    assert answer == {"matched": 1, "discarded": 1, "claimed_before": 0, "impossible": 0}
    repair(bench)
    case.produce([bad])
    case.check(discarded=[bad.id])
    assert dlq(host, "replay", case, "--id", bad.id)["done"] == 1
    case.check(discarded=[bad.id])
    assert host.counted()[0]["duplicate"] == 2 and bench.database.effects(case.consumer) == {}
    assert dlq(host, "discard", case, "--id", bad.id)["claimed_before"] == 1
    case.check_counters()


def test_a_discarded_business_key_and_an_id_of_no_time_are_claimed_where_they_belong(bench):
    case = bench.case(partitions=1)
    host = bench.start(case, event={"business_key": "{eventType}:{orderId}"})
    bad, = case.produce([event("fatal", orderId=7)])
    case.wait_drained()
    letter, = listed(host, case, "--id", "test.v1:7")
    assert (letter["business_key"], letter["event_id"]) == ("test.v1:7", bad.id)
    assert dlq(host, "discard", case, "--id", "test.v1:7")["discarded"] == 1
    case.produce([event("ok", orderId=7, id=uuid7())])
    case.wait_drained()
    assert bench.database.effects(case.consumer) == {}
    assert len(case.dead()) == 2, "other content under a claimed key is reported"
    assert [one["claimed"] for one in listed(host, case)] == ["yes", "other"]
    any_id = bench.case(partitions=1)
    host = bench.start(any_id, event={"id_version": "any"})
    old, = any_id.produce([event("fatal", id="f47ac10b-58cc-4372-a567-0e02b2c3d479")])
    any_id.check()
    assert dlq(host, "discard", any_id, "--all")["discarded"] == 1
    assert bench.database.one("SELECT count(*) FROM processed_event_other WHERE event_id = %s", old.id) == 1


def test_a_dead_letter_without_an_id_can_be_replayed_but_not_discarded(bench):
    case = bench.case(partitions=1)
    host = bench.start(case)
    case.produce([event(id=None)])
    case.check()
    ended = host.ctl("dlq", "discard", "--pipeline", case.consumer, "--all")
    assert ended.returncode == 1 and b"no id that could be claimed" in ended.stderr
    assert b"not discarded" in host.ctl("dlq", "show", "--pipeline", case.consumer, "--reason", "id_missing").stdout
    assert dlq(host, "replay", case, "--all")["done"] == 1
    wait.until(lambda: len(case.dead()) == 2, "it to die again", 20)
    assert listed(host, case)[0]["copies"] == 2


def test_an_id_too_old_is_released_and_applied_once(bench):
    """ENGINE 1: an operator's release claims it in processed_event_other, once."""
    case = bench.case(partitions=1)
    settings = bench.settings(case)
    bench.host(settings, case).start().stop()
    bench.database.run("UPDATE dedup_group SET floor_day = base_day + 3 WHERE consumer_group = %s", case.consumer)
    old = event(id=uuid7(int(time.time() * 1000) - 6 * DAY_MS))
    case.produce([old, event()])
    host = bench.host(settings, case).start()
    record, = case.check()
    assert (record.id, record.reason) == (old.id, "id_too_old")
    shown = host.ctl("dlq", "show", "--pipeline", case.consumer, "--id", old.id).stdout.decode()
    assert f"dedup release {case.consumer} {old.id}" in shown
    assert dlq(host, "replay", case, "--id", old.id)["done"] == 1
    wait.until(lambda: len(case.dead()) == 2, "it to die again: nobody released it", 20)
    assert host.ctl("dedup", "release", case.consumer, uuid7()).returncode == 1, "a new id needs no release"
    assert host.ctl("dedup", "release", case.consumer, old.id).returncode == 0
    assert dlq(host, "replay", case, "--id", old.id)["done"] == 1
    case.check(replayed=[old.id])
    assert bench.database.effects(case.consumer)[old.id] == 1
    again = host.ctl("dedup", "release", case.consumer, old.id)
    assert again.returncode == 1 and b"is claimed" in again.stderr
    assert dlq(host, "replay", case, "--id", old.id)["done"] == 1
    case.check(replayed=[old.id])
    assert host.counted()[0]["duplicate"] == 1
    case.check_counters(host)


def test_rejected_beside_failing_is_replayed_and_applied(bench):
    """ENGINE 2: the claim of a rejected event does not come back with a neighbour's ROLLBACK TO; its replay is no duplicate."""
    case = bench.case(partitions=1)
    events = [event("queue:0"), event("miss"), event(), event("queue:0"), event("miss"), event("queue:0"), event()]
    case.produce(events)
    host = bench.start(case, workers=1)
    case.check()
    repair(bench)
    rejected = [events[1].id, events[4].id]
    assert dlq(host, "replay", case, "--id", rejected[0], "--id", rejected[1])["done"] == 2
    case.check(replayed=rejected)
    effects = bench.database.effects(case.consumer)
    assert [effects[id] for id in rejected] == [1, 1] and host.counted()[0]["duplicate"] == 0
    case.check_counters()


def test_no_payload_key_or_header_reaches_the_terminal_raw(bench):
    """P5, U5: control characters, bad UTF-8 and what turns text around are shown as text; --raw writes the very bytes."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    value = b'{"do":"\xc3\x28\x1b[31mred\x1b]0;title\x07\x9b2J \xe2\x80\xae\xc2\x9b\r\n\x00<script>"}'
    case.produce([Event(value, b"\x1b[2Jkey", uuid7(), headers=[("he\x1bader", b"\x1b[1mvalue\x08")]),
                  Event(b"{}", b"k", "\x1b[5mid\x1b[0m", type="\x1b]2;x\x07")])
    wait.until(lambda: len(case.dead()) == 2, "both to be dead", 30)
    letters = {letter["reason"]: letter for letter in listed(host, case)}
    malformed, invalid = letters["malformed"], letters["id_invalid"]
    texts = [host.ctl("dlq", "list", "--pipeline", case.consumer).stdout]
    for letter in (malformed, invalid):
        at = "{partition}/{offset}".format(**letter)
        texts.append(host.ctl("dlq", "show", "--pipeline", case.consumer, "--at", at).stdout)
        texts.append(host.ctl("dlq", "show", "--pipeline", case.consumer, "--at", at, "--json").stdout)
    for text in texts:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text.decode("utf-8", "strict")), text
    assert rb"\xc3(\x1b[31mred\x1b]0;title\x07\x9b2J \u{202e}\u{009b}\r\n\x00<script>" in texts[1] and rb"\x1b[2Jkey" in texts[1]
    assert base64.b64decode(json.loads(texts[2])["payload_base64"]) == value
    raw = host.ctl("dlq", "show", "--pipeline", case.consumer, "--reason", "malformed", "--raw")
    assert (raw.returncode, raw.stdout) == (0, value)


def test_copies_of_a_dead_letter_are_one_and_other_groups_are_left_out(bench):
    """ENGINE 7: a crash between acknowledgement and offset commit leaves two; pipelines may share a DLQ."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    bad, = case.produce([event("miss")])
    record, = case.check()
    for group in (case.consumer, case.consumer + "-other"):
        headers = [(name, group.encode() if name == "x-consumer-group" else text) for name, text in record.headers]
        bench.broker.producer.produce(case.dlq, record.value, record.key, headers=headers)
    assert bench.broker.producer.flush(10) == 0
    assert dlq(host, "index", case) == {"indexed": 2, "forgotten": 0}
    answer = dlq(host, "list", case)
    assert (answer["matched"], answer["from"]) == (1, "index")
    assert answer["dead_letters"][0]["copies"] == 2 and answer["dead_letters"][0]["offset"] == record.offset
    repair(bench)
    assert dlq(host, "replay", case, "--all") == {"matched": 1, "done": 1, "failed": 0}
    case.wait_drained()
    assert bench.database.effects(case.consumer) == {bad.id: 1}


def test_only_acknowledged_replays_count(bench):
    """Y5: one of two is too large for the topic: done 1, failed 1, status 1; the other is applied."""
    case = bench.case(partitions=1)
    bench.broker.create(case.consumer + ".retry.replay", 1, **{"max.message.bytes": "3000"})
    host = bench.start(case)
    big, small = case.produce([event("miss", filler="x" * 4000), event("miss")])
    case.check()
    repair(bench)
    assert dlq(host, "replay", case, "--all", status=1) == {"matched": 2, "done": 1, "failed": 1}
    case.check(replayed=[small.id])
    assert set(bench.database.effects(case.consumer)) == {small.id}
    assert big.id in {letter["event_id"] for letter in listed(host, case, "--open")}


def test_without_a_broker_the_index_answers_and_the_others_say_so(bench):
    """Listing and discarding read no topic; what needs the record does."""
    case = bench.case(partitions=1)
    host = bench.start(case)
    bad, = case.produce([event("miss")])
    case.check()
    assert host.stop() == 0
    settings = bench.settings(case)
    settings["kafka"]["bootstrap_servers"] = "127.0.0.1:1"
    host = bench.host(settings, case)
    for verb in (["show"], ["replay", "--all"], ["index"]):
        ended = host.ctl("dlq", *verb, "--pipeline", case.consumer)
        assert ended.returncode == 69 and case.dlq.encode() in ended.stderr, verb
    assert [(letter["event_id"], letter["state"]) for letter in listed(host, case)] == [(bad.id, "open")]
    assert dlq(host, "discard", case, "--all")["discarded"] == 1
    assert [letter["state"] for letter in listed(host, case)] == ["discarded"] and listed(host, case, "--open") == []


def test_without_the_database_the_topic_is_listed_and_shown(bench):
    case = bench.case(partitions=1)
    host = bench.start(case)
    bad, = case.produce([event("miss")])
    case.check()
    settings = bench.settings(case)
    settings["database"]["conninfo"] = "host=127.0.0.1 port=1 dbname=nobody"
    host = bench.host(settings, case)
    answer = dlq(host, "list", case)
    assert answer["from"] == "topic" and [letter["event_id"] for letter in answer["dead_letters"]] == [bad.id]
    assert dlq(host, "show", case, "--id", bad.id)["payload"] == bad.value.decode()
    for verb in ("replay", "discard", "index"):
        ended = host.ctl("dlq", verb, "--pipeline", case.consumer, *([] if verb == "index" else ["--all"]))
        assert ended.returncode == 69, verb


def test_what_was_done_is_remembered_with_who_and_when(bench):
    """Y19: an audit row with who, when, what; the index is made anew from the topic and keeps it."""
    case = bench.case(partitions=2)
    host = bench.start(case)
    first, second, third = case.produce([event("miss", partition=0), event("miss", partition=1), event("miss", partition=0)])
    case.check()
    assert dlq(host, "replay", case, "--id", first.id, "--dry-run")["matched"] == 1
    assert bench.database.one("SELECT count(*) FROM dead_letter_action") == 0
    repair(bench)
    assert dlq(host, "replay", case, "--id", first.id)["done"] == 1
    assert dlq(host, "discard", case, "--id", second.id)["discarded"] == 1
    case.check(replayed=[first.id], discarded=[second.id])
    actions = bench.database.run("SELECT event_id, action, actor, at > now() - interval '1 minute' FROM dead_letter_action ORDER BY number")
    assert [row[:2] for row in actions] == [(first.id, "replayed"), (second.id, "discarded")]
    assert all("@" in row[2] and row[2].endswith(Postgres.ROLE) and row[3] for row in actions)
    states = {letter["event_id"]: letter["state"] for letter in listed(host, case)}
    assert states == {first.id: "replayed", second.id: "discarded", third.id: "open"}
    assert dlq(host, "replay", case, "--all", "--open")["matched"] == 1
    bench.database.run("DELETE FROM dead_letter WHERE event_id = %s", third.id)
    bench.database.run("UPDATE dead_letter SET dlq_offset = dlq_offset + 1000, died_at = now() - interval '1 day' WHERE event_id = %s", second.id)
    assert dlq(host, "index", case) == {"indexed": 3, "forgotten": 1}
    states = {letter["event_id"]: letter["state"] for letter in listed(host, case)}
    assert states == {first.id: "replayed", second.id: "open", third.id: "open"}
    assert dlq(host, "index", case) == {"indexed": 3, "forgotten": 0}


def test_a_hundred_thousand_dead_letters_are_listed_from_the_index(bench):
    """ENGINE 7: no topic is read for it: there is none."""
    case = bench.case(partitions=1)
    host = bench.host(bench.settings(case), case)
    bench.database.run(
        "INSERT INTO dead_letter (consumer_group, dlq_partition, dlq_offset, died_at, event_id, event_uuid, content_hash, reason, error,"
        " origin_topic, origin_partition, origin_offset, attempt, round)"
        " SELECT %s, n %% 3, n, now(), id, id::uuid, 1, CASE WHEN n %% 1000 = 0 THEN 'rejected' ELSE 'malformed' END, 'text', 't', 0, n, 1, 0"
        " FROM (SELECT n, gen_random_uuid()::text AS id FROM generate_series(1, 100000) n) ids", case.consumer)
    began = time.monotonic()
    answer = dlq(host, "list", case)
    assert (answer["matched"], len(answer["dead_letters"]), answer["from"]) == (100000, 100, "index")
    assert dlq(host, "list", case, "--reason", "rejected")["matched"] == 100
    took = time.monotonic() - began
    assert took < 10 * wait.PATIENCE, f"both took {took:.1f} s"
    assert case.dlq not in bench.broker.topics()


def test_thousands_of_dead_letters_are_listed_and_replayed(bench):
    """More than may be in flight; everything is read in both passes, whatever the partition."""
    case = bench.case(partitions=3)
    host = bench.start(case, workers=4)
    events = case.produce(many(2500, "miss", keys=50))
    case.check(timeout=90)
    answer = dlq(host, "list", case, "--limit", "0")
    assert answer["matched"] == 2500 and len({letter["event_id"] for letter in answer["dead_letters"]}) == 2500
    repair(bench)
    assert dlq(host, "replay", case, "--all") == {"matched": 2500, "done": 2500, "failed": 0}
    case.check(replayed=[one.id for one in events], timeout=90)
    assert listed(host, case, "--open") == []
