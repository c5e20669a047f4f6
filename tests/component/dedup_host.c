#include "tests/component/dedup_host.h"

#include <inttypes.h>
#include <stdio.h>

int64_t now_ms;

static int64_t test_now_ms(void)
{
	return now_ms;
}

int64_t started_ms;
struct pg *owner;

static void setup(void)
{
	database_setup();
	owner = database_connect("postgres");
	/* Not in the last minutes of a day: what is made young by a minute shall be of the same day. */
	database_run(owner, "SELECT pg_sleep_until(date_trunc('day', t + interval '2 min', 'UTC')) FROM now() t "
	                    "WHERE date_trunc('day', t + interval '2 min', 'UTC') > t");
	started_ms = database_number(owner, "SELECT (extract(epoch FROM now()) * 1000)::bigint");
	now_ms = started_ms;
}

static void teardown(void)
{
	pg_close(owner);
	database_teardown();
}

/* ---- a host: a connection with least rights, and the store ---- */

struct dedup_options options_of(const char *group)
{
	return (struct dedup_options){.schema = database_schema,
	                              .group = group,
	                              .retention_ms = RETENTION_MS,
	                              .day_ms = DAY_MS,
	                              .max_future_ms = 2 * DAY_MS,
	                              .now_ms = test_now_ms};
}

struct host host_start_with(const struct dedup_options *options)
{
	struct error error;
	struct host host = {.pg = database_connect(HOST_ROLE)};
	host.dedup = dedup_open(host.pg, options, &error);
	ck_assert_msg(host.dedup != NULL, "%s", error.text);
	return host;
}

struct host host_start(const char *group)
{
	struct dedup_options options = options_of(group);
	return host_start_with(&options);
}

void host_stop(struct host *host)
{
	dedup_close(host->dedup);
	pg_close(host->pg);
}

size_t tend(struct host *host)
{
	struct error error;
	size_t dropped;
	ck_assert_msg(dedup_tend(host->dedup, host->pg, &dropped, &error), "%s", error.text);
	return dropped;
}

int64_t report_knowing(struct host *host, int partition, int64_t next_offset, int64_t oldest_ms, int64_t known_offset,
                       bool by_group)
{
	struct error error;
	struct dedup_progress row = {.topic = "orders",
	                             .partition = partition,
	                             .next_offset = next_offset,
	                             .oldest_ms = oldest_ms,
	                             .known_offset = known_offset,
	                             .by_group = by_group};
	ck_assert_msg(dedup_report_progress(host->dedup, host->pg, &row, 1, &error), "%s", error.text);
	return row.went_back_to;
}

void report(struct host *host, int partition, int64_t next_offset, int64_t oldest_ms)
{
	ck_assert_int_eq(report_knowing(host, partition, next_offset, oldest_ms, -1, true), -1);
}

/* ---- ids ---- */

struct id id_at(int64_t ms, int number)
{
	struct id id;
	snprintf(id.text, sizeof(id.text), "%08" PRIx64 "-%04" PRIx64 "-7000-8000-%012x", (uint64_t)ms >> 16,
	         (uint64_t)ms & 0xffff, (unsigned)number);
	return id;
}

const struct dedup_table *place(struct host *host, int64_t time_ms)
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

enum dedup_place_status status_of(struct host *host, int64_t time_ms)
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

PGresult *run_claim(struct pg *pg, const struct dedup_table *table, const char *keys, const char *group)
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
int claim(struct pg *pg, const struct dedup_table *table, const char *keys, const char *group)
{
	PGresult *result = run_claim(pg, table, keys, group);
	ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(result));
	int count = PQntuples(result);
	PQclear(result);
	return count;
}

PGresult *run_keys(struct pg *pg, const struct pg_statement *statement, const char *keys, const char *group)
{
	char array[512];
	snprintf(array, sizeof(array), "{%s}", keys);
	const char *const values[] = {array, group};
	PGresult *result = run(pg, statement, &(struct pg_params){.values = values, .count = 2});
	ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(result));
	return result;
}

void *claim_in_thread(void *argument)
{
	struct waiting_claim *waiting = argument;
	waiting->claimed = claim(waiting->host.pg, place(&waiting->host, now_ms), waiting->id.text, GROUP);
	return NULL;
}

TCase *dedup_tests(Suite *suite, const char *name)
{
	TCase *tests = tcase_create(name);
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	suite_add_tcase(suite, tests);
	return tests;
}
