#include "core/db/attempts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/db/array.h"

static const Oid look_up_id_types[] = {OID_UUID_ARRAY, OID_TEXT};
static const Oid look_up_text_types[] = {OID_TEXT_ARRAY, OID_TEXT};
static const Oid store_types[] = {OID_TEXT,       OID_TEXT_ARRAY, OID_INT8_ARRAY,
                                  OID_INT8_ARRAY, OID_TEXT_ARRAY, OID_TEXT_ARRAY};

static const char *const route_names[] = {"in_place", "retry", "dead", "parked"};

/* Few rows lie between the first and the last key of a batch, as a rule none: reading that range costs less than a
 * look-up per key.  Only where it is crowded are the keys looked up one by one, each by the index, whatever the planner
 * knows of the table. */
static struct pg_statement attempts_look_up(const char *schema, const char *cast, const Oid *types)
{
	char *columns, *sql;
	ASSERT(asprintf(
	               &columns,
	               "u.k, a.round, a.attempt, a.route, a.reason, a.deaths, a.error, CASE WHEN a.route = 'dead' THEN "
	               "(SELECT string_agg(d.content_hash::text, ' ') FROM %s.dead_letter d "
	               "WHERE d.consumer_group = $2 AND d.event_id = a.event_id AND d.round = a.round) END",
	               schema) > 0);
	int length = asprintf(&sql,
	                      "WITH near AS MATERIALIZED (SELECT event_id, round, attempt, route, reason, deaths, "
	                      "error FROM %s.event_attempt "
	                      "WHERE consumer_group = $2 AND event_id BETWEEN $1[1]%s AND $1[array_upper($1, 1)]%s "
	                      "ORDER BY event_id LIMIT 200) "
	                      "SELECT %s FROM near a JOIN unnest($1) AS u(k) ON a.event_id = u.k%s "
	                      "WHERE (SELECT count(*) FROM near) < 200 UNION ALL "
	                      "SELECT %s FROM unnest($1) AS u(k), LATERAL (SELECT * FROM %s.event_attempt "
	                      "WHERE consumer_group = $2 AND event_id = u.k%s OFFSET 0) a "
	                      "WHERE (SELECT count(*) FROM near) >= 200",
	                      schema, cast, cast, columns, cast, columns, schema, cast);
	free(columns);
	return pg_statement_take(sql, length, 2, types);
}

static struct pg_statement attempts_store(const char *schema)
{
	char *sql;
	int length =
	        asprintf(&sql,
	                 "INSERT INTO %s.event_attempt AS a (consumer_group, event_id, round, attempt, route, reason) "
	                 "SELECT $1, u.* FROM unnest($2, $3, $4, $5, $6) AS u "
	                 "ON CONFLICT (consumer_group, event_id) DO UPDATE SET round = excluded.round, "
	                 "attempt = excluded.attempt, route = excluded.route, reason = excluded.reason, "
	                 "deaths = CASE WHEN a.round < excluded.round THEN 0 ELSE a.deaths END, at = now()",
	                 schema);
	return pg_statement_take(sql, length, 6, store_types);
}

static struct pg_statement attempts_forget_keys(const char *schema)
{
	char *sql;
	int length = asprintf(&sql, "DELETE FROM %s.event_attempt WHERE event_id = ANY ($1) AND consumer_group = $2",
	                      schema);
	return pg_statement_take(sql, length, 2, look_up_text_types);
}

struct attempts *attempts_create(struct pg *pg, const char *schema)
{
	struct attempts *attempts = calloc(1, sizeof(*attempts));
	char *quoted = PQescapeIdentifier(pg_handle(pg), schema, strlen(schema));
	ASSERT(attempts && quoted);
	attempts->look_up_id = attempts_look_up(quoted, "::text", look_up_id_types);
	attempts->look_up_text = attempts_look_up(quoted, "", look_up_text_types);
	attempts->store = attempts_store(quoted);
	attempts->forget = attempts_forget_keys(quoted);
	PQfreemem(quoted);
	return attempts;
}

void attempts_destroy(struct attempts *attempts)
{
	if (!attempts)
		return;
	free((char *)(uintptr_t)attempts->look_up_id.sql);
	free((char *)(uintptr_t)attempts->look_up_text.sql);
	free((char *)(uintptr_t)attempts->store.sql);
	free((char *)(uintptr_t)attempts->forget.sql);
	free(attempts);
}

const char *attempt_route_name(enum attempt_route route)
{
	return route_names[route];
}

bool attempt_route_from_name(const char *name, enum attempt_route *out_route)
{
	for (size_t i = 0; i < sizeof(route_names) / sizeof(route_names[0]); i++)
		if (strcmp(name, route_names[i]) == 0) {
			*out_route = (enum attempt_route)i;
			return true;
		}
	return false;
}

/* A round anew begins with no death; a route that was taken before stays. */
#define COUNT_DEATH                                                                                                    \
	"INSERT INTO %s.event_attempt AS a (consumer_group, event_id, round, attempt, route, reason, error, deaths) "  \
	"VALUES ($1, $2, $3, 0, 'in_place', $4, $5, 1) ON CONFLICT (consumer_group, event_id) DO UPDATE SET "          \
	"deaths = CASE WHEN a.round < excluded.round THEN 1 WHEN a.deaths = 0 OR $6::boolean THEN a.deaths + 1 "       \
	"ELSE a.deaths END, attempt = CASE WHEN a.round < excluded.round THEN 0 ELSE a.attempt END, "                  \
	"route = CASE WHEN a.round < excluded.round THEN 'in_place' ELSE a.route END, "                                \
	"round = greatest(a.round, excluded.round), reason = excluded.reason, error = excluded.error, at = now() "     \
	"RETURNING deaths"

bool attempts_count_death(struct pg *pg, const char *schema, const struct attempt_death *death, int64_t *out_deaths,
                          struct error *error)
{
	char *quoted = PQescapeIdentifier(pg_handle(pg), schema, strlen(schema)), *sql, round[16];
	ASSERT(quoted && asprintf(&sql, COUNT_DEATH, quoted) > 0);
	PQfreemem(quoted);
	snprintf(round, sizeof(round), "%u", death->round);
	const char *const values[] = {death->group,  death->id,         round,
	                              death->reason, death->error_text, death->was_alone ? "t" : "f"};
	PGresult *result = pg_run(pg, sql, values, 6, error);
	free(sql);
	if (!result)
		return error_wrap(error, "counting a death for event %s", death->id);
	*out_deaths = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return true;
}
