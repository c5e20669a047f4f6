/* A worker with real lanes: what it does about batches that do not go through, and about handlers that overrun. */
#include <stdio.h>

#include "core/base/failpoint.h"
#include "tests/component/batch_bench.h"

static void push_event(char lane, const char *script)
{
	bench_push(lane, bench_event(lane, script));
}

static void wait_metric(enum metric_id id, int64_t at_least)
{
	while (metrics_get(bench.metrics, id) < at_least)
		database_run(owner, "SELECT pg_sleep(0.005)");
}

/* ---- batches that do not go through ---- */

START_TEST(a_retry_in_place_keeps_its_lane_in_order_and_ends_dead)
{
	bench_start("steer_one");
	push_event('a', "note:a1");
	push_event('a', "note:a2;verdict:2");
	push_event('a', "note:a3");
	push_event('b', "note:b1");
	bench_start_worker();
	bench_wait_finished(4);
	bench_stop_worker();
	ck_assert_uint_eq(bench.routed_count, 1);
	ck_assert_str_eq(bench.routed[0].reason, "attempts_exhausted");
	ck_assert_uint_eq(bench.routed[0].attempt, 3);
	ck_assert_str_eq(bench_notes(), "a1 b1 a3");
	ck_assert_int_eq(bench_counter("runs"), 3 + 3);
}
END_TEST

START_TEST(conflicts_alone_count_as_an_attempt_after_ten)
{
	bench_start("steer_one");
	push_event('a', "raise:40P01");
	push_event('b', "note:good");
	bench_start_worker();
	bench_wait_finished(2);
	bench_stop_worker();
	ck_assert_uint_eq(bench.routed_count, 1);
	ck_assert_str_eq(bench.routed[0].reason, "attempts_exhausted");
	ck_assert_int_ge(bench_counter("runs"), 30);
	ck_assert_int_le(bench_counter("runs"), 30 + 10);
	ck_assert_str_eq(bench_notes(), "good");
}
END_TEST

START_TEST(a_statement_that_never_worked_waits_and_others_go_first)
{
	bench_start("steer_one");
	push_event('a', "absent:one");
	push_event('a', "note:a2");
	for (int i = 0; i < 20; i++)
		push_event('b', "note:b");
	bench_start_worker();
	bench_wait_finished(20);
	ck_assert_uint_eq(bench.routed_count, 0);
	database_run(owner, "CREATE TABLE absent (text text)");
	database_run(owner, "GRANT ALL ON absent TO \"" HOST_ROLE "\"");
	bench_wait_finished(22);
	bench_stop_worker();
	ck_assert_uint_eq(bench.routed_count, 0);
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM absent"), 1);
	ck_assert_int_eq(bench_claims(), 22);
}
END_TEST

START_TEST(once_it_worked_for_another_event_it_is_the_events_own_fault)
{
	bench_start("steer_one");
	push_event('a', "raise:42P01");
	push_event('a', "note:a2");
	push_event('b', "note:b");
	bench_start_worker();
	bench_wait_finished(1);
	ck_assert_uint_eq(bench.routed_count, 0);
	database_run(owner, "CREATE OR REPLACE FUNCTION raise(state text) RETURNS void LANGUAGE plpgsql AS "
	                    "$$ BEGIN IF state <> 'none' THEN RAISE EXCEPTION USING ERRCODE = state; END IF; END $$");
	push_event('c', "raise:none");
	bench_wait_finished(4);
	bench_stop_worker();
	ck_assert_uint_eq(bench.routed_count, 1);
	ck_assert_str_eq(bench.routed[0].reason, "statement_failed");
}
END_TEST

START_TEST(a_busy_copy_holds_back_only_its_lane)
{
	bench_start("steer_one");
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance FOR UPDATE");
	struct record *record = bench_event('a', "take:k");
	bench_run_in_thread(1, &record, 1);
	struct pg *other = database_connect("postgres");
	database_wait_for_waiters(other, 1);
	bench_push('a', bench_copy('a', record, "take:k"));
	for (int i = 0; i < 20; i++)
		push_event('b', "note:b");
	bench_start_worker();
	bench_wait_finished(20);
	database_run(owner, "COMMIT");
	ck_assert(bench_join(1));
	bench_wait_finished(21);
	bench_stop_worker();
	ck_assert_int_eq(metrics_get(bench.metrics, METRIC_events_duplicate), 1);
	ck_assert_int_eq(bench_balance("k"), 90);
	pg_close(other);
}
END_TEST

START_TEST(a_claim_that_somebody_cancels_goes_again_at_once)
{
	bench_start("steer_one");
	database_run(owner, "BEGIN");
	database_run(owner, "LOCK TABLE \"%s\".processed_event IN ACCESS EXCLUSIVE MODE", database_schema);
	push_event('a', "note:a");
	bench_start_worker();
	struct pg *other = database_connect("postgres");
	while (database_number(other, "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
	                              "WHERE wait_event_type = 'Lock' AND application_name LIKE 'idem billing%%'") == 0)
		database_run(other, "SELECT pg_sleep(0.005)");
	database_run(owner, "COMMIT");
	bench_wait_finished(1);
	bench_stop_worker();
	ck_assert_int_eq(bench.engine.gate.next_try_ms, 0); /* the pipeline never waited */
	ck_assert_str_eq(bench_notes(), "a");
	pg_close(other);
}
END_TEST

START_TEST(a_connection_that_is_lost_is_made_again)
{
	bench_start("steer_one");
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance FOR UPDATE");
	push_event('a', "take:k");
	bench_start_worker();
	struct pg *other = database_connect("postgres");
	while (database_number(other, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
	                              "WHERE wait_event_type = 'Lock' AND application_name LIKE 'idem billing%%'") == 0)
		database_run(other, "SELECT pg_sleep(0.005)");
	database_run(owner, "COMMIT");
	bench_wait_finished(1);
	bench_stop_worker();
	ck_assert_int_eq(bench_balance("k"), 90);
	ck_assert_int_eq(metrics_get(bench.metrics, METRIC_events_processed), 1);
	pg_close(other);
}
END_TEST

/* ---- sessions ---- */

#ifdef IDEM_FAILPOINTS
START_TEST(an_isolated_event_finds_a_clean_session_with_the_hosts_limits)
{
	struct error error;
	ck_assert(failpoint_arm("sql_check_off=fail:always", &error));
	bench.pipeline.isolation = CONFIG_ISOLATION_EVENT;
	bench.pipeline.batch.max = 1;
	bench_start("steer_one");
	push_event('a', "sql:SELECT set_config('app.user', 'first', false), pg_advisory_lock(1)");
	push_event('a',
	           "sql:INSERT INTO note (text) SELECT coalesce(current_setting('app.user', true), 'null') || ' ' || "
	           "current_setting('statement_timeout') || ' ' || "
	           "current_setting('idle_in_transaction_session_timeout')");
	push_event('a', "sql:INSERT INTO note (text) SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'");
	bench_start_worker();
	bench_wait_finished(3);
	bench_stop_worker();
	ck_assert_str_eq(bench_notes(), " 1min 65s 0");
}
END_TEST
#endif

START_TEST(metrics_of_the_whole_call_count_when_it_commits)
{
	bench_start("steer_batch");
	for (int i = 0; i < 5; i++)
		push_event((char)('a' + i), i == 2 ? "divide:0" : "note:good");
	bench_start_worker();
	bench_wait_finished(5);
	bench_stop_worker();
	ck_assert_int_eq(bench_counter("committed"), 4);
	ck_assert_int_ge(bench_counter("committed_batches"), 1);
	ck_assert_int_le(bench_counter("committed_batches"), 4);
}
END_TEST

/* ---- deadlines ---- */

static struct watchdog *watch_worker(void)
{
	static struct watch *watches[1];
	bench.pipeline.plugin.timeout_ms = 100;
	bench.pipeline.plugin.grace_ms = 300;
	bench_start_worker();
	watches[0] = worker_watch(bench.worker);
	return watchdog_start(watches, 1, &bench.engine);
}

START_TEST(a_statement_of_its_own_is_cancelled_at_the_deadline)
{
	bench_start("steer_one");
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance FOR UPDATE");
	push_event('a', "take:k");
	push_event('b', "touch:k;qnote:b");
	struct watchdog *watchdog = watch_worker();
	wait_metric(METRIC_in_place_retries, 2);
	database_run(owner, "COMMIT");
	bench_wait_finished(2);
	watchdog_stop(watchdog);
	bench_stop_worker();
	ck_assert_int_ge(metrics_get(bench.metrics, METRIC_handler_timeouts), 2);
}
END_TEST

START_TEST(waiting_for_others_statements_is_neither_late_nor_a_hang)
{
	bench.pipeline.batch.max_ms = 5000;
	bench_start("steer_one");
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	push_event('a', "note:first");
	struct watchdog *watchdog = watch_worker();
	bench_wait_finished(1); /* from here on batches hold several events */
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance FOR UPDATE");
	bench_push_all("bc", (struct record *[]){bench_event('b', "touch:k"), bench_event('c', "qnote:c")});
	struct pg *other = database_connect("postgres");
	database_run(other, "SELECT pg_sleep(0.8)"); /* far past deadline and grace */
	database_run(owner, "COMMIT");
	bench_wait_finished(3);
	watchdog_stop(watchdog);
	bench_stop_worker();
	ck_assert_int_eq(metrics_get(bench.metrics, METRIC_handler_timeouts), 0);
	ck_assert_int_eq(bench_balance("k"), 101);
	ck_assert_uint_eq(bench.routed_count, 0);
	pg_close(other);
}
END_TEST

/* ---- nobody waits for it any more ---- */

static void a_handler_that_is_told_to_give_up(const char *plugin)
{
	bench_start(plugin);
	database_run(owner, "INSERT INTO balance VALUES ('k', 100)");
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT amount FROM balance FOR UPDATE");
	push_event('a', "take:k");
	bench_start_worker();
	struct watch *watches[] = {worker_watch(bench.worker)};
	struct watchdog *watchdog = watchdog_start(watches, 1, &bench.engine);
	struct pg *other = database_connect("postgres");
	while (database_number(other, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
	                              "application_name LIKE 'idem billing%%'") == 0)
		database_run(other, "SELECT pg_sleep(0.005)");
	partition_give_up(bench.partition);
	while (bench_counter("runs") < 2) /* it came back, and was begun again */
		database_run(other, "SELECT pg_sleep(0.005)");
	database_run(owner, "COMMIT");
	bench_wait_finished(1);
	watchdog_stop(watchdog);
	bench_stop_worker();
	ck_assert_int_eq(metrics_get(bench.metrics, METRIC_handler_timeouts), 0);
	ck_assert_int_eq(metrics_get(bench.metrics, METRIC_in_place_retries), 0);
	ck_assert_uint_eq(bench.routed_count, 0);
	ck_assert_int_eq(bench_balance("k"), 90);
	pg_close(other);
}

START_TEST(a_handler_told_to_give_up_leaves_its_event_as_if_not_begun)
{
	a_handler_that_is_told_to_give_up("steer_one");
}
END_TEST

START_TEST(a_call_for_many_told_to_give_up_leaves_its_events_as_if_not_begun)
{
	a_handler_that_is_told_to_give_up("steer_batch");
}
END_TEST

int main(int count, char **argv)
{
	(void)count;
	Suite *suite = suite_create("worker");
	TCase *worker = tcase_create("worker");
	tcase_set_timeout(worker, 60);
	tcase_add_checked_fixture(worker, bench_setup, bench_teardown);
	tcase_add_test(worker, a_retry_in_place_keeps_its_lane_in_order_and_ends_dead);
	tcase_add_test(worker, conflicts_alone_count_as_an_attempt_after_ten);
	tcase_add_test(worker, a_statement_that_never_worked_waits_and_others_go_first);
	tcase_add_test(worker, once_it_worked_for_another_event_it_is_the_events_own_fault);
	tcase_add_test(worker, a_busy_copy_holds_back_only_its_lane);
	tcase_add_test(worker, a_claim_that_somebody_cancels_goes_again_at_once);
	tcase_add_test(worker, a_connection_that_is_lost_is_made_again);
#ifdef IDEM_FAILPOINTS
	tcase_add_test(worker, an_isolated_event_finds_a_clean_session_with_the_hosts_limits);
#endif
	tcase_add_test(worker, metrics_of_the_whole_call_count_when_it_commits);
	tcase_add_test(worker, a_statement_of_its_own_is_cancelled_at_the_deadline);
	tcase_add_test(worker, waiting_for_others_statements_is_neither_late_nor_a_hang);
	tcase_add_test(worker, a_handler_told_to_give_up_leaves_its_event_as_if_not_begun);
	tcase_add_test(worker, a_call_for_many_told_to_give_up_leaves_its_events_as_if_not_begun);
	suite_add_tcase(suite, worker);
	return database_main(argv, suite);
}
