/* What is forgotten, when, and that nobody waits for it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "tests/component/dedup_host.h"

START_TEST(days_are_forgotten_oldest_first_and_never_made_again)
{
	struct host host = host_start(GROUP);
	int64_t oldest_ms = now_ms - 2 * DAY_MS;
	struct id old = id_at(oldest_ms, 1), young = id_at(now_ms, 1);
	ck_assert_int_eq(claim(host.pg, place(&host, oldest_ms), old.text, GROUP), 1);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), young.text, GROUP), 1);
	now_ms += RETENTION_MS + MINUTE_MS; /* rows are old enough, today's day is not over for as long */
	report(&host, 0, 10, now_ms);
	ck_assert_uint_eq(tend(&host), 1);
	ck_assert_int_eq(status_of(&host, oldest_ms), DEDUP_ID_TOO_OLD);
	ck_assert_int_eq(status_of(&host, oldest_ms - DAY_MS), DEDUP_ID_TOO_OLD);
	ck_assert_int_eq(claim(host.pg, place(&host, started_ms), young.text, GROUP), 0);
	struct error error;
	ck_assert(dedup_make_day(host.dedup, host.pg, oldest_ms, &error));
	ck_assert_int_eq(status_of(&host, oldest_ms), DEDUP_ID_TOO_OLD);
	host_stop(&host);
}
END_TEST

START_TEST(retention_counts_from_processing)
{
	struct host host = host_start(GROUP);
	int64_t old_ms = now_ms - 6 * DAY_MS; /* an old id, processed today */
	struct id id = id_at(old_ms, 1);
	ck_assert_int_eq(claim(host.pg, place(&host, old_ms), id.text, GROUP), 1);
	now_ms += 6 * DAY_MS;
	report(&host, 0, 10, now_ms);
	ck_assert_uint_eq(tend(&host), 0);
	ck_assert_int_eq(claim(host.pg, place(&host, old_ms), id.text, GROUP), 0);
	now_ms = started_ms + RETENTION_MS + MINUTE_MS;
	report(&host, 0, 10, now_ms);
	ck_assert_uint_ge(tend(&host), 1);
	ck_assert_int_eq(status_of(&host, old_ms), DEDUP_ID_TOO_OLD);
	host_stop(&host);
}
END_TEST

/* D19: killed between COMMIT and the offset commit, down for longer than the retention. */
START_TEST(what_can_be_redelivered_is_not_forgotten)
{
	struct dedup_options options = options_of(GROUP);
	options.day_ms = 60000;
	options.retention_ms = 120000;
	struct host host = host_start_with(&options);
	struct id id = id_at(started_ms, 1);
	report(&host, 0, 10, started_ms - 1000); /* then the event is committed, and the host dies */
	ck_assert_int_eq(claim(host.pg, place(&host, started_ms), id.text, GROUP), 1);
	host_stop(&host);

	now_ms = started_ms + 300000;
	host = host_start_with(&options);
	ck_assert_uint_eq(tend(&host), 0);
	report(&host, 0, 10, started_ms - 1000); /* assigned, nothing read yet */
	ck_assert_uint_eq(tend(&host), 0);
	ck_assert_int_eq(claim(host.pg, place(&host, started_ms), id.text, GROUP), 0);
	report(&host, 0, 11, now_ms); /* the duplicate's offset is behind us, and so is the end of the partition */
	ck_assert_uint_gt(tend(&host), 0);
	ck_assert_int_eq(status_of(&host, started_ms), DEDUP_ID_TOO_OLD);
	host_stop(&host);
}
END_TEST

START_TEST(the_partition_that_is_furthest_behind_decides)
{
	struct host host = host_start(GROUP);
	struct id id = id_at(now_ms, 1);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), id.text, GROUP), 1);
	now_ms += 30 * DAY_MS;
	report(&host, 0, 10, now_ms);
	report(&host, 1, 10, started_ms - HOUR_MS);
	ck_assert_uint_eq(tend(&host), 0);
	report(&host, 1, 11, started_ms + 3 * DAY_MS);
	ck_assert_uint_gt(tend(&host), 0);
	ck_assert_int_eq(status_of(&host, started_ms), DEDUP_ID_TOO_OLD);
	host_stop(&host);
}
END_TEST

START_TEST(nothing_is_forgotten_while_a_partition_is_unknown)
{
	struct host host = host_start(GROUP);
	now_ms += 30 * DAY_MS;
	ck_assert_uint_eq(tend(&host), 0);
	report(&host, 0, 10, -1);
	ck_assert_uint_eq(tend(&host), 0);
	report(&host, 0, 11, now_ms);
	ck_assert_uint_gt(tend(&host), 0);
	host_stop(&host);
}
END_TEST

START_TEST(a_partition_that_nobody_reads_any_more_stops_holding_days_back)
{
	struct host host = host_start(GROUP);
	report(&host, 0, 10, started_ms);
	/* Down for a month: partition 0 may still be about to come. */
	now_ms += 30 * DAY_MS;
	report(&host, 1, 10, now_ms);
	ck_assert_uint_eq(tend(&host), 0);
	/* Alive for a retention, and nobody reported partition 0. */
	for (int64_t end_ms = now_ms + RETENTION_MS; now_ms <= end_ms; now_ms += 10 * 60000)
		database_run(owner, "SELECT \"%s\".dedup_alive('" GROUP "', %" PRId64 ")", database_schema, now_ms);
	report(&host, 1, 10, now_ms);
	ck_assert_uint_gt(tend(&host), 0);
	host_stop(&host);
}
END_TEST

START_TEST(progress_only_rises)
{
	struct host host = host_start(GROUP);
	report(&host, 0, 10, started_ms);
	report(&host, 0, 9, started_ms + HOUR_MS);
	ck_assert_str_eq(database_ask(owner,
	                              "SELECT next_offset || ' ' || low_ms - %" PRId64 " FROM \"%s\".partition_state",
	                              started_ms, database_schema),
	                 "10 0");
	report(&host, 0, 11, -1);
	ck_assert_str_eq(database_ask(owner,
	                              "SELECT next_offset || ' ' || low_ms - %" PRId64 " FROM \"%s\".partition_state",
	                              started_ms, database_schema),
	                 "11 0");
	report(&host, 0, 12, now_ms + 5 * DAY_MS); /* a producer's clock that is ahead */
	ck_assert_str_eq(database_ask(owner,
	                              "SELECT next_offset || ' ' || low_ms - %" PRId64 " FROM \"%s\".partition_state",
	                              now_ms, database_schema),
	                 "12 0");
	host_stop(&host);
}
END_TEST

static int64_t stored_offset(void)
{
	return database_number(owner, "SELECT coalesce(max(next_offset), -1) FROM \"%s\".partition_state",
	                       database_schema);
}

START_TEST(a_database_that_stands_behind_what_is_known_went_back)
{
	struct host host = host_start(GROUP);
	/* A group that used something else before: its offset proves nothing. */
	ck_assert_int_eq(report_knowing(&host, 0, 100, started_ms, 100, true), -1);
	ck_assert_int_eq(stored_offset(), 100);
	ck_assert_int_eq(report_knowing(&host, 0, 150, started_ms, 100, false), -1);
	database_run(owner, "UPDATE \"%s\".partition_state SET next_offset = 120", database_schema);
	ck_assert_int_eq(report_knowing(&host, 0, 200, started_ms, 150, false), 120);
	ck_assert_int_eq(report_knowing(&host, 0, 200, started_ms, 150, true), 120);
	ck_assert_int_eq(stored_offset(), 120); /* it still shows */
	ck_assert_int_eq(report_knowing(&host, 0, 121, started_ms, 120, false), -1);
	ck_assert_int_eq(stored_offset(), 121);
	/* Another host went further, or the group was moved back. */
	ck_assert_int_eq(report_knowing(&host, 0, 50, started_ms, 50, true), -1);
	ck_assert_int_eq(stored_offset(), 121);
	database_run(owner, "DELETE FROM \"%s\".partition_state", database_schema);
	ck_assert_int_eq(report_knowing(&host, 0, 130, started_ms, 121, false), 0);
	ck_assert_int_eq(stored_offset(), -1);
	host_stop(&host);
}
END_TEST

struct inserter {
	struct host host;
	_Atomic bool stop;
	int64_t worst_ms;
	int count;
};

/* On a new connection each time: its first claim locks the parent too, when it learns the bounds of the day. */
static void *insert_in_thread(void *argument)
{
	struct inserter *inserter = argument;
	while (!inserter->stop) {
		struct id id = id_at(started_ms, ++inserter->count);
		struct pg *pg = database_connect(HOST_ROLE);
		int64_t begun_ms = clock_monotonic_ms();
		ck_assert_int_eq(claim(pg, place(&inserter->host, started_ms), id.text, GROUP), 1);
		int64_t took_ms = clock_monotonic_ms() - begun_ms;
		inserter->worst_ms = took_ms > inserter->worst_ms ? took_ms : inserter->worst_ms;
		pg_close(pg);
	}
	return NULL;
}

/* Tends while a batch with an id of that time stays open, and claims go on. */
static void drop_beside_open_batch(int64_t slow_ms)
{
	struct host host = host_start(GROUP), slow = host_start(GROUP);
	struct inserter inserter = {.host = host_start(GROUP)};
	int64_t old_ms = now_ms - 2 * DAY_MS;
	struct id id = id_at(slow_ms, 0);
	pthread_t thread;
	(void)place(&host, old_ms);
	(void)place(&slow, slow_ms);
	database_run(slow.pg, "BEGIN");
	ck_assert_int_eq(claim(slow.pg, place(&slow, slow_ms), id.text, GROUP), 1);
	now_ms += RETENTION_MS + MINUTE_MS;
	report(&host, 0, 10, now_ms);
	PTHREAD_OK(pthread_create(&thread, NULL, insert_in_thread, &inserter));
	int64_t begun_ms = clock_monotonic_ms();
	for (int i = 0; i < 10; i++)
		ck_assert_uint_eq(tend(&host), 0);
	int64_t took_ms = clock_monotonic_ms() - begun_ms;
	inserter.stop = true;
	PTHREAD_OK(pthread_join(thread, NULL));
	ck_assert_int_ge(took_ms, 10 * 100); /* it did wait, for its lock_timeout */
	ck_assert_int_lt(took_ms, 10 * 1000);
	ck_assert_int_gt(inserter.count, 10);
	ck_assert_int_lt(inserter.worst_ms, 2000);
	database_run(slow.pg, "ROLLBACK");
	ck_assert_uint_eq(tend(&host), 1);
	host_stop(&inserter.host);
	host_stop(&slow);
	host_stop(&host);
}

START_TEST(a_drop_beside_a_batch_open_on_that_day_holds_nobody_up)
{
	drop_beside_open_batch(now_ms - 2 * DAY_MS);
}
END_TEST

START_TEST(a_drop_beside_a_batch_open_on_another_day_holds_nobody_up)
{
	drop_beside_open_batch(now_ms);
}
END_TEST

static void *tend_in_thread(void *argument)
{
	ck_assert_uint_eq(tend(argument), 0);
	return NULL;
}

START_TEST(a_claim_that_commits_while_the_drop_waits_keeps_its_day)
{
	struct host host = host_start(GROUP);
	int64_t old_ms = now_ms - 2 * DAY_MS;
	struct pg *slow = database_connect("postgres");
	pthread_t thread;
	(void)place(&host, old_ms);
	now_ms += RETENTION_MS + MINUTE_MS;
	report(&host, 0, 10, now_ms);
	database_run(owner, "ALTER FUNCTION \"%s\".dedup_drop_oldest SET lock_timeout = '30s'", database_schema);
	database_run(slow, "BEGIN");
	database_run(slow,
	             "INSERT INTO \"%s\".processed_event VALUES ('%s', '" GROUP "', to_timestamp(%" PRId64 "), 0)",
	             database_schema, id_at(old_ms, 1).text, now_ms / 1000);
	PTHREAD_OK(pthread_create(&thread, NULL, tend_in_thread, &host));
	database_wait_for_waiters(owner, 1);
	database_run(slow, "COMMIT");
	PTHREAD_OK(pthread_join(thread, NULL));
	ck_assert_int_eq(claim(host.pg, place(&host, old_ms), id_at(old_ms, 1).text, GROUP), 0);
	pg_close(slow);
	host_stop(&host);
}
END_TEST

START_TEST(a_day_that_somebody_dropped_by_hand_does_not_stop_the_forgetting)
{
	struct host host = host_start(GROUP);
	database_run(
	        owner, "DROP TABLE \"%s\".%s", database_schema,
	        database_ask(owner, "SELECT table_name FROM \"%s\".dedup_day ORDER BY day LIMIT 1", database_schema));
	now_ms += 30 * DAY_MS;
	report(&host, 0, 10, now_ms);
	ck_assert_uint_eq(tend(&host), 4);
	host_stop(&host);
}
END_TEST

START_TEST(a_host_that_does_not_know_of_a_drop_meets_42p01_and_learns)
{
	struct host host = host_start(GROUP), other = host_start(GROUP);
	int64_t old_ms = now_ms - 2 * DAY_MS;
	struct id one = id_at(old_ms, 1), two = id_at(old_ms, 2);
	const struct dedup_table *table = place(&other, old_ms);
	ck_assert_int_eq(claim(other.pg, table, one.text, GROUP), 1); /* prepared by now */
	(void)place(&host, old_ms);
	now_ms += RETENTION_MS + MINUTE_MS;
	report(&host, 0, 10, now_ms);
	ck_assert_uint_eq(tend(&host), 1);
	PGresult *result = run_claim(other.pg, table, two.text, GROUP);
	ck_assert_str_eq(PQresultErrorField(result, PG_DIAG_SQLSTATE), "42P01");
	PQclear(result);
	ck_assert_int_eq(status_of(&other, old_ms), DEDUP_PLACED);
	struct error error;
	ck_assert(dedup_refresh(other.dedup, other.pg, &error));
	ck_assert_int_eq(status_of(&other, old_ms), DEDUP_ID_TOO_OLD);
	ck_assert_int_eq(claim(other.pg, place(&other, started_ms), id_at(started_ms, 3).text, GROUP), 1);
	host_stop(&other);
	host_stop(&host);
}
END_TEST

START_TEST(a_claim_that_waits_for_a_drop_meets_42p01)
{
	struct host host = host_start(GROUP);
	int64_t old_ms = now_ms - 2 * DAY_MS;
	struct waiting_claim waiting = {host_start(GROUP), id_at(old_ms, 2), -1};
	struct id one = id_at(old_ms, 1);
	const struct dedup_table *table = place(&waiting.host, old_ms);
	ck_assert_int_eq(claim(waiting.host.pg, table, one.text, GROUP), 1);
	now_ms += RETENTION_MS + MINUTE_MS;
	report(&host, 0, 10, now_ms);
	database_run(owner, "BEGIN");
	ck_assert_str_ne(database_ask(owner, "SELECT \"%s\".dedup_drop_oldest('" GROUP "', %" PRId64 ")",
	                              database_schema, now_ms),
	                 "");
	struct error error;
	const char *const values[] = {"{01890a5d-ac96-774b-bcce-b302099a8057}", "{1}", GROUP};
	PGresult *result;
	ck_assert(pg_queue(waiting.host.pg, &table->claim, &(struct pg_params){.values = values, .count = 3}, &error));
	ck_assert(pg_sync(waiting.host.pg, &error));
	database_wait_for_waiters(owner, 1);
	database_run(owner, "COMMIT");
	ck_assert(pg_next(waiting.host.pg, &result, &error));
	ck_assert_str_eq(PQresultErrorField(result, PG_DIAG_SQLSTATE), "42P01");
	PQclear(result);
	ck_assert(pg_next(waiting.host.pg, &result, &error) && !result);
	host_stop(&waiting.host);
	host_stop(&host);
}
END_TEST

static int64_t rows_in(const char *table)
{
	return database_number(owner, "SELECT count(*) FROM \"%s\".%s", database_schema, table);
}

START_TEST(old_rows_beside_the_days_are_deleted_and_young_ones_stay)
{
	struct host host = host_start(GROUP);
	database_run(owner,
	             "INSERT INTO \"%s\".processed_event_other SELECT gen_random_uuid(), g, to_timestamp(%" PRId64
	             " / 1000.0) - age, 0 FROM unnest(ARRAY['" GROUP "', 'billing-mail']) g, "
	             "unnest(ARRAY[interval '1 day', '9 days']) age, generate_series(1, 12000)",
	             database_schema, now_ms);
	database_run(owner,
	             "INSERT INTO \"%s\".processed_message SELECT event_id, consumer_group, processed_at, 0 "
	             "FROM \"%s\".processed_event_other WHERE consumer_group = '" GROUP "'",
	             database_schema, database_schema);
	tend(&host);
	ck_assert_int_eq(rows_in("processed_event_other"), 48000); /* nobody said how far the partitions are */
	report(&host, 0, 10, now_ms);
	tend(&host);
	ck_assert_int_eq(rows_in("processed_event_other"), 36000);
	ck_assert_int_eq(rows_in("processed_message"), 12000);
	host_stop(&host);
}
END_TEST

START_TEST(attempts_are_forgotten_when_their_records_cant_come_again)
{
	struct host host = host_start(GROUP);
	database_run(owner,
	             "INSERT INTO \"%s\".event_attempt SELECT g, age::text, 0, 1, 'dead', 'rejected', '', 0, "
	             "to_timestamp(%" PRId64 " / 1000.0) - age FROM unnest(ARRAY['" GROUP "', 'billing-mail']) g, "
	             "unnest(ARRAY[interval '1 day', '9 days']) age",
	             database_schema, now_ms);
	tend(&host);
	ck_assert_int_eq(rows_in("event_attempt"), 4); /* nobody said how far the partitions are */
	report(&host, 0, 10, now_ms);
	tend(&host);
	ck_assert_int_eq(rows_in("event_attempt"), 3);
	host_stop(&host);
}
END_TEST

START_TEST(a_released_old_id_is_claimed_once)
{
	struct host host = host_start(GROUP);
	int64_t old_ms = now_ms - 2 * DAY_MS;
	struct id id = id_at(old_ms, 1);
	struct error error;
	(void)place(&host, old_ms);
	now_ms += RETENTION_MS + MINUTE_MS;
	report(&host, 0, 10, now_ms);
	tend(&host);
	ck_assert_int_eq(status_of(&host, old_ms), DEDUP_ID_TOO_OLD);
	ck_assert(!dedup_is_allowed_old(host.dedup, id.text));
	ck_assert(dedup_allow_old(host.dedup, host.pg, id.text, &error));
	ck_assert(dedup_allow_old(host.dedup, host.pg, id.text, &error));
	ck_assert(dedup_is_allowed_old(host.dedup, id.text));
	ck_assert(!dedup_is_allowed_old(host.dedup, id_at(old_ms, 2).text));
	struct host other = host_start(GROUP);
	ck_assert(dedup_is_allowed_old(other.dedup, id.text));
	ck_assert_int_eq(claim(other.pg, dedup_other_table(other.dedup), id.text, GROUP), 1);
	ck_assert_int_eq(claim(host.pg, dedup_other_table(host.dedup), id.text, GROUP), 0);
	/* The permission ends before the claim is forgotten. */
	now_ms += RETENTION_MS / 2 + HOUR_MS;
	database_run(owner, "UPDATE \"%s\".processed_event_other SET processed_at = to_timestamp(%" PRId64 " / 1000.0)",
	             database_schema, now_ms - RETENTION_MS / 2);
	report(&host, 0, 11, now_ms);
	tend(&host);
	ck_assert(!dedup_is_allowed_old(host.dedup, id.text));
	ck_assert_int_eq(rows_in("processed_event_other"), 1);
	host_stop(&other);
	host_stop(&host);
}
END_TEST

int main(int argc, char **argv)
{
	(void)argc;
	Suite *suite = suite_create("dedup forgetting");
	TCase *tests = dedup_tests(suite, "forgetting");
	tcase_add_test(tests, days_are_forgotten_oldest_first_and_never_made_again);
	tcase_add_test(tests, retention_counts_from_processing);
	tcase_add_test(tests, what_can_be_redelivered_is_not_forgotten);
	tcase_add_test(tests, the_partition_that_is_furthest_behind_decides);
	tcase_add_test(tests, nothing_is_forgotten_while_a_partition_is_unknown);
	tcase_add_test(tests, a_partition_that_nobody_reads_any_more_stops_holding_days_back);
	tcase_add_test(tests, progress_only_rises);
	tcase_add_test(tests, a_database_that_stands_behind_what_is_known_went_back);
	tcase_add_test(tests, a_drop_beside_a_batch_open_on_that_day_holds_nobody_up);
	tcase_add_test(tests, a_drop_beside_a_batch_open_on_another_day_holds_nobody_up);
	tcase_add_test(tests, a_claim_that_commits_while_the_drop_waits_keeps_its_day);
	tcase_add_test(tests, a_day_that_somebody_dropped_by_hand_does_not_stop_the_forgetting);
	tcase_add_test(tests, a_host_that_does_not_know_of_a_drop_meets_42p01_and_learns);
	tcase_add_test(tests, a_claim_that_waits_for_a_drop_meets_42p01);
	tcase_add_test(tests, old_rows_beside_the_days_are_deleted_and_young_ones_stay);
	tcase_add_test(tests, attempts_are_forgotten_when_their_records_cant_come_again);
	tcase_add_test(tests, a_released_old_id_is_claimed_once);
	return database_main(argv, suite);
}
