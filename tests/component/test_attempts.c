/* What became of an event before decides where its record goes when it comes again (ENGINE 7). */
#include <stdio.h>
#include <string.h>

#include "tests/component/batch_bench.h"

/* The only row: "round attempt route reason", "" for none. */
static const char *stored(void)
{
	return database_ask(owner,
	                    "SELECT coalesce((SELECT concat_ws(' ', round, attempt, route, reason) "
	                    "FROM \"%s\".event_attempt), '')",
	                    database_schema);
}

static struct record *again(const struct record *record, uint32_t attempt, const char *script)
{
	struct record *copy = bench_copy('a', record, script);
	copy->attempt = attempt;
	return copy;
}

START_TEST(a_dead_event_that_comes_again_is_dead_for_the_same_reason_and_not_handled)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:3");
	ck_assert(bench_run());
	ck_assert_str_eq(stored(), "0 1 dead rejected");
	ck_assert_int_eq(bench_claims(), 0);
	again(record, 0, "note:one");
	bench_event('b', "note:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead rejected, done");
	ck_assert_str_eq(bench_notes(), "two");
	ck_assert_int_eq(bench_counter("runs"), 2);
	ck_assert_int_eq(bench_claims(), 1);
}
END_TEST

START_TEST(in_retry_topics_only_the_next_attempt_is_handled)
{
	bench.pipeline.retry.mode = CONFIG_RETRY_TOPICS;
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(stored(), "0 1 retry retry");
	again(record, 0, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry");
	ck_assert_uint_eq(bench.sides[0].batch.entries[0].attempt, 1);
	again(record, 2, "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(stored(), "0 2 retry retry");
	/* The record of the first attempt may still be on its way: its retry record is the second's. */
	again(record, 0, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry");
	ck_assert_uint_eq(bench.sides[0].batch.entries[0].attempt, 2);
	again(record, 3, "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_str_eq(stored(), "");
	ck_assert_str_eq(bench_notes(), "three");
	ck_assert_int_eq(bench_counter("runs"), 3);
}
END_TEST

START_TEST(a_retry_record_beside_an_earlier_one_that_came_again_is_judged_by_itself)
{
	bench.pipeline.ordering = CONFIG_ORDERING_NONE;
	bench.pipeline.retry.mode = CONFIG_RETRY_TOPICS;
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:2");
	ck_assert(bench_run());
	again(record, 2, "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(stored(), "0 2 retry retry");
	/* Both come in one batch: the second attempt's again, and the third's, which is the last one there is. */
	again(record, 2, "verdict:2");
	again(record, 3, "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry, back");
	/* An earlier record behind a later one is where that one is. */
	record = bench_event('b', "verdict:2");
	ck_assert(bench_run());
	struct record *second = bench_copy('b', record, "verdict:2");
	second->attempt = 2;
	bench_copy('b', record, "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry, retry retry");
	ck_assert_uint_eq(bench.sides[0].batch.entries[1].attempt, 2);
}
END_TEST

START_TEST(in_place_it_goes_on_with_the_next_attempt_and_ends_after_the_last)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(stored(), "0 1 in_place retry");
	for (uint32_t attempt = 2; attempt <= 3; attempt++) { /* each in a process that knows nothing of the others */
		again(record, 0, "verdict:2");
		ck_assert(bench_run());
		ck_assert_uint_eq(bench.sides[0].batch.entries[0].attempt, attempt);
	}
	ck_assert_str_eq(bench_outcomes(0), "dead attempts_exhausted");
	ck_assert_str_eq(stored(), "0 3 dead attempts_exhausted");
	again(record, 0, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead attempts_exhausted");
	ck_assert_uint_eq(bench.sides[0].batch.entries[0].attempt, 3);
	ck_assert_int_eq(bench_counter("runs"), 3);
}
END_TEST

/* The records of these tests have no headers, so the row moves instead of the record. */
static void set_round(int round)
{
	database_run(owner, "UPDATE \"%s\".event_attempt SET round = %d", database_schema, round);
}

START_TEST(a_replay_starts_anew_and_what_it_replaced_is_a_duplicate)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:3");
	ck_assert(bench_run());
	set_round(1); /* dead again after a replay: an old record of the round before comes */
	again(record, 0, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "duplicate");
	ck_assert_int_eq(bench_claims(), 0);
	set_round(-1);
	again(record, 0, "note:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_str_eq(bench_notes(), "two");
	ck_assert_str_eq(stored(), "");
}
END_TEST

START_TEST(what_fails_at_commit_alone_is_stored_too)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "child:nobody");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead statement_failed");
	ck_assert_str_eq(stored(), "0 1 dead statement_failed");
	again(record, 0, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead statement_failed");
}
END_TEST

/* Puts the dead letter of the one dead event into the index, as the side connection does. */
static void index_letter(int64_t content_hash, int round)
{
	database_run(owner,
	             "INSERT INTO \"%s\".dead_letter (consumer_group, dlq_partition, dlq_offset, died_at, event_id, "
	             "content_hash, reason, error, origin_topic, origin_partition, origin_offset, attempt, round) "
	             "SELECT consumer_group, 0, %d, now(), event_id, %lld, reason, '', 't', 0, 0, 1, %d "
	             "FROM \"%s\".event_attempt",
	             database_schema, round + 1, (long long)content_hash, round, database_schema);
}

START_TEST(what_is_in_the_index_is_not_sent_again)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:3");
	ck_assert(bench_run());
	int64_t hash = bench.sides[0].batch.entries[0].event.content_hash;
	index_letter(hash, -1); /* of a round before: its replay died, and is not in the DLQ yet */
	bench_copy('a', record, "verdict:3");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead rejected");
	index_letter(hash, 0);
	bench_copy('a', record, "verdict:3");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "duplicate");
	bench_copy('a', record, "verdict:2"); /* other content under the id: of this one nobody was told */
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead rejected");
	ck_assert_int_eq(bench_counter("runs"), 1);
	ck_assert_int_eq(bench_claims(), 0);
}
END_TEST

START_TEST(a_transaction_that_is_undone_stores_nothing)
{
	bench_start("steer_one");
	struct record *both[] = {bench_event('a', "verdict:3"), bench_event('b', "raise:40001")};
	ck_assert(!bench_run_records(0, both, 2));
	ck_assert_int_eq(bench.sides[0].batch.failure, BATCH_AGAIN);
	ck_assert_str_eq(stored(), "");
}
END_TEST

START_TEST(a_business_key_is_known_by_its_text)
{
	bench.pipeline.event.business_key = "{eventType}:{do}";
	bench_start("steer_one");
	ck_assert_ptr_nonnull(bench.engine.envelope.key_template);
	struct record *record = bench_event('a', "verdict:3");
	ck_assert(bench_run());
	ck_assert_str_eq(database_ask(owner, "SELECT event_id FROM \"%s\".event_attempt", database_schema),
	                 "test.v1:verdict%3A3");
	again(record, 0, "verdict:3");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead rejected");
	ck_assert_int_eq(bench_counter("runs"), 1);
}
END_TEST

START_TEST(rows_of_other_groups_and_other_ids_mean_nothing)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:3");
	bench_event('b', "verdict:3");
	ck_assert(bench_run());
	database_run(owner, "UPDATE \"%s\".event_attempt SET consumer_group = 'other'", database_schema);
	bench_event('c', "verdict:3"); /* so that this group has a row */
	ck_assert(bench_run());
	again(record, 0, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM \"%s\".event_attempt", database_schema), 3);
}
END_TEST

START_TEST(in_a_crowd_of_rows_the_right_one_is_found)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:3"), *other = bench_event('b', "verdict:3");
	ck_assert(bench_run());
	database_run(
	        owner,
	        "INSERT INTO \"%s\".event_attempt SELECT consumer_group, event_id || '-' || n, 0, 1, 'dead', 'crowd' "
	        "FROM \"%s\".event_attempt, generate_series(1, 300) n WHERE n <= %d",
	        database_schema, database_schema, _i);
	again(record, 0, "note:one");
	bench_event('c', "note:two");
	again(other, 0, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead rejected, done, dead rejected");
}
END_TEST

int main(int count, char **argv)
{
	(void)count;
	TCase *tests = tcase_create("attempts");
	tcase_add_checked_fixture(tests, bench_setup, bench_teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_dead_event_that_comes_again_is_dead_for_the_same_reason_and_not_handled);
	tcase_add_test(tests, in_retry_topics_only_the_next_attempt_is_handled);
	tcase_add_test(tests, a_retry_record_beside_an_earlier_one_that_came_again_is_judged_by_itself);
	tcase_add_test(tests, in_place_it_goes_on_with_the_next_attempt_and_ends_after_the_last);
	tcase_add_test(tests, a_replay_starts_anew_and_what_it_replaced_is_a_duplicate);
	tcase_add_test(tests, what_fails_at_commit_alone_is_stored_too);
	tcase_add_test(tests, what_is_in_the_index_is_not_sent_again);
	tcase_add_test(tests, a_transaction_that_is_undone_stores_nothing);
	tcase_add_test(tests, a_business_key_is_known_by_its_text);
	tcase_add_test(tests, rows_of_other_groups_and_other_ids_mean_nothing);
	tcase_add_loop_test(tests, in_a_crowd_of_rows_the_right_one_is_found, 190, 202);
	Suite *suite = suite_create("attempts");
	suite_add_tcase(suite, tests);
	return database_main(argv, suite);
}
