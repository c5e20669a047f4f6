/* The store: opening, where an id lives, the database's clock. */
#include "core/db/dedup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/db/dedup_store.h"

struct dedup_number dedup_number(int64_t number)
{
	struct dedup_number out;
	snprintf(out.text, sizeof(out.text), "%" PRId64, number);
	return out;
}

int64_t dedup_int64(const PGresult *result, int row, int column)
{
	return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

PGresult *dedup_run(struct pg *side, const struct dedup_values *values, struct error *error, const char *format, ...)
{
	char sql[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(sql, sizeof(sql), format, arguments);
	va_end(arguments);
	ASSERT(length >= 0 && (size_t)length < sizeof(sql));
	return pg_run(side, sql, values->items, values->count, error);
}

/* ---- time ---- */

int64_t dedup_now_ms(const struct dedup *dedup)
{
	return dedup->now_ms ? dedup->now_ms() : clock_monotonic_ms() + atomic_load(&dedup->clock_offset_ms);
}

bool dedup_measure_clock(struct dedup *dedup, struct pg *side, struct error *error)
{
	int64_t before_ms = clock_monotonic_ms(), wall_before_ms = clock_wall_ms();
	PGresult *result =
	        pg_run(side, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", NULL, 0, error);
	if (!result)
		return false;
	int64_t half_ms = (clock_monotonic_ms() - before_ms) / 2, database_ms = dedup_int64(result, 0, 0);
	PQclear(result);
	atomic_store(&dedup->clock_offset_ms, database_ms - (before_ms + half_ms));
	clock_share(database_ms + half_ms);
	atomic_store(&dedup->clock_skew_ms, wall_before_ms + half_ms - database_ms);
	return true;
}

int64_t dedup_clock_skew_ms(const struct dedup *dedup)
{
	return atomic_load(&dedup->clock_skew_ms);
}

int64_t dedup_day_of(const struct dedup *dedup, int64_t time_ms)
{
	int64_t day = time_ms / dedup->day_ms;
	return day * dedup->day_ms > time_ms ? day - 1 : day;
}

/* ---- opening ---- */

/* The group's row is made when it is new; its day_ms is the one it was made with. */
static bool dedup_register(struct dedup *dedup, struct pg *side, int64_t day_ms, struct error *error)
{
	struct dedup_number retention = dedup_number(dedup->retention_ms), width = dedup_number(day_ms),
	                    now = dedup_number(dedup_now_ms(dedup));
	PGresult *result =
	        dedup_run(side, DEDUP_VALUES(dedup->group, retention.text, width.text, now.text), error,
	                  "SELECT day_ms, base_day, floor_day FROM %s.dedup_register($1, $2, $3, $4)", dedup->schema);
	if (!result)
		return error_wrap(error, "registering group %s", dedup->group);
	dedup->day_ms = dedup_int64(result, 0, 0);
	dedup->base_day = dedup_int64(result, 0, 1);
	dedup->floor_day = dedup_int64(result, 0, 2);
	PQclear(result);
	if (dedup->day_ms != day_ms)
		log_write(LOG_config_warning,
		          "group %s keeps the day of %" PRId64 " ms it was registered with; dedup.day says %" PRId64
		          " ms",
		          dedup->group, dedup->day_ms, day_ms);
	return true;
}

static void dedup_prepare_report(struct dedup *dedup)
{
	enum { TEXT = 25, INT4 = 23, INT8 = 20, BOOLEAN = 16 };
	static const Oid types[] = {TEXT, TEXT, INT4, INT8, INT8, INT8, INT8, BOOLEAN};
	char *sql;
	/* One statement looks and writes: between two, somebody could fail over. */
	ASSERT(asprintf(&sql,
	                "WITH stored AS (SELECT next_offset FROM %s.partition_state "
	                "WHERE consumer_group = $1 AND topic = $2 AND partition = $3 FOR UPDATE), "
	                "back AS (SELECT coalesce((SELECT next_offset FROM stored), CASE WHEN $8 THEN $7 ELSE 0 END) "
	                "AS to_offset), "
	                "written AS (INSERT INTO %s.partition_state AS s (consumer_group, topic, partition, "
	                "next_offset, "
	                "low_ms, at) SELECT $1, $2, $3, $4, CASE WHEN $5 IS NOT NULL THEN least($5, $6) END, "
	                "to_timestamp($6 / 1000.0) FROM back WHERE to_offset >= $7 OR $7 < 0 "
	                "ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET next_offset = "
	                "excluded.next_offset, low_ms = coalesce(excluded.low_ms, s.low_ms), at = excluded.at "
	                "WHERE excluded.next_offset >= s.next_offset) "
	                "SELECT to_offset FROM back WHERE to_offset < $7",
	                dedup->schema, dedup->schema) > 0);
	dedup->report = (struct pg_statement){.sql = sql, .param_count = 8, .param_types = types};
}

struct dedup *dedup_open(struct pg *side, const struct dedup_options *options, struct error *error)
{
	struct dedup *dedup = calloc(1, sizeof(*dedup));
	ASSERT(dedup);
	PTHREAD_OK(pthread_rwlock_init(&dedup->lock, NULL));
	char *quoted = PQescapeIdentifier(pg_handle(side), options->schema, strlen(options->schema));
	ASSERT(quoted);
	dedup->schema = strdup(quoted);
	PQfreemem(quoted);
	dedup->group = strdup(options->group);
	ASSERT(dedup->schema && dedup->group);
	dedup->retention_ms = options->retention_ms;
	dedup->max_future_ms = options->max_future_ms;
	dedup->now_ms = options->now_ms;
	dedup->other = dedup_entry_create(dedup, "processed_event_other", -1, false);
	dedup->message = dedup_entry_create(dedup, "processed_message", -1, true);
	dedup_prepare_report(dedup);
	if (!dedup_measure_clock(dedup, side, error) || !dedup_register(dedup, side, options->day_ms, error) ||
	    !dedup_refresh(dedup, side, error) || !dedup_make_ahead(dedup, side, error)) {
		dedup_close(dedup);
		return NULL;
	}
	return dedup;
}

void dedup_close(struct dedup *dedup)
{
	if (!dedup)
		return;
	while (dedup->entries) {
		struct dedup_entry *entry = dedup->entries;
		dedup->entries = entry->next;
		dedup_entry_destroy(entry);
	}
	PTHREAD_OK(pthread_rwlock_destroy(&dedup->lock));
	free((char *)(uintptr_t)dedup->report.sql);
	free(dedup->days);
	free(dedup->allowed);
	free(dedup->schema);
	free(dedup->group);
	free(dedup);
}

/* ---- where an id lives ---- */

enum dedup_place_status dedup_place(struct dedup *dedup, int64_t time_ms, const struct dedup_table **out_table)
{
	int64_t day = dedup_day_of(dedup, time_ms);
	if (time_ms < 0 || day < dedup->base_day) {
		*out_table = &dedup->other->table;
		return DEDUP_PLACED;
	}
	if (time_ms > dedup_now_ms(dedup) + dedup->max_future_ms)
		return DEDUP_ID_IN_FUTURE;
	PTHREAD_OK(pthread_rwlock_rdlock(&dedup->lock));
	bool is_forgotten = day < dedup->floor_day;
	struct dedup_entry *entry = dedup_find(dedup, day);
	PTHREAD_OK(pthread_rwlock_unlock(&dedup->lock));
	if (is_forgotten)
		return DEDUP_ID_TOO_OLD;
	if (!entry)
		return DEDUP_DAY_MISSING;
	*out_table = &entry->table;
	return DEDUP_PLACED;
}

const struct dedup_table *dedup_message_table(struct dedup *dedup)
{
	return &dedup->message->table;
}

const struct dedup_table *dedup_other_table(struct dedup *dedup)
{
	return &dedup->other->table;
}

size_t dedup_day_count(struct dedup *dedup)
{
	PTHREAD_OK(pthread_rwlock_rdlock(&dedup->lock));
	size_t count = dedup->day_count;
	PTHREAD_OK(pthread_rwlock_unlock(&dedup->lock));
	return count;
}

static int dedup_compare_allowed(const void *event_id, const void *allowed)
{
	return strcmp(event_id, ((const struct dedup_allowed *)allowed)->event_id);
}

bool dedup_is_allowed_old(struct dedup *dedup, const char *event_id)
{
	PTHREAD_OK(pthread_rwlock_rdlock(&dedup->lock));
	bool is_allowed = dedup->allowed_count > 0 && bsearch(event_id, dedup->allowed, dedup->allowed_count,
	                                                      sizeof(*dedup->allowed), dedup_compare_allowed);
	PTHREAD_OK(pthread_rwlock_unlock(&dedup->lock));
	return is_allowed;
}
