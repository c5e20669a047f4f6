/* Where ids live, claims and rights, as the hosts' role has them on a real PostgreSQL. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/db/dedup_print.h"
#include "tests/component/dedup_host.h"

/* ---- where ids live ---- */

START_TEST(a_new_group_has_today_and_three_days_ahead)
{
	struct host host = host_start(GROUP);
	ck_assert_uint_eq(dedup_day_count(host.dedup), 4);
	for (int day = 0; day <= 3; day++)
		ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM \"%s\".dedup_day WHERE day = %" PRId64,
		                                 database_schema, now_ms / DAY_MS + day),
		                 1);
	now_ms += DAY_MS;
	tend(&host);
	ck_assert_uint_eq(dedup_day_count(host.dedup), 5);
	host_stop(&host);
}
END_TEST

START_TEST(an_id_is_new_once_whatever_day_it_comes_again)
{
	struct host host = host_start(GROUP);
	struct id id = id_at(now_ms, 1);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), id.text, GROUP), 1);
	for (int day = 0; day < 6; day++) {
		now_ms += DAY_MS;
		tend(&host);
		ck_assert_int_eq(claim(host.pg, place(&host, started_ms), id.text, GROUP), 0);
	}
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM \"%s\".processed_event", database_schema), 1);
	host_stop(&host);
}
END_TEST

START_TEST(groups_do_not_disturb_each_other)
{
	struct host one = host_start(GROUP), two = host_start("billing-mail");
	struct id id = id_at(now_ms, 1);
	ck_assert_int_eq(claim(one.pg, place(&one, now_ms), id.text, GROUP), 1);
	ck_assert_int_eq(claim(two.pg, place(&two, now_ms), id.text, "billing-mail"), 1);
	ck_assert_int_eq(claim(one.pg, place(&one, now_ms), id.text, GROUP), 0);
	/* Not even by mistake: the table is the group's own. */
	PGresult *result = run_claim(one.pg, place(&one, now_ms), id.text, "billing-mail");
	ck_assert_str_eq(PQresultErrorField(result, PG_DIAG_SQLSTATE), "23514");
	PQclear(result);
	host_stop(&two);
	host_stop(&one);
}
END_TEST

START_TEST(both_ends_of_a_day_are_inside_it)
{
	struct host host = host_start(GROUP);
	int64_t start_ms = now_ms / DAY_MS * DAY_MS;
	struct id first = id_at(start_ms, 0), last = id_at(start_ms + DAY_MS - 1, INT32_MAX),
	          next = id_at(start_ms + DAY_MS, 0);
	now_ms = start_ms + DAY_MS - 1;
	ck_assert_ptr_eq(place(&host, start_ms), place(&host, start_ms + DAY_MS - 1));
	ck_assert_ptr_ne(place(&host, start_ms), place(&host, start_ms - 1));
	ck_assert_int_eq(claim(host.pg, place(&host, start_ms), first.text, GROUP), 1);
	ck_assert_int_eq(claim(host.pg, place(&host, start_ms), last.text, GROUP), 1);
	now_ms = start_ms + DAY_MS;
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), next.text, GROUP), 1);
	host_stop(&host);
}
END_TEST

START_TEST(a_new_group_takes_ids_of_30_days_ago)
{
	struct host host = host_start(GROUP);
	int64_t old_ms = now_ms - 30 * DAY_MS;
	struct id id = id_at(old_ms, 1);
	ck_assert_ptr_eq(place(&host, old_ms), dedup_other_table(host.dedup));
	ck_assert_int_eq(claim(host.pg, place(&host, old_ms), id.text, GROUP), 1);
	ck_assert_int_eq(claim(host.pg, place(&host, old_ms), id.text, GROUP), 0);
	/* Where an id lives does not change as time goes by. */
	now_ms += 3 * DAY_MS;
	tend(&host);
	struct host later = host_start(GROUP);
	ck_assert_int_eq(claim(later.pg, place(&later, old_ms), id.text, GROUP), 0);
	host_stop(&later);
	host_stop(&host);
}
END_TEST

START_TEST(days_between_the_base_and_today_are_made_on_demand)
{
	struct host host = host_start(GROUP);
	int64_t base_ms = (now_ms - RETENTION_MS) / DAY_MS * DAY_MS;
	ck_assert_int_eq(status_of(&host, base_ms), DEDUP_DAY_MISSING);
	ck_assert_ptr_ne(place(&host, base_ms), dedup_other_table(host.dedup));
	ck_assert_ptr_eq(place(&host, base_ms - 1), dedup_other_table(host.dedup));
	ck_assert_uint_eq(dedup_day_count(host.dedup), 5);
	host_stop(&host);
}
END_TEST

START_TEST(an_id_without_a_time_lives_beside_the_days)
{
	struct host host = host_start(GROUP);
	const char *v4 = "9b2c1c62-7b5c-4f5a-9d0e-3c1f5b7f2a10";
	ck_assert_ptr_eq(place(&host, -1), dedup_other_table(host.dedup));
	ck_assert_int_eq(claim(host.pg, place(&host, -1), v4, GROUP), 1);
	ck_assert_int_eq(claim(host.pg, place(&host, -1), v4, GROUP), 0);
	ck_assert_int_eq(claim(host.pg, place(&host, -1), v4, "billing-mail"), 1);
	host_stop(&host);
}
END_TEST

START_TEST(the_future_is_judged_by_the_clock_of_the_database)
{
	struct dedup_options options = options_of(GROUP);
	options.now_ms = NULL;
	options.max_future_ms = HOUR_MS;
	clock_set_offset_ms(-5 * HOUR_MS); /* a host whose clock lags */
	struct host host = host_start_with(&options);
	ck_assert_int_eq(status_of(&host, started_ms + HOUR_MS / 2), DEDUP_PLACED);
	ck_assert_int_eq(status_of(&host, started_ms + 2 * HOUR_MS), DEDUP_ID_IN_FUTURE);
	ck_assert_int_lt(llabs(dedup_clock_skew_ms(host.dedup) + 5 * HOUR_MS), 60000);
	host_stop(&host);
}
END_TEST

START_TEST(the_width_of_a_day_stays_as_registered_and_the_retention_follows)
{
	struct dedup_options options = options_of(GROUP);
	struct host host = host_start_with(&options);
	struct id id = id_at(now_ms, 1);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), id.text, GROUP), 1);
	host_stop(&host);
	options.day_ms = HOUR_MS;
	options.retention_ms = 30 * DAY_MS;
	host = host_start_with(&options);
	ck_assert_uint_eq(dedup_day_count(host.dedup), 4);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), id.text, GROUP), 0);
	ck_assert_int_eq(database_number(owner, "SELECT retention_ms FROM \"%s\".dedup_group", database_schema),
	                 30 * DAY_MS);
	ck_assert_ptr_eq(place(&host, now_ms - 20 * DAY_MS), dedup_other_table(host.dedup));
	host_stop(&host);
}
END_TEST

/* ---- claims ---- */

START_TEST(a_claim_returns_the_new_ids_only_and_a_look_up_their_hashes)
{
	struct host host = host_start(GROUP);
	struct id one = id_at(now_ms, 1), two = id_at(now_ms, 2);
	char both[100];
	snprintf(both, sizeof(both), "%s,%s", one.text, two.text);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), one.text, GROUP), 1);
	PGresult *result = run_claim(host.pg, place(&host, now_ms), both, GROUP);
	ck_assert_int_eq(PQntuples(result), 1);
	ck_assert_int_eq(PQfformat(result, 0), 1);
	ck_assert_int_eq(PQgetlength(result, 0, 0), 16);
	ck_assert_int_eq(PQgetvalue(result, 0, 0)[15], 2);
	PQclear(result);
	result = run_keys(host.pg, &place(&host, now_ms)->look_up, both, GROUP);
	ck_assert_int_eq(PQntuples(result), 2);
	ck_assert_int_eq(PQgetvalue(result, 0, 1)[7], 77);
	PQclear(result);
	host_stop(&host);
}
END_TEST

START_TEST(a_released_id_is_new_again)
{
	struct host host = host_start(GROUP);
	struct id id = id_at(now_ms, 1);
	const struct dedup_table *table = place(&host, now_ms);
	ck_assert_int_eq(claim(host.pg, table, id.text, GROUP), 1);
	PGresult *result = run_keys(host.pg, &table->release, id.text, GROUP);
	ck_assert_int_eq(PQntuples(result), 1);
	PQclear(result);
	result = run_keys(host.pg, &table->release, id.text, GROUP);
	ck_assert_int_eq(PQntuples(result), 0);
	PQclear(result);
	ck_assert_int_eq(claim(host.pg, table, id.text, GROUP), 1);
	host_stop(&host);
}
END_TEST

/* What a copy of an id gets, whose original is in an open transaction that ends like this. */
static int claim_beside_open(const char *end)
{
	struct host first = host_start(GROUP);
	struct waiting_claim copy = {host_start(GROUP), id_at(now_ms, 1), -1};
	pthread_t thread;
	database_run(first.pg, "BEGIN");
	ck_assert_int_eq(claim(first.pg, place(&first, now_ms), copy.id.text, GROUP), 1);
	PTHREAD_OK(pthread_create(&thread, NULL, claim_in_thread, &copy));
	database_wait_for_waiters(owner, 1);
	database_run(first.pg, "%s", end);
	PTHREAD_OK(pthread_join(thread, NULL));
	host_stop(&copy.host);
	host_stop(&first);
	return copy.claimed;
}

START_TEST(a_copy_beside_an_open_original_is_a_duplicate_when_it_commits)
{
	ck_assert_int_eq(claim_beside_open("COMMIT"), 0);
}
END_TEST

START_TEST(a_copy_beside_an_open_original_takes_over_when_it_aborts)
{
	ck_assert_int_eq(claim_beside_open("ROLLBACK"), 1);
}
END_TEST

START_TEST(a_business_key_is_new_once_per_group_and_never_cut)
{
	struct host host = host_start(GROUP);
	const struct dedup_table *table = dedup_message_table(host.dedup);
	char key[202];
	memset(key, 'k', sizeof(key));
	key[201] = '\0';
	ck_assert(table->is_text);
	ck_assert_int_eq(claim(host.pg, table, "\"order-paid:4711\"", GROUP), 1);
	ck_assert_int_eq(claim(host.pg, table, "\"order-paid:4711\"", GROUP), 0);
	ck_assert_int_eq(claim(host.pg, table, "\"order-paid:4711\"", "billing-mail"), 1);
	PGresult *result = run_claim(host.pg, table, key, GROUP);
	ck_assert_str_eq(PQresultErrorField(result, PG_DIAG_SQLSTATE), "22001");
	PQclear(result);
	key[200] = '\0';
	ck_assert_int_eq(claim(host.pg, table, key, GROUP), 1);
	host_stop(&host);
}
END_TEST

START_TEST(a_prepared_look_up_takes_the_primary_key_of_a_table_that_is_still_small)
{
	struct host host = host_start(GROUP);
	(void)place(&host, now_ms);
	char table[128];
	snprintf(table, sizeof(table), "\"%s\".%s", database_schema,
	         database_ask(owner, "SELECT table_name FROM \"%s\".dedup_day ORDER BY day LIMIT 1", database_schema));
	database_run(owner, "SET plan_cache_mode = force_generic_plan");
	database_run(
	        owner,
	        "PREPARE look_up(uuid[], text) AS SELECT FROM %s WHERE event_id = ANY ($1) AND consumer_group = $2",
	        table);
	const char *plan = database_ask(owner, "EXPLAIN (COSTS off) EXECUTE look_up('{}', '')");
	ck_assert_msg(strncmp(plan, "Index ", 6) == 0, "%s", plan);
	/* Statistics of a table of 60 rows would make it a sequential scan: nobody shall take them. */
	ck_assert_ptr_nonnull(
	        strstr(database_ask(owner, "SELECT reloptions FROM pg_class WHERE oid = '%s'::regclass", table),
	               "autovacuum_analyze_threshold=2147483647"));
	host_stop(&host);
}
END_TEST

/* ---- making days ---- */

START_TEST(a_day_is_made_while_batches_of_the_group_are_open)
{
	struct host host = host_start(GROUP), other = host_start(GROUP);
	struct id id = id_at(now_ms, 1);
	database_run(host.pg, "BEGIN");
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), id.text, GROUP), 1);
	int64_t begun_ms = clock_monotonic_ms();
	(void)place(&other, now_ms - 2 * DAY_MS);
	struct host another_group = host_start("billing-mail");
	ck_assert_int_lt(clock_monotonic_ms() - begun_ms, 2000);
	database_run(host.pg, "COMMIT");
	host_stop(&another_group);
	host_stop(&other);
	host_stop(&host);
}
END_TEST

static void *make_in_thread(void *argument)
{
	struct host *host = argument;
	(void)place(host, now_ms - 2 * DAY_MS);
	return NULL;
}

START_TEST(two_hosts_make_the_same_day_at_the_same_time)
{
	struct host hosts[2] = {host_start(GROUP), host_start(GROUP)};
	pthread_t threads[2];
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT \"%s\".dedup_lock(1)", database_schema);
	for (int i = 0; i < 2; i++)
		PTHREAD_OK(pthread_create(&threads[i], NULL, make_in_thread, &hosts[i]));
	database_wait_for_waiters(owner, 2);
	database_run(owner, "COMMIT");
	for (int i = 0; i < 2; i++)
		PTHREAD_OK(pthread_join(threads[i], NULL));
	struct id id = id_at(now_ms - 2 * DAY_MS, 1);
	ck_assert_int_eq(claim(hosts[0].pg, place(&hosts[0], now_ms - 2 * DAY_MS), id.text, GROUP), 1);
	ck_assert_int_eq(claim(hosts[1].pg, place(&hosts[1], now_ms - 2 * DAY_MS), id.text, GROUP), 0);
	host_stop(&hosts[1]);
	host_stop(&hosts[0]);
}
END_TEST

static void *start_in_thread(void *argument)
{
	struct host *host = argument;
	struct dedup_options options = options_of(GROUP);
	struct error error;
	host->dedup = dedup_open(host->pg, &options, &error);
	ck_assert_msg(host->dedup != NULL, "%s", error.text);
	return NULL;
}

START_TEST(two_hosts_register_the_same_group_at_the_same_time)
{
	struct host hosts[2] = {{.pg = database_connect(HOST_ROLE)}, {.pg = database_connect(HOST_ROLE)}};
	pthread_t threads[2];
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT \"%s\".dedup_lock(0)", database_schema);
	for (int i = 0; i < 2; i++)
		PTHREAD_OK(pthread_create(&threads[i], NULL, start_in_thread, &hosts[i]));
	database_wait_for_waiters(owner, 2);
	database_run(owner, "COMMIT");
	for (int i = 0; i < 2; i++)
		PTHREAD_OK(pthread_join(threads[i], NULL));
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM \"%s\".dedup_group", database_schema), 1);
	ck_assert_int_eq(database_number(owner, "SELECT count(*) FROM \"%s\".dedup_day", database_schema), 4);
	host_stop(&hosts[1]);
	host_stop(&hosts[0]);
}
END_TEST

struct placer {
	struct host *host;
	_Atomic bool *stop;
	int64_t placed;
};

static void *place_in_thread(void *argument)
{
	struct placer *placer = argument;
	const struct dedup_table *table;
	while (!*placer->stop)
		for (int64_t ms = started_ms - 6 * DAY_MS; ms < started_ms + DAY_MS; ms += DAY_MS)
			if (dedup_place(placer->host->dedup, ms, &table) == DEDUP_PLACED && table->day == ms / DAY_MS)
				placer->placed++;
	return NULL;
}

START_TEST(threads_place_while_another_one_makes_and_reads_days)
{
	struct host host = host_start(GROUP);
	_Atomic bool stop = false;
	struct placer placers[3];
	pthread_t threads[3];
	struct error error;
	for (int i = 0; i < 3; i++) {
		placers[i] = (struct placer){&host, &stop, 0};
		PTHREAD_OK(pthread_create(&threads[i], NULL, place_in_thread, &placers[i]));
	}
	for (int day = 0; day <= 6; day++) {
		ck_assert(dedup_make_day(host.dedup, host.pg, started_ms - day * DAY_MS, &error));
		ck_assert(dedup_refresh(host.dedup, host.pg, &error));
	}
	(void)place(&host, started_ms);
	stop = true;
	for (int i = 0; i < 3; i++) {
		PTHREAD_OK(pthread_join(threads[i], NULL));
		ck_assert_int_gt(placers[i].placed, 0);
	}
	ck_assert_uint_eq(dedup_day_count(host.dedup), 10);
	host_stop(&host);
}
END_TEST

static void drop_by_hand(int64_t time_ms)
{
	char table[64];
	snprintf(table, sizeof(table), "%s",
	         database_ask(owner, "SELECT table_name FROM \"%s\".dedup_day WHERE day = %" PRId64, database_schema,
	                      time_ms / DAY_MS));
	database_run(owner, "DROP TABLE \"%s\".%s", database_schema, table);
}

static void expect_claim_state(struct host *host, int64_t time_ms, const char *state)
{
	PGresult *result = run_claim(host->pg, place(host, time_ms), id_at(time_ms, 1).text, GROUP);
	ck_assert_str_eq(PQresultErrorField(result, PG_DIAG_SQLSTATE), state);
	PQclear(result);
}

START_TEST(a_day_to_come_that_somebody_dropped_is_made_again)
{
	struct host host = host_start(GROUP);
	struct error error;
	int64_t tomorrow_ms = now_ms + DAY_MS;
	drop_by_hand(tomorrow_ms);
	expect_claim_state(&host, tomorrow_ms, "42P01");
	ck_assert(dedup_refresh(host.dedup, host.pg, &error));
	ck_assert_int_eq(claim(host.pg, place(&host, tomorrow_ms), id_at(tomorrow_ms, 1).text, GROUP), 1);
	host_stop(&host);
}
END_TEST

START_TEST(a_day_that_somebody_dropped_is_not_begun_anew_without_being_told)
{
	struct host host = host_start(GROUP);
	struct error error;
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), id_at(now_ms, 1).text, GROUP), 1);
	drop_by_hand(now_ms);
	expect_claim_state(&host, now_ms, "42P01");
	ck_assert(dedup_refresh(host.dedup, host.pg, &error));
	ck_assert_int_eq(status_of(&host, now_ms), DEDUP_DAY_MISSING);
	ck_assert(!dedup_make_day(host.dedup, host.pg, now_ms, &error));
	ck_assert_str_eq(error.sqlstate, "XX001");
	ck_assert_ptr_nonnull(strstr(error.text, "was dropped by hand"));
	database_run(owner, "DELETE FROM \"%s\".dedup_day WHERE day = %" PRId64, database_schema, now_ms / DAY_MS);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), id_at(now_ms, 1).text, GROUP), 1);
	host_stop(&host);
}
END_TEST

START_TEST(days_shorter_than_a_day_have_tables_of_their_own)
{
	struct dedup_options options = options_of(GROUP);
	options.day_ms = 60000;
	options.retention_ms = 120000;
	struct host host = host_start_with(&options);
	ck_assert_uint_eq(dedup_day_count(host.dedup), 4);
	struct id id = id_at(now_ms - 60000, 1);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms - 60000), id.text, GROUP), 1);
	ck_assert_uint_eq(dedup_day_count(host.dedup), 5);
	host_stop(&host);
}
END_TEST

/* ---- rights ---- */

START_TEST(the_hosts_role_can_neither_make_nor_drop_nor_rewrite)
{
	struct host host = host_start(GROUP);
	char table[128];
	snprintf(table, sizeof(table), "\"%s\".%s", database_schema,
	         database_ask(owner, "SELECT table_name FROM \"%s\".dedup_day ORDER BY day LIMIT 1", database_schema));
	ck_assert_str_eq(database_state(host.pg, "CREATE TABLE \"%s\".mine ()", database_schema), "42501");
	ck_assert_str_eq(database_state(host.pg, "DROP TABLE %s", table), "42501");
	ck_assert_str_eq(database_state(host.pg, "TRUNCATE %s", table), "42501");
	ck_assert_str_eq(database_state(host.pg, "UPDATE %s SET processed_at = now()", table), "42501");
	ck_assert_str_eq(database_state(host.pg, "DELETE FROM \"%s\".processed_event", database_schema), "42501");
	ck_assert_str_eq(database_state(host.pg, "UPDATE \"%s\".dedup_group SET floor_day = 0", database_schema),
	                 "42501");
	ck_assert_str_eq(database_state(host.pg, "DELETE FROM \"%s\".dedup_day", database_schema), "42501");
	ck_assert_str_eq(database_state(host.pg, "SELECT \"%s\".dedup_grant('dedup_group')", database_schema), "42501");
	ck_assert_str_eq(database_state(host.pg, "SELECT count(*) FROM %s", table), "");
	host_stop(&host);
}
END_TEST

START_TEST(a_role_without_grants_gets_nowhere)
{
	struct dedup_options options = options_of(GROUP);
	struct error error;
	database_run(owner, "DROP ROLE IF EXISTS stranger");
	database_run(owner, "CREATE ROLE stranger LOGIN");
	struct pg *pg = database_connect("stranger");
	ck_assert_ptr_null(dedup_open(pg, &options, &error));
	ck_assert_str_eq(error.sqlstate, "42501");
	pg_close(pg);
	database_run(owner, "DROP ROLE stranger");
}
END_TEST

/* ---- what idemctl prints ---- */

START_TEST(status_and_expire_are_printed_for_people_and_programs)
{
	struct dedup_options options = options_of(GROUP);
	struct host host = host_start(GROUP);
	struct error error;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	report(&host, 3, 10, now_ms);
	ck_assert_msg(dedup_print_status(host.pg, database_schema, NULL, false, out, &error), "%s", error.text);
	ck_assert_msg(dedup_print_status(host.pg, database_schema, GROUP, true, out, &error), "%s", error.text);
	ck_assert(dedup_print_status(host.pg, database_schema, "nobody", true, out, &error));
	now_ms += 30 * DAY_MS;
	report(&host, 3, 10, now_ms);
	ck_assert_msg(dedup_print_expire(host.pg, &options, false, out, &error), "%s", error.text);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "group " GROUP ": retention 7 days"));
	ck_assert_ptr_nonnull(strstr(text, "furthest behind orders [3]"));
	ck_assert_ptr_nonnull(strstr(text, "  processed_event_g1_"));
	ck_assert_ptr_nonnull(strstr(text, "\"consumer_group\":\"" GROUP "\",\"number\":1,"));
	ck_assert_ptr_nonnull(strstr(text, "{\"groups\" : [], \"days\" : []}"));
	ck_assert_ptr_nonnull(strstr(text, "group " GROUP ": 4 days forgotten, 4 left"));
	free(text);
	host_stop(&host);
}
END_TEST

static void add_placing(Suite *suite)
{
	TCase *tests = dedup_tests(suite, "where ids live");
	tcase_add_test(tests, a_new_group_has_today_and_three_days_ahead);
	tcase_add_test(tests, an_id_is_new_once_whatever_day_it_comes_again);
	tcase_add_test(tests, groups_do_not_disturb_each_other);
	tcase_add_test(tests, both_ends_of_a_day_are_inside_it);
	tcase_add_test(tests, a_new_group_takes_ids_of_30_days_ago);
	tcase_add_test(tests, days_between_the_base_and_today_are_made_on_demand);
	tcase_add_test(tests, an_id_without_a_time_lives_beside_the_days);
	tcase_add_test(tests, the_future_is_judged_by_the_clock_of_the_database);
	tcase_add_test(tests, the_width_of_a_day_stays_as_registered_and_the_retention_follows);
}

static void add_claiming(Suite *suite)
{
	TCase *tests = dedup_tests(suite, "claims");
	tcase_add_test(tests, a_claim_returns_the_new_ids_only_and_a_look_up_their_hashes);
	tcase_add_test(tests, a_released_id_is_new_again);
	tcase_add_test(tests, a_copy_beside_an_open_original_is_a_duplicate_when_it_commits);
	tcase_add_test(tests, a_copy_beside_an_open_original_takes_over_when_it_aborts);
	tcase_add_test(tests, a_business_key_is_new_once_per_group_and_never_cut);
	tcase_add_test(tests, a_prepared_look_up_takes_the_primary_key_of_a_table_that_is_still_small);
}

static void add_making(Suite *suite)
{
	TCase *tests = dedup_tests(suite, "making days");
	tcase_add_test(tests, a_day_is_made_while_batches_of_the_group_are_open);
	tcase_add_test(tests, two_hosts_make_the_same_day_at_the_same_time);
	tcase_add_test(tests, two_hosts_register_the_same_group_at_the_same_time);
	tcase_add_test(tests, threads_place_while_another_one_makes_and_reads_days);
	tcase_add_test(tests, a_day_to_come_that_somebody_dropped_is_made_again);
	tcase_add_test(tests, a_day_that_somebody_dropped_is_not_begun_anew_without_being_told);
	tcase_add_test(tests, days_shorter_than_a_day_have_tables_of_their_own);
}

int main(int argc, char **argv)
{
	(void)argc;
	Suite *suite = suite_create("dedup");
	add_placing(suite);
	add_claiming(suite);
	add_making(suite);
	TCase *tests = dedup_tests(suite, "rights and printing");
	tcase_add_test(tests, the_hosts_role_can_neither_make_nor_drop_nor_rewrite);
	tcase_add_test(tests, a_role_without_grants_gets_nowhere);
	tcase_add_test(tests, status_and_expire_are_printed_for_people_and_programs);
	return database_main(argv, suite);
}
