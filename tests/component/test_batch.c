/* The transaction engine, event by event: one behaviour of ENGINE 2 and 3 a test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/failpoint.h"
#include "tests/component/batch_bench.h"

static struct batch *batch_of(size_t side)
{
	return &bench.sides[side].batch;
}

static void many(char lane, const char *script, int count)
{
	for (int i = 0; i < count; i++)
		bench_event(lane, script);
}

static int64_t note_count(void)
{
	return database_number(owner, "SELECT count(*) FROM note");
}

/* ---- who is blamed ---- */

static const struct {
	const char *state;
	enum batch_failure failure;
	const char *outcome;
} states[] = {
        {"22003", BATCH_FINE, "done, dead statement_failed, done"},
        {"23505", BATCH_FINE, "done, dead statement_failed, done"},
        {"P0001", BATCH_FINE, "done, dead statement_failed, done"},
        {"57014", BATCH_FINE, "done, retry statement_timeout, done"},
        {"40001", BATCH_AGAIN, NULL},
        {"40P01", BATCH_AGAIN, NULL},
        {"55P03", BATCH_AGAIN, NULL},
        {"42703", BATCH_UNDECIDED, NULL},
        {"53100", BATCH_DATABASE, NULL},
        {"57P03", BATCH_DATABASE, NULL},
        {"XX000", BATCH_DATABASE, NULL},
};

START_TEST(a_failing_statement_is_the_events_or_the_moments)
{
	char script[40];
	bench_start("steer_one");
	snprintf(script, sizeof(script), "raise:%s", states[_i].state);
	bench_event('a', "note:one");
	bench_event('b', script);
	bench_event('c', "note:two");
	ck_assert_int_eq(bench_run(), states[_i].outcome != NULL);
	ck_assert_int_eq(batch_of(0)->failure, states[_i].failure);
	if (states[_i].outcome)
		ck_assert_str_eq(bench_outcomes(0), states[_i].outcome);
	ck_assert_int_eq(note_count(), states[_i].outcome ? 2 : 0);
}
END_TEST

START_TEST(a_statement_that_worked_before_is_the_events_own_fault)
{
	bench_start("steer_one");
	database_run(owner, "CREATE TABLE absent (text text)");
	database_run(owner, "GRANT ALL ON absent TO \"" HOST_ROLE "\"");
	bench_event('a', "absent:one");
	ck_assert(bench_run());
	database_run(owner, "DROP TABLE absent");
	bench_event('a', "absent:two");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead statement_failed");
}
END_TEST

START_TEST(the_position_names_the_culprits_and_nobody_is_called_again)
{
	bench_start("steer_one");
	many('a', "note:good", 25);
	bench_event('a', "note:bad;divide:0");
	many('a', "note:good", 30);
	bench_event('a', "miss;note:bad");
	many('a', "note:good", 30);
	bench_event('a', "note:bad;divide:0");
	ck_assert(bench_run());
	const struct entry *entries = batch_of(0)->entries;
	ck_assert_str_eq(entries[25].reason, "statement_failed");
	ck_assert_str_eq(entries[56].reason, "expectation_missed");
	ck_assert_str_eq(entries[87].reason, "statement_failed");
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM note WHERE text = 'good'"), 85);
	ck_assert_int_eq(note_count(), 85);
	ck_assert_int_eq(bench_claims(), 85);
	ck_assert_int_eq(bench_counter("runs"), 88);
}
END_TEST

START_TEST(a_missed_expectation_is_what_the_statement_said)
{
	bench_start("steer_one");
	bench_event('a', "miss");
	bench_event('b', "miss:retry");
	bench_event('c', "miss;qnote:read");
	bench_event('d', "miss:retry;qnote:read");
	bench_event('e', "miss:retry;?qnote:read");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0),
	                 "dead expectation_missed, retry expectation_missed, "
	                 "dead expectation_missed, retry expectation_missed, retry expectation_missed");
	ck_assert_int_eq(note_count(), 0);
}
END_TEST

START_TEST(after_an_error_done_becomes_reject)
{
	bench_start("steer_one");
	bench_event('a', "note:one;?sql:SELECT 1/0;?note:two");
	bench_event('b', "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead tx_aborted_by_handler, done");
	ck_assert_str_eq(bench_notes(), "three");
}
END_TEST

START_TEST(a_plan_that_a_migration_made_stale_blames_nobody)
{
	bench_start("steer_one");
	bench_event('a', "qnote:one");
	ck_assert(bench_run());
	database_run(owner, "ALTER TABLE note ALTER text TYPE varchar");
	bench_event('a', "qnote:two");
	ck_assert(!bench_run());
	ck_assert_int_eq(batch_of(0)->failure, BATCH_AGAIN);
	ck_assert(bench_run_records(0, bench.records + 1, 1));
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_str_eq(bench_notes(), "one two");
}
END_TEST

/* ---- deferred constraints ---- */

START_TEST(a_deferred_violation_is_found_and_the_deferral_is_kept)
{
	bench_start("steer_one");
	many('a', "note:good", 10);
	bench_event('a', "child:nobody");
	many('a', "note:good", 15);
	for (int i = 0; i < 20; i++) { /* in the next chunks the child still comes before its parent */
		char script[40];
		snprintf(script, sizeof(script), "child:k%d;parent:k%d", i, i);
		bench_event('a', script);
	}
	ck_assert(bench_run());
	ck_assert_str_eq(batch_of(0)->entries[10].reason, "statement_failed");
	ck_assert_int_eq(bench_claims(), 45);
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM child"), 20);
}
END_TEST

START_TEST(a_violation_beside_sorted_statements_blames_its_event_alone)
{
	bench_start("steer_locks");
	for (int i = 0; i < 45; i++) { /* sorted, all children would be checked before the first parent */
		char script[40];
		snprintf(script, sizeof(script), i == 30 ? "child:nobody" : "child:k%d;parent:k%d", i, i);
		bench_event('a', script);
	}
	ck_assert(bench_run());
	ck_assert_int_eq(batch_of(0)->entries[30].outcome, OUTCOME_DEAD);
	ck_assert_int_eq(bench_claims(), 44);
}
END_TEST

START_TEST(an_event_that_reads_answers_for_its_own_violation)
{
	bench_start("steer_one");
	bench_event('a', "note:one");
	bench_event('a', "qnote:two;child:nobody");
	bench_event('a', "note:three");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "done, dead statement_failed, done");
	ck_assert_str_eq(bench_notes(), "one three");
}
END_TEST

/* ---- reading ---- */

START_TEST(a_read_balance_beside_failing_neighbours_loses_no_update)
{
	bench_start("steer_one");
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	static const char *const scripts[] = {"take:k", "divide:0",        "take:k", "miss",
	                                      "take:k", "take:k;divide:0", "take:k", "?sql:SELECT 1/0"};
	for (int i = 0; i < 8; i++)
		bench_event('a', scripts[i]);
	ck_assert(bench_run());
	ck_assert_int_eq(bench_claims(), 4);
	ck_assert_int_eq(bench_balance("k"), 60);
}
END_TEST

START_TEST(what_an_event_wrote_by_query_goes_with_it)
{
	bench_start("steer_one");
	bench_event('a', "qnote:one;verdict:3");
	bench_event('b', "qnote:two");
	bench_event('c', "qnote:three;verdict:2");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead rejected, done, retry retry");
	ck_assert_str_eq(bench_notes(), "two");
}
END_TEST

/* ---- lanes ---- */

START_TEST(later_events_of_a_lane_go_back_with_one_that_is_tried_again)
{
	bench_start("steer_one");
	bench_event('a', "miss:retry"); /* found when it is sent */
	bench_event('b', "note:b1");
	bench_event('a', "note:a2");
	bench_event('a', "qnote:a3"); /* sends what is before it */
	bench_event('b', "verdict:2");
	bench_event('b', "note:b3");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry expectation_missed, done, back, back, retry retry, back");
	ck_assert_str_eq(bench_notes(), "b1");
	ck_assert_int_eq(bench_claims(), 1);
}
END_TEST

START_TEST(a_dead_event_holds_nobody_back)
{
	bench_start("steer_one");
	bench_event('a', "divide:0");
	bench_event('a', "note:a2");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "dead statement_failed, done");
}
END_TEST

/* ---- locks ---- */

START_TEST(batches_that_lock_rows_crosswise_do_not_meet)
{
	bench_start("steer_locks");
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

/* ---- COMMIT ---- */

START_TEST(a_row_found_after_a_commit_of_unknown_outcome_means_processed)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "note:one");
	ck_assert(bench_run());
	record->commit_sent = true;
	ck_assert(bench_run_records(0, &record, 1));
	ck_assert_str_eq(bench_outcomes(0), "done");
	ck_assert_int_eq(bench_counter("runs"), 1);
	ck_assert_str_eq(bench_notes(), "one");
}
END_TEST

START_TEST(a_claim_shows_that_the_unknown_commit_did_not_go_through)
{
	bench_start("steer_one");
	struct record *record = bench_event('a', "verdict:2");
	record->commit_sent = true;
	ck_assert(bench_run());
	ck_assert_str_eq(bench_outcomes(0), "retry retry");
	ck_assert(!record->commit_sent);
}
END_TEST

#ifdef IDEM_FAILPOINTS
static void first_net_off(void)
{
	struct error error;
	ck_assert_msg(failpoint_arm("sql_check_off=fail:always", &error), "%s", error.text);
}

static const char *const thefts[] = {"sql:COMMIT AND CHAIN", "sql:COMMIT", "sql:ROLLBACK AND CHAIN",
                                     "sql:RELEASE SAVEPOINT r"};

START_TEST(a_transaction_that_the_plugin_ended_is_noticed)
{
	bench_start("steer_one");
	first_net_off();
	bench_event('a', "note:one");
	bench_event('b', thefts[_i]);
	bench_event('c', "qnote:three");
	bench_event('d', "qnote:four");
	ck_assert(!bench_run());
	ck_assert_int_eq(batch_of(0)->failure, BATCH_STOLEN);
}
END_TEST

START_TEST(a_theft_without_an_effect_releases_the_claims)
{
	bench_start("steer_one");
	first_net_off();
	bench_event('a', "sql:COMMIT AND CHAIN;verdict:3");
	ck_assert(!bench_run());
	ck_assert_int_eq(batch_of(0)->failure, BATCH_STOLEN);
	batch_of(0)->failure = BATCH_FINE;
	ck_assert(batch_release_stolen(batch_of(0)));
	ck_assert_int_eq(bench_claims(), 0);
}
END_TEST
#endif

/* ---- limits of the transaction ---- */

START_TEST(behind_a_pooler_the_limits_travel_with_the_transaction)
{
	bench.config.database.pooler = CONFIG_POOLER_TRANSACTION;
	bench_start("steer_one");
	bench_event('a', "sql:INSERT INTO note (text) SELECT current_setting('statement_timeout')");
	bench_event('b', "sql:INSERT INTO note (text) SELECT current_setting('idle_in_transaction_session_timeout')");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_notes(), "1min 65s");
}
END_TEST

/* Else '\\'' would be a string to the one that to the other goes on, and hide the rest of a statement. */
START_TEST(the_server_reads_strings_as_the_check_of_statements_does)
{
	bench.config.database.pooler = _i ? CONFIG_POOLER_TRANSACTION : CONFIG_POOLER_NONE;
	static char conninfo[400]; /* its options go on */
	snprintf(conninfo, sizeof(conninfo), "%.*s -c standard_conforming_strings=off'",
	         (int)strlen(bench.config.database.conninfo) - 1, bench.config.database.conninfo);
	bench.config.database.conninfo = conninfo;
	bench_start("steer_one");
	bench_event('a', "sql:INSERT INTO note (text) SELECT current_setting('standard_conforming_strings')");
	ck_assert(bench_run());
	ck_assert_str_eq(bench_notes(), "on");
}
END_TEST

START_TEST(a_handler_that_extends_its_deadline_keeps_its_transaction)
{
	bench.pipeline.plugin.timeout_ms = 100;
	bench.pipeline.plugin.grace_ms = -29800; /* the server ends a transaction that is idle for 300 ms */
	bench_start("steer_one");
	bench.pipeline.plugin.grace_ms = 100;
	bench.pipeline.plugin.timeout_ms = 100;
	bench_event('a', "extend:60000;nap:500;note:one");
	ck_assert_msg(bench_run(), "%s", batch_of(0)->error.text);
	ck_assert_str_eq(bench_notes(), "one");
}
END_TEST

static void add_handling(Suite *suite)
{
	TCase *handling = tcase_create("handling");
	tcase_set_timeout(handling, 60);
	tcase_add_checked_fixture(handling, bench_setup, bench_teardown);
	tcase_add_loop_test(handling, a_failing_statement_is_the_events_or_the_moments, 0,
	                    (int)(sizeof(states) / sizeof(states[0])));
	tcase_add_test(handling, a_statement_that_worked_before_is_the_events_own_fault);
	tcase_add_test(handling, the_position_names_the_culprits_and_nobody_is_called_again);
	tcase_add_test(handling, a_missed_expectation_is_what_the_statement_said);
	tcase_add_test(handling, after_an_error_done_becomes_reject);
	tcase_add_test(handling, a_plan_that_a_migration_made_stale_blames_nobody);
	tcase_add_test(handling, a_deferred_violation_is_found_and_the_deferral_is_kept);
	tcase_add_test(handling, a_violation_beside_sorted_statements_blames_its_event_alone);
	tcase_add_test(handling, an_event_that_reads_answers_for_its_own_violation);
	tcase_add_test(handling, a_read_balance_beside_failing_neighbours_loses_no_update);
	tcase_add_test(handling, what_an_event_wrote_by_query_goes_with_it);
	tcase_add_test(handling, later_events_of_a_lane_go_back_with_one_that_is_tried_again);
	tcase_add_test(handling, a_dead_event_holds_nobody_back);
	tcase_add_test(handling, batches_that_lock_rows_crosswise_do_not_meet);
	suite_add_tcase(suite, handling);
}

static void add_commit(Suite *suite)
{
	TCase *commit = tcase_create("commit");
	tcase_set_timeout(commit, 60);
	tcase_add_checked_fixture(commit, bench_setup, bench_teardown);
	tcase_add_test(commit, a_row_found_after_a_commit_of_unknown_outcome_means_processed);
	tcase_add_test(commit, a_claim_shows_that_the_unknown_commit_did_not_go_through);
#ifdef IDEM_FAILPOINTS
	tcase_add_loop_test(commit, a_transaction_that_the_plugin_ended_is_noticed, 0,
	                    (int)(sizeof(thefts) / sizeof(thefts[0])));
	tcase_add_test(commit, a_theft_without_an_effect_releases_the_claims);
#endif
	tcase_add_test(commit, behind_a_pooler_the_limits_travel_with_the_transaction);
	tcase_add_loop_test(commit, the_server_reads_strings_as_the_check_of_statements_does, 0, 2);
	tcase_add_test(commit, a_handler_that_extends_its_deadline_keeps_its_transaction);
	suite_add_tcase(suite, commit);
}

int main(int count, char **argv)
{
	(void)count;
	Suite *suite = suite_create("batch");
	add_handling(suite);
	add_commit(suite);
	return database_main(argv, suite);
}
