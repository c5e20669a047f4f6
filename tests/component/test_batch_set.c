/* The transaction engine with handle_batch: what falls out of a call, and what the others keep. */
#include <stdio.h>

#include "tests/component/batch_bench.h"

static struct batch *batch_of(size_t side)
{
	return &bench.sides[side].batch;
}

START_TEST(one_call_for_all_events)
{
	bench_start("steer_batch");
	bench_event('a', "note:one");
	bench_event('b', "*note:two");
	bench_event('c', "verdict:3");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, done, dead rejected");
	ck_assert_int_eq(bench_counter("runs"), 3);
	ck_assert_int_eq(bench_claims(), 2);
}
END_TEST

START_TEST(it_is_called_again_without_an_item_whose_statement_failed)
{
	bench_start("steer_batch");
	bench_event('a', "note:one");
	bench_event('b', "note:two;divide:0");
	bench_event('c', "miss:retry");
	bench_event('d', "note:four");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, dead statement_failed, retry expectation_missed, done");
	ck_assert_str_eq(bench_notes(), "one four");
	ck_assert_int_eq(bench_counter("runs"), 4 + 3 + 2);
}
END_TEST

static const char *const failures[] = {"*divide:0", "*miss", "fail", "*?sql:SELECT 1/0", "child:nobody"};

START_TEST(a_failure_of_the_call_halves_it_down_to_the_event)
{
	bench_start("steer_batch");
	for (int i = 0; i < 8; i++)
		bench_event((char)('a' + i), i == 5 ? failures[_i] : "note:good");
	ck_assert(bench_run());
	for (size_t i = 0; i < 8; i++)
		ck_assert_int_eq(batch_of(0)->entries[i].outcome == OUTCOME_DONE, i != 5);
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM note"), 7);
	ck_assert_int_eq(bench_claims(), 7);
}
END_TEST

START_TEST(what_a_rejected_item_wrote_by_query_is_undone)
{
	bench_start("steer_batch");
	bench_event('a', "note:one");
	bench_event('b', "qnote:two;verdict:3");
	bench_event('c', "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, dead rejected, done");
	ck_assert_str_eq(bench_notes(), "one three");
}
END_TEST

START_TEST(what_a_rejected_item_had_queued_is_undone_when_another_reads)
{
	bench_start("steer_batch");
	bench_event('a', "note:one;verdict:3");
	bench_event('b', "qnote:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead rejected, done");
	ck_assert_str_eq(bench_notes(), "two");
}
END_TEST

START_TEST(an_item_behind_one_whose_query_failed_is_not_blamed)
{
	bench_start("steer_batch");
	bench_event('a', "note:one");
	bench_event('b', "sql:SELECT 1/0");
	bench_event('c', "qnote:three");
	bench_event('d', "note:four");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, dead rejected, done, done");
	ck_assert_str_eq(bench_notes(), "one three four");
}
END_TEST

START_TEST(an_item_that_reads_is_not_blamed_for_what_another_had_queued)
{
	bench_start("steer_batch");
	bench_event('a', "divide:0");
	bench_event('b', "qnote:two");
	bench_event('c', "miss:retry");
	bench_event('d', "qnote:four");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead statement_failed, done, retry expectation_missed, done");
	ck_assert_str_eq(bench_notes(), "two four");
}
END_TEST

START_TEST(an_item_reads_what_items_before_it_wrote)
{
	bench_start("steer_batch");
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	bench_event('a', "take:k");
	bench_event('b', "take:k");
	bench_event('c', "take:k");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, done, done");
	ck_assert_int_eq(bench_balance("k"), 70);
}
END_TEST

START_TEST(later_items_of_a_lane_go_back_with_one_that_is_tried_again)
{
	bench_start("steer_batch");
	bench_event('a', "verdict:2");
	bench_event('b', "note:b1");
	bench_event('a', "note:a2");
	bench_event('b', "miss:retry");
	bench_event('b', "note:b3");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry, done, back, retry expectation_missed, back");
	ck_assert_str_eq(bench_notes(), "b1");
}
END_TEST

START_TEST(calls_that_lock_rows_crosswise_do_not_meet)
{
	bench_start("steer_batch");
	database_run(owner, "INSERT INTO balance VALUES ('a', 0), ('b', 0), ('m', 0)");
	struct record *one[] = {bench_event('a', "touch:b"), bench_event('a', "touch:m"), bench_event('a', "touch:a")};
	struct record *two[] = {bench_event('b', "touch:a"), bench_event('b', "touch:m"), bench_event('b', "touch:b")};
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance WHERE key = 'm' FOR UPDATE");
	bench_run_in_thread(0, one, 3);
	bench_run_in_thread(1, two, 3);
	struct pg *other = database_connect("postgres");
	database_wait_for_waiters(other, 2);
	database_run(owner, "COMMIT");
	ck_assert(bench_join(0));
	ck_assert(bench_join(1));
	ck_assert_int_eq(bench_balance("m"), 2);
	pg_close(other);
}
END_TEST

int main(int count, char **argv)
{
	(void)count;
	Suite *suite = suite_create("batch_set");
	TCase *sets = tcase_create("sets");
	tcase_set_timeout(sets, 60);
	tcase_add_checked_fixture(sets, bench_setup, bench_teardown);
	tcase_add_test(sets, one_call_for_all_events);
	tcase_add_test(sets, it_is_called_again_without_an_item_whose_statement_failed);
	tcase_add_loop_test(sets, a_failure_of_the_call_halves_it_down_to_the_event, 0,
	                    (int)(sizeof(failures) / sizeof(failures[0])));
	tcase_add_test(sets, what_a_rejected_item_wrote_by_query_is_undone);
	tcase_add_test(sets, what_a_rejected_item_had_queued_is_undone_when_another_reads);
	tcase_add_test(sets, an_item_behind_one_whose_query_failed_is_not_blamed);
	tcase_add_test(sets, an_item_that_reads_is_not_blamed_for_what_another_had_queued);
	tcase_add_test(sets, an_item_reads_what_items_before_it_wrote);
	tcase_add_test(sets, later_items_of_a_lane_go_back_with_one_that_is_tried_again);
	tcase_add_test(sets, calls_that_lock_rows_crosswise_do_not_meet);
	suite_add_tcase(suite, sets);
	return database_main(argv, suite);
}
