/* Parked events: an event that is tried again and what follows for its key wait in the database, in order (ENGINE 7).
 */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/pipeline/released.h"
#include "tests/component/batch_bench.h"

static struct release release;
static struct parked_take *take;

static void setup(void)
{
	bench_setup();
	bench.pipeline.retry.mode = CONFIG_RETRY_PARKED;
	release = (struct release){0};
	take = NULL;
}

static void teardown(void)
{
	bench_teardown();
	parked_take_destroy(take);
	ck_assert_uint_eq(release.records, 0);
}

/* "key attempt reason" of each row, in order. */
static const char *rows(void)
{
	return database_ask(
	        owner,
	        "SELECT string_agg(concat_ws(' ', convert_from(key, 'UTF8'), attempt, reason), ', ' ORDER BY place) "
	        "FROM \"%s\".parked_event",
	        database_schema);
}

/* "key events" of each key. */
static const char *keys(void)
{
	return database_ask(owner,
	                    "SELECT string_agg(concat_ws(' ', convert_from(key, 'UTF8'), events), ', ' ORDER BY key) "
	                    "FROM \"%s\".parked_key",
	                    database_schema);
}

/* Those that said RETRY would say DONE now, and none was tried yet. */
static void repair(void)
{
	database_run(owner,
	             "UPDATE \"%s\".parked_event SET attempt = 0, record = decode(replace(encode(record, 'hex'), "
	             "encode('verdict:2', 'hex'), encode('verdict:1', 'hex')), 'hex')",
	             database_schema);
}

static void make_due(void)
{
	database_run(owner, "UPDATE \"%s\".parked_key SET due = now() - interval '1 s'", database_schema);
}

/* What is due, in records; partition -1: as a host that reads nothing of it. */
static size_t taken(int partition)
{
	struct error error;
	parked_take_destroy(take);
	take = parked_take_create("billing");
	struct bytes topic = BYTES_LITERAL("orders");
	int64_t number = partition;
	take->topics = &topic;
	take->partitions = &number;
	take->partition_count = 1;
	take->max_keys = take->max_events = 100;
	take->max_bytes = take->max_bytes ? take->max_bytes : 1 << 20;
	ck_assert_msg(parked_take_due(bench.engine.parked, bench.pg, take, &error), "%s", error.text);
	return take->row_count;
}

/* Released: row of the last take. */
static struct record *released(size_t row)
{
	struct released *copy = released_create(&take->rows[row], &release);
	ck_assert_ptr_nonnull(copy);
	struct record *record = record_create_released(copy, bench.partition);
	record->lane = (struct lane *)(uintptr_t)copy->key.ptr[copy->key.len - 1];
	bench.records[bench.count++] = record;
	return record;
}

static void release_all(void)
{
	make_due();
	size_t count = taken(0);
	for (size_t i = 0; i < count; i++)
		released(i);
}

START_TEST(what_follows_for_the_key_is_parked_behind_it)
{
	bench_start("steer_one");
	bench_event('a', "note:one");
	bench_event('a', "verdict:2");
	bench_event('b', "note:two");
	bench_event('a', "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, parked, done, parked");
	ck_assert_str_eq(bench_notes(), "one two");
	ck_assert_str_eq(rows(), "key:a 1 retry, key:a 0 parked_behind");
	ck_assert_str_eq(keys(), "key:a 2");
	ck_assert_int_eq(bench_claims(), 2);
	bench_event('a', "note:four"); /* in another transaction, by another process for all it knows */
	bench_event('c', "note:five");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "parked, done");
	ck_assert_str_eq(keys(), "key:a 3");
	ck_assert_int_eq(bench_counter("runs"), 4);
}
END_TEST

START_TEST(a_set_parks_and_releases_like_single_events)
{
	bench_start("steer_batch");
	bench_event('a', "note:one;verdict:2");
	bench_event('b', "note:two");
	bench_event('a', "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "parked, done, parked");
	database_run(owner, "UPDATE \"%s\".parked_event SET attempt = 0", database_schema);
	release_all();
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "parked, back");
	repair();
	release_all();
	bench_event('a', "note:four");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, done, done");
	ck_assert_str_eq(bench_notes(), "two one three four");
	ck_assert_str_eq(keys(), "");
}
END_TEST

START_TEST(released_in_order_the_last_one_takes_its_key_along)
{
	bench_start("steer_one");
	bench_event('a', "note:one;verdict:2");
	bench_event('a', "note:two");
	bench_event('a', "note:three");
	ck_assert(bench_run());
	ck_assert_uint_eq(taken(0), 0); /* not due */
	repair();
	release_all();
	bench_event('a', "note:four"); /* all that is parked is before it in the same transaction */
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, done, done, done");
	ck_assert_str_eq(bench_notes(), "one two three four");
	ck_assert_str_eq(rows(), "");
	ck_assert_str_eq(keys(), "");
	ck_assert_int_eq(bench_claims(), 4);
	ck_assert_str_eq(database_ask(owner, "SELECT count(*) FROM \"%s\".event_attempt", database_schema), "0");
}
END_TEST

START_TEST(only_some_of_a_key_released_the_rest_stays_before_what_comes)
{
	bench_start("steer_one");
	bench_event('a', "note:one;verdict:2");
	bench_event('a', "note:two");
	ck_assert(bench_run());
	repair();
	make_due();
	ck_assert_uint_eq(taken(0), 2);
	released(0);
	bench_event('a', "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, parked");
	ck_assert_str_eq(bench_notes(), "one");
	ck_assert_str_eq(keys(), "key:a 2");
}
END_TEST

START_TEST(what_is_not_the_first_of_its_key_is_left_alone)
{
	bench_start("steer_one");
	bench_event('a', "verdict:2");
	bench_event('a', "note:two");
	ck_assert(bench_run());
	repair();
	make_due();
	ck_assert_uint_eq(taken(0), 2);
	released(1);
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "back");
	ck_assert_str_eq(bench_notes(), "");
	/* Another host released all of it meanwhile. */
	released(0);
	released(1);
	database_run(owner, "DELETE FROM \"%s\".parked_event", database_schema);
	database_run(owner, "DELETE FROM \"%s\".parked_key", database_schema);
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "back, back");
	ck_assert_int_eq(bench_claims(), 0);
}
END_TEST

START_TEST(it_fails_again_until_its_attempts_are_used_up)
{
	bench_start("steer_one");
	bench_event('a', "verdict:2");
	bench_event('a', "note:two");
	ck_assert(bench_run());
	release_all();
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "parked"); /* alone, for it failed before */
	ck_assert_uint_eq(taken(0), 0);                /* it waits for its delay again */
	ck_assert_str_eq(rows(), "key:a 2 retry, key:a 0 parked_behind");
	release_all();
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead attempts_exhausted");
	/* Its row stays until the dead letter is acknowledged; after a crash before that it goes there again. */
	ck_assert_str_eq(keys(), "key:a 2");
	release_all();
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead attempts_exhausted");
	ck_assert_int_eq(bench_counter("runs"), 3);
	release_all();
	bench.records[bench.count - 1]->released->is_buried = true;
	ck_assert(bench_run());
	ck_assert_str_eq(keys(), "key:a 1");
	release_all();
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_str_eq(keys(), "");
	ck_assert_str_eq(database_ask(owner, "SELECT route FROM \"%s\".event_attempt", database_schema), "dead");
	ck_assert_str_eq(bench_notes(), "two");
}
END_TEST

START_TEST(a_copy_is_a_duplicate_whatever_its_key)
{
	bench_start("steer_one");
	struct record *first = bench_event('a', "verdict:2"), *behind = bench_event('a', "note:two");
	bench_copy('a', first, "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "parked, parked, duplicate");
	bench_copy('b', behind, "note:two");
	bench_copy('c', first, "verdict:2");
	bench_copy('a', behind, "note:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "duplicate, duplicate, duplicate");
	ck_assert_str_eq(keys(), "key:a 2");
	ck_assert_str_eq(bench_notes(), "");
	/* Beside its release, and before it in the batch: the one that is parked counts. */
	bench_copy('b', first, "note:copy");
	release_all();
	ck_assert(bench_run());
	ck_assert_str_eq(rows(), "key:a 2 retry, key:a 0 parked_behind");
}
END_TEST

START_TEST(a_row_that_is_there_already_makes_it_a_duplicate)
{
	bench_start("steer_one");
	struct record *first = bench_event('a', "verdict:2");
	ck_assert(bench_run());
	database_run(owner, "DELETE FROM \"%s\".event_attempt", database_schema); /* what else would tell */
	bench_copy('a', first, "verdict:2");
	bench_event('a', "note:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "duplicate, parked");
	ck_assert_str_eq(keys(), "key:a 2");
}
END_TEST

/* Somebody else works on the key: releases its last event, or only holds it. */
static struct pg *lock_key(void)
{
	struct pg *other = database_connect("postgres");
	database_run(other, "BEGIN");
	database_run(other, "SELECT FROM \"%s\".parked_key FOR UPDATE", database_schema);
	return other;
}

START_TEST(nothing_is_parked_behind_a_key_that_is_just_going)
{
	bench_start("steer_one");
	bench_event('a', "verdict:2");
	ck_assert(bench_run());
	struct pg *other = lock_key();
	bench_event('a', "note:two");
	bench_run_in_thread(1, &bench.records[1], 1);
	database_wait_for_waiters(owner, 1);
	database_run(other, "DELETE FROM \"%s\".parked_event", database_schema);
	database_run(other, "DELETE FROM \"%s\".parked_key", database_schema);
	database_run(other, "COMMIT");
	ck_assert(bench_join(1));
	ck_assert_str_eq(bench_outcomes(1), "done");
	ck_assert_str_eq(rows(), "");
	pg_close(other);
}
END_TEST

START_TEST(a_key_that_is_held_for_long_holds_back_only_itself)
{
	bench_start("steer_one");
	bench_event('a', "verdict:2");
	ck_assert(bench_run());
	struct pg *other = lock_key();
	struct record *behind = bench_event('a', "note:two");
	ck_assert(!bench_run_records(0, &behind, 1));
	ck_assert_int_eq(bench.sides[0].batch.failure, BATCH_BUSY);
	database_run(other, "ROLLBACK");
	pg_close(other);
}
END_TEST

START_TEST(the_look_up_is_behind_the_claim)
{
	/* The copy of an event that another transaction parks waits for it, and sees its key parked. */
	bench_start("steer_one");
	struct record *first = bench_event('a', "nap:400;verdict:2"), *copy = bench_copy('a', first, "note:copy");
	struct record *both[] = {copy, bench_event('a', "note:two")};
	bench_run_in_thread(1, &first, 1);
	while (bench_counter("runs") < 1)
		database_run(owner, "SELECT pg_sleep(0.005)");
	while (!bench_run_records(0, both, 2)) /* 55P03: too soon, again as the worker does */
		ck_assert(bench.sides[0].batch.failure == BATCH_AGAIN || bench.sides[0].batch.failure == BATCH_BUSY);
	ck_assert(bench_join(1));
	ck_assert_str_eq(bench_outcomes(0), "duplicate, parked");
}
END_TEST

START_TEST(at_the_limit_of_a_key_the_lane_waits_in_place)
{
	bench.pipeline.retry.max_parked_per_key = 2;
	bench_start("steer_one");
	bench_event('a', "verdict:2");
	bench_event('a', "note:two");
	bench_event('a', "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "parked, parked, back");
	bench_event('a', "note:three");
	bench_event('a', "note:four");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "back, back");
	ck_assert_int_ge(bench.sides[0].batch.entries[0].hold_ms, 100);
	ck_assert_str_eq(keys(), "key:a 2");
}
END_TEST

START_TEST(at_the_limit_of_all_it_is_tried_again_in_place)
{
	bench.pipeline.retry.max_parked = 10;
	bench_start("steer_one");
	atomic_store(&bench.engine.parking.events, 10);
	bench_event('a', "verdict:2");
	bench_event('a', "note:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry, back");
	ck_assert_str_eq(keys(), "");
	ck_assert_str_eq(database_ask(owner, "SELECT route FROM \"%s\".event_attempt", database_schema), "in_place");
}
END_TEST

START_TEST(in_order_of_a_partition_the_partition_is_parked)
{
	bench.pipeline.ordering = CONFIG_ORDERING_PARTITION;
	bench_start("steer_one");
	bench_event('p', "verdict:2");
	bench_event('p', "note:two");
	ck_assert(bench_run());
	ck_assert_str_eq(keys(), "partition:orders/0 2");
}
END_TEST

START_TEST(what_is_due_is_taken_by_who_reads_the_partition)
{
	bench_start("steer_one");
	bench_event('a', "verdict:2");
	bench_event('b', "verdict:2");
	ck_assert(bench_run());
	make_due();
	ck_assert_uint_eq(taken(7), 0);
	ck_assert_int_eq(take->total_keys, 2);
	ck_assert_uint_eq(taken(0), 2);
	/* Nobody released it for a minute: it is anybody's. */
	database_run(owner, "UPDATE \"%s\".parked_key SET due = due - interval '2 min' WHERE key = 'key:b'",
	             database_schema);
	ck_assert_uint_eq(taken(7), 1);
	ck_assert(bytes_equal_string(take->rows[0].key, "key:b"));
	ck_assert_int_eq(take->rows[0].attempt, 1);
}
END_TEST

static int64_t horizon_ms(long long now_ms)
{
	return database_number(owner, "SELECT \"%s\".dedup_horizon_ms('billing', %lld)", database_schema, now_ms);
}

START_TEST(a_day_with_a_parked_id_is_not_forgotten)
{
	bench_start("steer_one");
	bench_event('a', "verdict:2");
	ck_assert(bench_run());
	database_run(owner,
	             "INSERT INTO \"%s\".partition_state (consumer_group, topic, partition, next_offset, low_ms, at) "
	             "VALUES ('billing', 'orders', 0, 1, %lld, now() + interval '300 days')",
	             database_schema, (long long)(clock_wall_ms() + 400 * DAY_MS));
	database_run(owner, "UPDATE \"%s\".parked_event SET produced_ms = 1000", database_schema);
	long long then = clock_wall_ms() + 300 * DAY_MS;
	ck_assert_int_eq(horizon_ms(then), 1000 - DAY_MS);
	database_run(owner, "DELETE FROM \"%s\".parked_event", database_schema);
	ck_assert_int_eq(horizon_ms(then), then - 7 * DAY_MS);
}
END_TEST

int main(int count, char **argv)
{
	(void)count;
	TCase *tests = tcase_create("parked");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, what_follows_for_the_key_is_parked_behind_it);
	tcase_add_test(tests, a_set_parks_and_releases_like_single_events);
	tcase_add_test(tests, released_in_order_the_last_one_takes_its_key_along);
	tcase_add_test(tests, only_some_of_a_key_released_the_rest_stays_before_what_comes);
	tcase_add_test(tests, what_is_not_the_first_of_its_key_is_left_alone);
	tcase_add_test(tests, it_fails_again_until_its_attempts_are_used_up);
	tcase_add_test(tests, a_copy_is_a_duplicate_whatever_its_key);
	tcase_add_test(tests, a_row_that_is_there_already_makes_it_a_duplicate);
	tcase_add_test(tests, nothing_is_parked_behind_a_key_that_is_just_going);
	tcase_add_test(tests, a_key_that_is_held_for_long_holds_back_only_itself);
	tcase_add_test(tests, the_look_up_is_behind_the_claim);
	tcase_add_test(tests, at_the_limit_of_a_key_the_lane_waits_in_place);
	tcase_add_test(tests, at_the_limit_of_all_it_is_tried_again_in_place);
	tcase_add_test(tests, in_order_of_a_partition_the_partition_is_parked);
	tcase_add_test(tests, what_is_due_is_taken_by_who_reads_the_partition);
	tcase_add_test(tests, a_day_with_a_parked_id_is_not_forgotten);
	Suite *suite = suite_create("parked");
	suite_add_tcase(suite, tests);
	return database_main(argv, suite);
}
