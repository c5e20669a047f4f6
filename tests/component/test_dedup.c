/* The dedup store as the hosts' role uses it, on a real PostgreSQL.  Time is given by the test: now_ms. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/db/dedup_print.h"
#include "tests/component/database.h"

#define GROUP "billing-order-confirmed"
#define RETENTION_MS (7 * DAY_MS)
#define HOUR_MS INT64_C(3600000)

static int64_t now_ms;

static int64_t test_now_ms(void)
{
	return now_ms;
}

static int64_t started_ms; /* the database's real time, which processed_at comes from */
static struct pg *owner;

static void setup(void)
{
	database_setup();
	owner = database_connect("postgres");
	started_ms = database_number(owner, "SELECT (extract(epoch FROM now()) * 1000)::bigint");
	now_ms = started_ms;
}

static void teardown(void)
{
	pg_close(owner);
	database_teardown();
}

/* ---- a host: a connection with least rights, and the store ---- */

struct host {
	struct pg *pg;
	struct dedup *dedup;
};

static struct dedup_options options_of(const char *group)
{
	return (struct dedup_options){.schema = database_schema,
	                              .group = group,
	                              .retention_ms = RETENTION_MS,
	                              .day_ms = DAY_MS,
	                              .max_future_ms = HOUR_MS,
	                              .now_ms = test_now_ms};
}

static struct host host_start_with(const struct dedup_options *options)
{
	struct error error;
	struct host host = {.pg = database_connect(HOST_ROLE)};
	host.dedup = dedup_open(host.pg, options, &error);
	ck_assert_msg(host.dedup != NULL, "%s", error.text);
	return host;
}

static struct host host_start(const char *group)
{
	struct dedup_options options = options_of(group);
	return host_start_with(&options);
}

static void host_stop(struct host *host)
{
	dedup_close(host->dedup);
	pg_close(host->pg);
}

static size_t tend(struct host *host)
{
	struct error error;
	size_t dropped;
	ck_assert_msg(dedup_tend(host->dedup, host->pg, &dropped, &error), "%s", error.text);
	return dropped;
}

static void report(struct host *host, int partition, int64_t next_offset, int64_t oldest_ms)
{
	struct error error;
	struct dedup_progress row = {"orders", partition, next_offset, oldest_ms};
	ck_assert_msg(dedup_report_progress(host->dedup, host->pg, &row, 1, &error), "%s", error.text);
}

/* ---- ids ---- */

struct id {
	char text[48];
};

static struct id id_at(int64_t ms, int number)
{
	struct id id;
	snprintf(id.text, sizeof(id.text), "%08" PRIx64 "-%04" PRIx64 "-7000-8000-%012x", (uint64_t)ms >> 16,
	         (uint64_t)ms & 0xffff, (unsigned)number);
	return id;
}

static const struct dedup_table *place(struct host *host, int64_t time_ms)
{
	const struct dedup_table *table = NULL;
	enum dedup_place_status status = dedup_place(host->dedup, time_ms, &table);
	if (status == DEDUP_DAY_MISSING) {
		struct error error;
		ck_assert_msg(dedup_make_day(host->dedup, host->pg, time_ms, &error), "%s", error.text);
		status = dedup_place(host->dedup, time_ms, &table);
	}
	ck_assert_int_eq(status, DEDUP_PLACED);
	return table;
}

static enum dedup_place_status status_of(struct host *host, int64_t time_ms)
{
	const struct dedup_table *table;
	return dedup_place(host->dedup, time_ms, &table);
}

/* ---- statements, as a batch sends them ---- */

static PGresult *run(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params)
{
	struct error error;
	PGresult *result, *sync;
	ck_assert_msg(pg_queue(pg, statement, params, &error) && pg_sync(pg, &error) && pg_next(pg, &result, &error),
	              "%s", error.text);
	ck_assert_msg(pg_next(pg, &sync, &error) && !sync, "%s", error.text);
	return result;
}

static PGresult *run_claim(struct pg *pg, const struct dedup_table *table, const char *keys, const char *group)
{
	char array[512], hashes[64] = "{";
	snprintf(array, sizeof(array), "{%s}", keys);
	size_t at = 1;
	for (const char *comma = keys; comma; comma = strchr(comma + 1, ','))
		at += (size_t)snprintf(hashes + at, sizeof(hashes) - at, "%s77", at > 1 ? "," : "");
	snprintf(hashes + at, sizeof(hashes) - at, "}");
	const char *const values[] = {array, hashes, group};
	return run(pg, &table->claim, &(struct pg_params){.values = values, .count = 3});
}

/* How many of the keys were new. */
static int claim(struct pg *pg, const struct dedup_table *table, const char *keys, const char *group)
{
	PGresult *result = run_claim(pg, table, keys, group);
	ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(result));
	int count = PQntuples(result);
	PQclear(result);
	return count;
}

static PGresult *run_keys(struct pg *pg, const struct pg_statement *statement, const char *keys, const char *group)
{
	char array[512];
	snprintf(array, sizeof(array), "{%s}", keys);
	const char *const values[] = {array, group};
	PGresult *result = run(pg, statement, &(struct pg_params){.values = values, .count = 2});
	ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(result));
	return result;
}

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
	clock_set_offset_ms(-5 * HOUR_MS); /* a host whose clock lags */
	struct host host = host_start_with(&options);
	clock_set_offset_ms(0);
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

struct waiting_claim {
	struct host host;
	struct id id;
	int claimed;
};

static void *claim_in_thread(void *argument)
{
	struct waiting_claim *waiting = argument;
	waiting->claimed = claim(waiting->host.pg, place(&waiting->host, now_ms), waiting->id.text, GROUP);
	return NULL;
}

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

/* ---- forgetting ---- */

START_TEST(days_are_forgotten_oldest_first_and_never_made_again)
{
	struct host host = host_start(GROUP);
	int64_t oldest_ms = now_ms - 2 * DAY_MS;
	struct id old = id_at(oldest_ms, 1), young = id_at(now_ms, 1);
	ck_assert_int_eq(claim(host.pg, place(&host, oldest_ms), old.text, GROUP), 1);
	ck_assert_int_eq(claim(host.pg, place(&host, now_ms), young.text, GROUP), 1);
	now_ms += RETENTION_MS + HOUR_MS; /* rows are old enough, today's day is not over for as long */
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
	now_ms = started_ms + RETENTION_MS + HOUR_MS;
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

struct inserter {
	struct host host;
	_Atomic bool stop;
	int64_t worst_ms, count;
};

static void *insert_in_thread(void *argument)
{
	struct inserter *inserter = argument;
	while (!inserter->stop) {
		struct id id = id_at(started_ms, (int)++inserter->count);
		int64_t begun_ms = clock_monotonic_ms();
		database_run(inserter->host.pg, "BEGIN");
		ck_assert_int_eq(claim(inserter->host.pg, place(&inserter->host, started_ms), id.text, GROUP), 1);
		database_run(inserter->host.pg, "COMMIT");
		int64_t took_ms = clock_monotonic_ms() - begun_ms;
		inserter->worst_ms = took_ms > inserter->worst_ms ? took_ms : inserter->worst_ms;
	}
	return NULL;
}

START_TEST(a_drop_waits_for_nobody_and_nobody_waits_for_it)
{
	struct host host = host_start(GROUP), slow = host_start(GROUP);
	struct inserter inserter = {.host = host_start(GROUP)};
	int64_t old_ms = now_ms - 2 * DAY_MS;
	struct id one = id_at(old_ms, 1), two = id_at(old_ms, 2);
	pthread_t thread;
	ck_assert_int_eq(claim(host.pg, place(&host, old_ms), one.text, GROUP), 1);
	ck_assert(place(&slow, old_ms) != NULL && place(&inserter.host, started_ms) != NULL);
	database_run(slow.pg, "BEGIN");
	ck_assert_int_eq(claim(slow.pg, place(&slow, old_ms), two.text, GROUP), 1);
	now_ms += RETENTION_MS + HOUR_MS;
	report(&host, 0, 10, now_ms);
	PTHREAD_OK(pthread_create(&thread, NULL, insert_in_thread, &inserter));
	int64_t begun_ms = clock_monotonic_ms();
	for (int i = 0; i < 10; i++)
		ck_assert_uint_eq(tend(&host), 0);                   /* busy */
	ck_assert_int_ge(clock_monotonic_ms() - begun_ms, 10 * 100); /* it did wait for its lock_timeout */
	ck_assert_int_lt(clock_monotonic_ms() - begun_ms, 10 * 300);
	inserter.stop = true;
	PTHREAD_OK(pthread_join(thread, NULL));
	ck_assert_int_gt(inserter.count, 10);
	ck_assert_int_lt(inserter.worst_ms, 400);
	database_run(slow.pg, "ROLLBACK");
	ck_assert_uint_eq(tend(&host), 1);
	host_stop(&inserter.host);
	host_stop(&slow);
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
	now_ms += RETENTION_MS + HOUR_MS;
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
	now_ms += RETENTION_MS + HOUR_MS;
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

START_TEST(a_released_old_id_is_claimed_once)
{
	struct host host = host_start(GROUP);
	int64_t old_ms = now_ms - 2 * DAY_MS;
	struct id id = id_at(old_ms, 1);
	struct error error;
	(void)place(&host, old_ms);
	now_ms += RETENTION_MS + HOUR_MS;
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

static TCase *tests_of(Suite *suite, const char *name)
{
	TCase *tests = tcase_create(name);
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	suite_add_tcase(suite, tests);
	return tests;
}

static void add_placing(Suite *suite)
{
	TCase *tests = tests_of(suite, "where ids live");
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
	TCase *tests = tests_of(suite, "claims");
	tcase_add_test(tests, a_claim_returns_the_new_ids_only_and_a_look_up_their_hashes);
	tcase_add_test(tests, a_released_id_is_new_again);
	tcase_add_test(tests, a_copy_beside_an_open_original_is_a_duplicate_when_it_commits);
	tcase_add_test(tests, a_copy_beside_an_open_original_takes_over_when_it_aborts);
	tcase_add_test(tests, a_business_key_is_new_once_per_group_and_never_cut);
	tcase_add_test(tests, a_prepared_look_up_takes_the_primary_key_of_a_table_that_is_still_small);
}

static void add_making(Suite *suite)
{
	TCase *tests = tests_of(suite, "making days");
	tcase_add_test(tests, a_day_is_made_while_batches_of_the_group_are_open);
	tcase_add_test(tests, two_hosts_make_the_same_day_at_the_same_time);
	tcase_add_test(tests, two_hosts_register_the_same_group_at_the_same_time);
	tcase_add_test(tests, days_shorter_than_a_day_have_tables_of_their_own);
}

static void add_forgetting(Suite *suite)
{
	TCase *tests = tests_of(suite, "forgetting");
	tcase_add_test(tests, days_are_forgotten_oldest_first_and_never_made_again);
	tcase_add_test(tests, retention_counts_from_processing);
	tcase_add_test(tests, what_can_be_redelivered_is_not_forgotten);
	tcase_add_test(tests, the_partition_that_is_furthest_behind_decides);
	tcase_add_test(tests, nothing_is_forgotten_while_a_partition_is_unknown);
	tcase_add_test(tests, a_partition_that_nobody_reads_any_more_stops_holding_days_back);
	tcase_add_test(tests, progress_only_rises);
	tcase_add_test(tests, a_drop_waits_for_nobody_and_nobody_waits_for_it);
	tcase_add_test(tests, a_host_that_does_not_know_of_a_drop_meets_42p01_and_learns);
	tcase_add_test(tests, a_claim_that_waits_for_a_drop_meets_42p01);
	tcase_add_test(tests, old_rows_beside_the_days_are_deleted_and_young_ones_stay);
	tcase_add_test(tests, a_released_old_id_is_claimed_once);
}

int main(int argc, char **argv)
{
	(void)argc;
	Suite *suite = suite_create("dedup");
	add_placing(suite);
	add_claiming(suite);
	add_making(suite);
	add_forgetting(suite);
	TCase *tests = tests_of(suite, "rights and printing");
	tcase_add_test(tests, the_hosts_role_can_neither_make_nor_drop_nor_rewrite);
	tcase_add_test(tests, a_role_without_grants_gets_nowhere);
	tcase_add_test(tests, status_and_expire_are_printed_for_people_and_programs);
	return database_main(argv, suite);
}
