/* What tables there are: the statements of each, the days this process knows, days made and read again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/log.h"
#include "core/db/array.h"
#include "core/db/dedup_store.h"

/* ---- statements ---- */

static const Oid claim_types[] = {OID_UUID_ARRAY, OID_INT8_ARRAY, OID_TEXT};
static const Oid claim_text_types[] = {OID_TEXT_ARRAY, OID_INT8_ARRAY, OID_TEXT};
static const Oid key_types[] = {OID_UUID_ARRAY, OID_TEXT};
static const Oid key_text_types[] = {OID_TEXT_ARRAY, OID_TEXT};

struct dedup_entry *dedup_entry_create(struct dedup *dedup, const char *name, int64_t day, bool is_text)
{
	const char *key = is_text ? "idempotency_key" : "event_id",
	           *group = is_text ? "consumer_name" : "consumer_group";
	struct dedup_entry *entry = calloc(1, sizeof(*entry));
	char *sql;
	ASSERT(entry);
	entry->table.is_text = is_text;
	entry->table.day = day;
	int length = asprintf(&sql,
	                      "INSERT INTO %s.\"%s\" (%s, %s, content_hash) SELECT u.k, $3, u.h "
	                      "FROM unnest($1, $2) AS u(k, h) ON CONFLICT DO NOTHING RETURNING %s",
	                      dedup->schema, name, key, group, key);
	entry->table.claim = pg_statement_take(sql, length, 3, is_text ? claim_text_types : claim_types);
	length = asprintf(&sql, "SELECT %s, content_hash FROM %s.\"%s\" WHERE %s = ANY ($1) AND %s = $2", key,
	                  dedup->schema, name, key, group);
	entry->table.look_up = pg_statement_take(sql, length, 2, is_text ? key_text_types : key_types);
	length = asprintf(&sql, "DELETE FROM %s.\"%s\" WHERE %s = ANY ($1) AND %s = $2 RETURNING %s", dedup->schema,
	                  name, key, group, key);
	entry->table.release = pg_statement_take(sql, length, 2, is_text ? key_text_types : key_types);
	entry->next = dedup->entries;
	dedup->entries = entry;
	return entry;
}

void dedup_entry_destroy(struct dedup_entry *entry)
{
	const struct dedup_table *table = &entry->table;
	free((char *)(uintptr_t)table->claim.sql);
	free((char *)(uintptr_t)table->look_up.sql);
	free((char *)(uintptr_t)table->release.sql);
	free(entry);
}

/* ---- days ---- */

static int dedup_compare_day(const void *day, const void *entry)
{
	int64_t a = *(const int64_t *)day, b = (*(struct dedup_entry *const *)entry)->table.day;
	return (a > b) - (a < b);
}

struct dedup_entry *dedup_find(const struct dedup *dedup, int64_t day)
{
	if (dedup->day_count == 0)
		return NULL;
	struct dedup_entry *const *found =
	        bsearch(&day, dedup->days, dedup->day_count, sizeof(*dedup->days), dedup_compare_day);
	return found ? *found : NULL;
}

static struct dedup_entry *dedup_entry_of(struct dedup *dedup, const char *name, int64_t day)
{
	for (struct dedup_entry *entry = dedup->entries; entry; entry = entry->next)
		if (entry->table.day == day)
			return entry;
	return dedup_entry_create(dedup, name, day, false);
}

static void dedup_insert(struct dedup *dedup, const char *name, int64_t day)
{
	if (day < dedup->floor_day || dedup_find(dedup, day))
		return;
	dedup->days = reallocarray(dedup->days, dedup->day_count + 1, sizeof(struct dedup_entry *));
	ASSERT(dedup->days);
	size_t at = dedup->day_count++;
	for (; at > 0 && dedup->days[at - 1]->table.day > day; at--)
		dedup->days[at] = dedup->days[at - 1];
	dedup->days[at] = dedup_entry_of(dedup, name, day);
}

/* The list of rows (floor_day, day, table_name) takes the place of what was known.  Days that are gone are not found
 * any more; their statements stay, somebody may be using them.  The floor never sinks: another thread may have read a
 * later state of the catalogue. */
static void dedup_take_days(struct dedup *dedup, const PGresult *result)
{
	int64_t floor_day = dedup_int64(result, 0, 0);
	PTHREAD_OK(pthread_rwlock_wrlock(&dedup->lock));
	if (floor_day > dedup->floor_day)
		dedup->floor_day = floor_day;
	dedup->day_count = 0;
	for (int row = 0; row < PQntuples(result); row++)
		if (!PQgetisnull(result, row, 1))
			dedup_insert(dedup, PQgetvalue(result, row, 2), dedup_int64(result, row, 1));
	PTHREAD_OK(pthread_rwlock_unlock(&dedup->lock));
}

static bool dedup_read_allowed(struct dedup *dedup, struct pg *side, struct error *error)
{
	PGresult *result = dedup_run(side, DEDUP_VALUES(dedup->group), error,
	                             "SELECT event_id FROM %s.dedup_allowed_old WHERE consumer_group = $1 "
	                             "ORDER BY event_id::text COLLATE \"C\"",
	                             dedup->schema);
	if (!result)
		return false;
	size_t count = (size_t)PQntuples(result);
	struct dedup_allowed *allowed = calloc(count + 1, sizeof(*allowed));
	ASSERT(allowed);
	for (size_t i = 0; i < count; i++)
		snprintf(allowed[i].event_id, sizeof(allowed[i].event_id), "%s", PQgetvalue(result, (int)i, 0));
	PQclear(result);
	PTHREAD_OK(pthread_rwlock_wrlock(&dedup->lock));
	struct dedup_allowed *old = dedup->allowed;
	dedup->allowed = allowed;
	dedup->allowed_count = count;
	PTHREAD_OK(pthread_rwlock_unlock(&dedup->lock));
	free(old);
	return true;
}

bool dedup_refresh(struct dedup *dedup, struct pg *side, struct error *error)
{
	PGresult *result =
	        dedup_run(side, DEDUP_VALUES(dedup->group, dedup->schema), error,
	                  "SELECT g.floor_day, d.day, d.table_name FROM %s.dedup_group g LEFT JOIN %s.dedup_day d "
	                  "ON d.number = g.number AND to_regclass($2 || '.' || quote_ident(d.table_name)) IS NOT NULL "
	                  "WHERE g.consumer_group = $1 ORDER BY d.day",
	                  dedup->schema, dedup->schema);
	if (!result)
		return error_wrap(error, "reading the days of group %s", dedup->group);
	if (PQntuples(result) == 0) {
		PQclear(result);
		return error_set(error, ERROR_NOT_FOUND, "group %s is no longer in dedup_group; restart to register it",
		                 dedup->group);
	}
	dedup_take_days(dedup, result);
	PQclear(result);
	return dedup_read_allowed(dedup, side, error);
}

static bool dedup_make(struct dedup *dedup, struct pg *side, int64_t day, struct error *error)
{
	struct dedup_number number = dedup_number(day), now = dedup_number(dedup_now_ms(dedup));
	PGresult *result = dedup_run(side, DEDUP_VALUES(dedup->group, number.text, now.text), error,
	                             "SELECT table_name, is_new FROM %s.dedup_make_day($1, $2, $3)", dedup->schema);
	if (!result)
		return error_wrap(error, "making day %" PRId64 " of group %s", day, dedup->group);
	bool is_dropped = PQgetisnull(result, 0, 0);
	const char *name = PQgetvalue(result, 0, 0);
	if (!is_dropped && PQgetvalue(result, 0, 1)[0] == 't')
		log_write(LOG_dedup_day_created, "%s", name);
	PTHREAD_OK(pthread_rwlock_wrlock(&dedup->lock));
	if (!is_dropped)
		dedup_insert(dedup, name, day);
	PTHREAD_OK(pthread_rwlock_unlock(&dedup->lock));
	PQclear(result);
	return !is_dropped || dedup_refresh(dedup, side, error);
}

bool dedup_make_day(struct dedup *dedup, struct pg *side, int64_t time_ms, struct error *error)
{
	return dedup_make(dedup, side, dedup_day_of(dedup, time_ms), error);
}

static bool dedup_knows(struct dedup *dedup, int64_t day)
{
	PTHREAD_OK(pthread_rwlock_rdlock(&dedup->lock));
	bool is_known = dedup_find(dedup, day) != NULL;
	PTHREAD_OK(pthread_rwlock_unlock(&dedup->lock));
	return is_known;
}

bool dedup_make_ahead(struct dedup *dedup, struct pg *side, struct error *error)
{
	int64_t today = dedup_day_of(dedup, dedup_now_ms(dedup));
	for (int64_t day = today; day <= today + DEDUP_DAYS_AHEAD; day++)
		if (!dedup_knows(dedup, day) && !dedup_make(dedup, side, day, error))
			return false;
	return true;
}
