/* Whom the next process suspects, and what it does about it (ENGINE 6).  A process dies here by opening the page anew.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/component/batch_bench.h"

static struct batch *batch(void)
{
	return &bench.sides[0].batch;
}

static void die_in(bool is_alone, const char *const *ids, size_t count, bool *out_is_broken)
{
	struct blame_event events[8];
	for (size_t i = 0; i < count; i++)
		events[i] = (struct blame_event){bytes_from_string(ids[i]), 0};
	blame_enter(bench.engine.blame, 1, is_alone, events, count);
	bench_open_blame(out_is_broken);
}

static void die_of(bool is_alone, const char *id)
{
	bool is_broken;
	die_in(is_alone, &id, 1, &is_broken);
}

static int64_t deaths_of(const char *id)
{
	return database_number(owner, "SELECT coalesce(max(deaths), 0) FROM \"%s\".event_attempt WHERE event_id = '%s'",
	                       database_schema, id);
}

static const char *id_of(const struct record *record)
{
	static char id[37];
	snprintf(id, sizeof(id), "%s", (const char *)record->message->payload + strlen("{\"eventId\":\""));
	return id;
}

START_TEST(in_company_a_death_counts_once_and_alone_each_time)
{
	static const char *const both[] = {"a", "b"};
	bool is_broken;
	bench_start("steer_one");
	die_in(false, both, 2, &is_broken);
	die_in(false, both, 2, &is_broken);
	ck_assert_int_eq(deaths_of("a"), 1);
	ck_assert_int_eq(deaths_of("b"), 1);
	die_of(true, "a");
	die_of(true, "a");
	ck_assert_int_eq(deaths_of("a"), 3);
	ck_assert_int_eq(deaths_of("b"), 1);
}
END_TEST

START_TEST(who_left_the_handler_and_who_stops_on_purpose_is_not_suspected)
{
	bool is_broken;
	bench_start("steer_one");
	bench_event('a', "note:one");
	ck_assert(bench_run());
	bench_open_blame(&is_broken);
	const struct blame_event event = {BYTES_LITERAL("a"), 0};
	blame_enter(bench.engine.blame, 0, false, &event, 1);
	blame_end(bench.engine.blame);
	bench_open_blame(&is_broken);
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM \"%s\".event_attempt", database_schema), 0);
}
END_TEST

START_TEST(a_replay_begins_with_no_deaths)
{
	bool is_broken;
	bench_start("steer_one");
	die_of(false, "a");
	die_of(true, "a");
	const struct blame_event replay = {BYTES_LITERAL("a"), 1};
	blame_enter(bench.engine.blame, 0, true, &replay, 1);
	bench_open_blame(&is_broken);
	ck_assert_int_eq(deaths_of("a"), 1);
}
END_TEST

START_TEST(deaths_without_a_success_between_on_two_events_are_a_broken_build)
{
	static const char *const ids[] = {"a", "b"};
	bool is_broken = false;
	bench_start("steer_one");
	for (int i = 1; i < BLAME_BREAKER_DEATHS; i++) {
		die_in(false, &ids[i % 2], 1, &is_broken);
		ck_assert(!is_broken);
	}
	die_in(false, &ids[0], 1, &is_broken);
	ck_assert(is_broken);
	die_in(false, &ids[0], 1, &is_broken); /* the next start has all its tries again */
	ck_assert(!is_broken);
}
END_TEST

START_TEST(one_event_alone_and_one_success_are_no_broken_build)
{
	static const char *const ids[] = {"a", "b"};
	bool is_broken = false;
	bench_start("steer_one");
	for (int i = 0; i < 2 * BLAME_BREAKER_DEATHS; i++) {
		die_in(false, &ids[0], 1, &is_broken);
		ck_assert(!is_broken);
	}
	for (int i = 0; i < 2 * BLAME_BREAKER_DEATHS; i++) {
		if (i % 3 == 0)
			blame_succeeded(bench.engine.blame);
		die_in(false, &ids[i % 2], 1, &is_broken);
		ck_assert(!is_broken);
	}
}
END_TEST

START_TEST(each_success_lets_one_suspect_run)
{
	bench_start("steer_one");
	ck_assert(!blame_take_success(bench.engine.blame));
	blame_succeeded(bench.engine.blame);
	blame_succeeded(bench.engine.blame);
	ck_assert(blame_take_success(bench.engine.blame));
	ck_assert(!blame_take_success(bench.engine.blame));
	blame_succeeded(bench.engine.blame);
	ck_assert(blame_take_success(bench.engine.blame));
}
END_TEST

static void damage(const void *bytes, size_t count, off_t at)
{
	char path[200];
	snprintf(path, sizeof(path), "%s/blame/%s", bench.state_dir, bench.pipeline.name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, count, at), (ssize_t)count);
	ck_assert_int_eq(close(fd), 0);
}

START_TEST(a_damaged_page_suspects_nobody)
{
	static const unsigned char bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const struct blame_event event = {BYTES_LITERAL("a"), 0};
	bool is_broken;
	bench_start("steer_one");
	for (off_t at = 0; at < 24; at += 8) { /* each of the numbers that say how long it is */
		blame_enter(bench.engine.blame, 0, false, &event, 1);
		damage(bytes, sizeof(bytes), at);
		bench_open_blame(&is_broken);
		ck_assert(!is_broken);
	}
	ck_assert_int_eq(deaths_of("a"), 0);
}
END_TEST

START_TEST(a_suspect_runs_only_alone_and_is_cleared_when_it_is_done)
{
	bench_start("steer_one");
	struct record *both[] = {bench_event('a', "note:one"), bench_event('b', "note:two")};
	die_of(false, id_of(both[1]));
	ck_assert(!bench_run_records(0, both, 2));
	ck_assert_int_eq(batch()->failure, BATCH_SUSPECT);
	ck_assert(!both[0]->is_suspect && both[1]->is_suspect);
	ck_assert(bench_run_records(0, both, 1));
	batch()->is_alone = true;
	ck_assert(bench_run_records(0, both + 1, 1));
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_int_eq(deaths_of(id_of(both[1])), 0);
	ck_assert_str_eq(bench_notes(), "one two");
}
END_TEST

START_TEST(after_the_last_death_it_is_dead_without_being_handled)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "note:one");
	for (int i = 0; i < 3; i++)
		die_of(i > 0, id_of(record));
	batch()->is_alone = true;
	ck_assert(bench_run_records(0, &record, 1));
	ck_assert_str_eq(bench_outcomes(0), "dead process_crash");
	ck_assert_str_eq(
	        database_ask(owner, "SELECT route || ' ' || deaths FROM \"%s\".event_attempt", database_schema),
	        "dead 3");
	ck_assert_int_eq(bench_claims(), 0);
	batch()->is_alone = false;
	ck_assert(bench_run_records(0, &record, 1)); /* again, after a crash: as it was decided */
	ck_assert_str_eq(bench_outcomes(0), "dead process_crash");
	ck_assert_str_eq(bench_notes(), "");
}
END_TEST

START_TEST(a_duplicate_is_no_suspect_whatever_it_was_before)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "note:one");
	ck_assert(bench_run());
	die_of(false, id_of(record));
	ck_assert(bench_run_records(0, &record, 1));
	ck_assert_str_eq(bench_outcomes(0), "duplicate");
}
END_TEST

START_TEST(a_worker_runs_suspects_alone_after_the_others)
{
	bench_start("steer_one");
	struct record *records[] = {bench_event('a', "note:one"), bench_event('b', "note:two"),
	                            bench_event('c', "note:three")};
	die_of(false, id_of(records[0]));
	die_of(false, id_of(records[1]));
	bench_push_all("abc", records);
	bench_start_worker();
	bench_wait_finished(3);
	bench_stop_worker();
	ck_assert_int_eq(database_number(owner, "SELECT count(DISTINCT text) FROM note"), 3);
	ck_assert_str_eq(database_ask(owner, "SELECT text FROM note ORDER BY n LIMIT 1"), "three");
	ck_assert_int_eq(database_number(owner, "SELECT count(DISTINCT xmin::text) FROM note"), 3);
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM \"%s\".event_attempt", database_schema), 0);
}
END_TEST

int main(int count, char **argv)
{
	(void)count;
	TCase *tests = tcase_create("blame");
	tcase_add_checked_fixture(tests, bench_setup, bench_teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, in_company_a_death_counts_once_and_alone_each_time);
	tcase_add_test(tests, who_left_the_handler_and_who_stops_on_purpose_is_not_suspected);
	tcase_add_test(tests, a_replay_begins_with_no_deaths);
	tcase_add_test(tests, deaths_without_a_success_between_on_two_events_are_a_broken_build);
	tcase_add_test(tests, one_event_alone_and_one_success_are_no_broken_build);
	tcase_add_test(tests, each_success_lets_one_suspect_run);
	tcase_add_test(tests, a_damaged_page_suspects_nobody);
	tcase_add_test(tests, a_suspect_runs_only_alone_and_is_cleared_when_it_is_done);
	tcase_add_test(tests, after_the_last_death_it_is_dead_without_being_handled);
	tcase_add_test(tests, a_duplicate_is_no_suspect_whatever_it_was_before);
	tcase_add_test(tests, a_worker_runs_suspects_alone_after_the_others);
	Suite *suite = suite_create("blame");
	suite_add_tcase(suite, tests);
	return database_main(argv, suite);
}
