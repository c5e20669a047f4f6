/* Whose an id is: claims, their release, copies within a batch and beside it (ENGINE 1 and 2). */

#include "tests/component/batch_bench.h"

static struct batch *batch_of(size_t side)
{
	return &bench.sides[side].batch;
}

static int64_t note_count(void)
{
	return database_number(owner, "SELECT count(*) FROM note");
}

/* ---- claims ---- */

START_TEST(an_event_is_applied_once_and_a_copy_is_a_duplicate)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done");
	bench_copy('a', record, "note:one");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "duplicate");
	ck_assert_str_eq(bench_notes(), "one");
	ck_assert_int_eq(bench_counter("runs"), 1);
}
END_TEST

START_TEST(claims_of_what_is_not_done_are_released)
{
	bench_start("steer_one");
	bench_event('a', "note:one");
	bench_event('b', "verdict:2");
	bench_event('c', "verdict:3");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, retry retry, dead rejected");
	ck_assert_int_eq(bench_claims(), 1);
}
END_TEST

START_TEST(a_claim_released_beside_a_failing_neighbour_stays_released)
{
	bench_start("steer_one");
	struct record *rejected = bench_event('a', "verdict:3");
	bench_event('b', "note:one");
	bench_event('c', "divide:0");
	bench_event('d', "note:two");
	ck_assert(bench_run());
	ck_assert_int_eq(bench_claims(), 2);
	/* The round before, so that this is its replay. */
	database_run(owner, "UPDATE \"%s\".event_attempt SET round = -1", database_schema);
	bench_copy('a', rejected, "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_str_eq(bench_notes(), "one two three");
}
END_TEST

START_TEST(another_number_of_released_claims_than_expected_aborts_the_batch)
{
	bench_start("steer_one");
	database_run(owner,
	             "CREATE FUNCTION lose_claims() RETURNS void LANGUAGE sql SECURITY DEFINER AS "
	             "$$ DELETE FROM \"%s\".processed_event $$",
	             database_schema);
	bench_event('a', "note:one;sql:SELECT lose_claims()");
	bench_event('b', "verdict:3");
	ck_assert(!bench_run());
	ck_assert_int_eq(batch_of(0)->failure, BATCH_HOST);
	ck_assert_int_eq(note_count(), 0);
}
END_TEST

START_TEST(events_not_begun_in_time_keep_no_claim)
{
	bench.pipeline.batch.max_ms = 20;
	bench_start("steer_one");
	bench_event('a', "nap:50;note:one");
	bench_event('b', "note:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, open");
	ck_assert_int_eq(bench_claims(), 1);
}
END_TEST

START_TEST(a_copy_alone_in_an_open_transaction_is_busy_then_takes_over)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "note:one;take:k");
	struct record *copy = bench_copy('a', record, "note:one");
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance FOR UPDATE");
	bench_run_in_thread(1, &record, 1);
	struct pg *other = database_connect("postgres");
	database_wait_for_waiters(other, 1);
	ck_assert(!bench_run_records(0, &copy, 1));
	ck_assert_int_eq(batch_of(0)->failure, BATCH_BUSY);
	/* The first one goes wrong: the copy takes its place. */
	database_run(other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
	                    "AND application_name = current_setting('application_name')");
	ck_assert(!bench_join(1));
	ck_assert_int_eq(batch_of(1)->failure, BATCH_DATABASE);
	ck_assert(bench_run_records(0, &copy, 1));
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_str_eq(bench_notes(), "one");
	database_run(owner, "ROLLBACK");
	pg_close(other);
}
END_TEST

START_TEST(beside_others_a_copy_in_an_open_transaction_halves_the_batch)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "note:one;take:k");
	struct record *both[] = {bench_event('b', "note:two"), bench_copy('a', record, "note:one;take:k")};
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance FOR UPDATE");
	bench_run_in_thread(1, &record, 1);
	struct pg *other = database_connect("postgres");
	database_wait_for_waiters(other, 1);
	ck_assert(!bench_run_records(0, both, 2));
	ck_assert_int_eq(batch_of(0)->failure, BATCH_AGAIN);
	ck_assert_str_eq(batch_of(0)->error.sqlstate, "55P03");
	ck_assert(bench_run_records(0, both, 1));
	database_run(owner, "ROLLBACK");
	ck_assert(bench_join(1));
	ck_assert(bench_run_records(0, both + 1, 1));
	ck_assert_str_eq(bench_outcomes(0), "duplicate");
	pg_close(other);
}
END_TEST

START_TEST(the_short_wait_of_the_claim_is_not_the_plugins)
{
	bench_start("steer_one");
	bench_event('a', "sql:INSERT INTO note (text) SELECT current_setting('lock_timeout')");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_notes(), "0");
}
END_TEST

/* ---- copies within a batch ---- */

START_TEST(a_copy_shares_the_fate_of_the_first_one)
{
	bench_start("steer_one");
	struct record *done = bench_event('a', "note:one"), *dead = bench_event('b', "verdict:3"),
	              *retry = bench_event('c', "verdict:2");
	bench_copy('a', done, "note:one");
	bench_copy('b', dead, "verdict:3");
	bench_copy('c', retry, "verdict:2");
	bench_copy('d', done, "note:other");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, dead rejected, retry retry, duplicate, dead rejected, back, "
	                                    "dead id_reuse_conflict");
	ck_assert_int_eq(bench_counter("runs"), 3);
	ck_assert_str_eq(bench_notes(), "one");
}
END_TEST

START_TEST(without_an_order_to_keep_a_copy_is_delayed_like_the_first_one)
{
	bench.pipeline.ordering = CONFIG_ORDERING_NONE;
	bench.pipeline.retry.mode = CONFIG_RETRY_TOPICS;
	bench_start("steer_one");
	bench_copy('a', bench_event('a', "verdict:2"), "verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry, retry retry");
}
END_TEST

static void add_claims(Suite *suite)
{
	TCase *claims = tcase_create("claims");
	tcase_set_timeout(claims, 60);
	tcase_add_checked_fixture(claims, bench_setup, bench_teardown);
	tcase_add_test(claims, an_event_is_applied_once_and_a_copy_is_a_duplicate);
	tcase_add_test(claims, claims_of_what_is_not_done_are_released);
	tcase_add_test(claims, a_claim_released_beside_a_failing_neighbour_stays_released);
	tcase_add_test(claims, another_number_of_released_claims_than_expected_aborts_the_batch);
	tcase_add_test(claims, events_not_begun_in_time_keep_no_claim);
	tcase_add_test(claims, a_copy_alone_in_an_open_transaction_is_busy_then_takes_over);
	tcase_add_test(claims, beside_others_a_copy_in_an_open_transaction_halves_the_batch);
	tcase_add_test(claims, the_short_wait_of_the_claim_is_not_the_plugins);
	tcase_add_test(claims, a_copy_shares_the_fate_of_the_first_one);
	tcase_add_test(claims, without_an_order_to_keep_a_copy_is_delayed_like_the_first_one);
	suite_add_tcase(suite, claims);
}

int main(int count, char **argv)
{
	(void)count;
	Suite *suite = suite_create("batch_claim");
	add_claims(suite);
	return database_main(argv, suite);
}
