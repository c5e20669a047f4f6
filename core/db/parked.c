#include "core/db/parked.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/db/array.h"

/* @ is the schema.  The look-up costs one probe of an index where the group has nothing parked. */
#define LOCK                                                                                                           \
	"SELECT key, events FROM @.parked_key WHERE consumer_group = $1 AND key = ANY ($2) "                           \
	"AND EXISTS (SELECT FROM @.parked_key WHERE consumer_group = $1) ORDER BY key FOR UPDATE"
#define HEADS                                                                                                          \
	"SELECT u.n, e.event_id FROM unnest($2, $3) WITH ORDINALITY AS u(key, most, n), "                              \
	"LATERAL (SELECT event_id, place FROM @.parked_event WHERE consumer_group = $1 AND key = u.key "               \
	"ORDER BY place LIMIT u.most) e ORDER BY u.n, e.place"
#define SETTLE                                                                                                         \
	"WITH gone AS (DELETE FROM @.parked_event WHERE consumer_group = $1 AND event_id = ANY ($2)) "                 \
	"UPDATE @.parked_event e SET attempt = u.attempt, reason = u.reason "                                          \
	"FROM unnest($3, $4, $5) AS u(event_id, attempt, reason) "                                                     \
	"WHERE e.consumer_group = $1 AND e.event_id = u.event_id"
#define PARK                                                                                                           \
	"WITH given AS (SELECT * FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11) WITH ORDINALITY AS "            \
	"u(event_id, key, topic, partition, at, produced_ms, record, attempt, reason, wait_ms, n)), "                  \
	"parked AS (INSERT INTO @.parked_event (consumer_group, event_id, key, topic, partition, \"offset\", "         \
	"produced_ms, record, attempt, reason) SELECT $1, event_id, key, topic, partition, at, produced_ms, record, "  \
	"attempt, reason FROM given ORDER BY n ON CONFLICT DO NOTHING RETURNING event_id), "                           \
	"new_keys AS (INSERT INTO @.parked_key AS k (consumer_group, key, due, events, topic, partition) "             \
	"SELECT $1, key, clock_timestamp() + max(wait_ms) * interval '1 ms', count(*), "                               \
	"(array_agg(topic ORDER BY n))[1], (array_agg(partition ORDER BY n))[1] "                                      \
	"FROM given JOIN parked USING (event_id) GROUP BY key ORDER BY key "                                           \
	"ON CONFLICT (consumer_group, key) DO UPDATE SET events = k.events + excluded.events) "                        \
	"SELECT event_id FROM parked"
#define KEYS                                                                                                           \
	"WITH now AS MATERIALIZED (SELECT u.key, u.wait_ms, (SELECT count(*) FROM @.parked_event e "                   \
	"WHERE e.consumer_group = $1 AND e.key = u.key) AS events FROM unnest($2, $3) AS u(key, wait_ms)), "           \
	"gone AS (DELETE FROM @.parked_key k USING now WHERE k.consumer_group = $1 AND k.key = now.key "               \
	"AND now.events = 0) "                                                                                         \
	"UPDATE @.parked_key k SET events = now.events, due = CASE WHEN now.wait_ms < 0 THEN k.due "                   \
	"ELSE clock_timestamp() + now.wait_ms * interval '1 ms' END "                                                  \
	"FROM now WHERE k.consumer_group = $1 AND k.key = now.key AND now.events > 0"
#define DUE                                                                                                            \
	"WITH k AS (SELECT k.key, k.due, EXISTS (SELECT FROM unnest($2, $3) AS o(topic, partition) "                   \
	"WHERE o.topic = k.topic AND o.partition = k.partition) AS is_ours FROM @.parked_key k "                       \
	"WHERE k.consumer_group = $1 AND k.due <= clock_timestamp() AND k.key <> ALL ($4)), "                          \
	"chosen AS (SELECT key, row_number() OVER (ORDER BY is_ours DESC, due, key) AS n FROM k "                      \
	"WHERE is_ours OR due < clock_timestamp() - interval '1 min' ORDER BY is_ours DESC, due, key LIMIT $5), "      \
	"rows AS (SELECT c.n, c.key, e.event_id, e.topic, e.partition, e.\"offset\", e.attempt, e.record, e.place, "   \
	"sum(octet_length(e.record)) OVER (ORDER BY c.n, e.place) AS bytes FROM chosen c, "                            \
	"LATERAL (SELECT attempt FROM @.parked_event e WHERE e.consumer_group = $1 AND e.key = c.key "                 \
	"ORDER BY e.place LIMIT 1) head, "                                                                             \
	"LATERAL (SELECT * FROM @.parked_event e WHERE e.consumer_group = $1 AND e.key = c.key "                       \
	"ORDER BY e.place LIMIT CASE WHEN head.attempt > 0 THEN 1 ELSE $6 END) e) "                                    \
	"SELECT key, event_id, topic, partition::bigint, \"offset\", attempt, record FROM rows "                       \
	"WHERE bytes - octet_length(record) < $7 ORDER BY n, place"
#define COUNTS                                                                                                         \
	"SELECT count(*), coalesce(sum(events), 0)::bigint, ceil(extract(epoch FROM min(due) "                         \
	"FILTER (WHERE due > clock_timestamp()) - clock_timestamp()) * 1000)::bigint "                                 \
	"FROM @.parked_key WHERE consumer_group = $1"

static const Oid counts_types[] = {OID_TEXT};
static const Oid lock_types[] = {OID_TEXT, OID_BYTEA_ARRAY};
static const Oid keys_types[] = {OID_TEXT, OID_BYTEA_ARRAY, OID_INT8_ARRAY};
static const Oid settle_types[] = {OID_TEXT, OID_TEXT_ARRAY, OID_TEXT_ARRAY, OID_INT8_ARRAY, OID_TEXT_ARRAY};
static const Oid park_types[] = {OID_TEXT,       OID_TEXT_ARRAY, OID_BYTEA_ARRAY, OID_TEXT_ARRAY,
                                 OID_INT8_ARRAY, OID_INT8_ARRAY, OID_INT8_ARRAY,  OID_BYTEA_ARRAY,
                                 OID_INT8_ARRAY, OID_TEXT_ARRAY, OID_INT8_ARRAY};
static const Oid due_types[] = {OID_TEXT, OID_TEXT_ARRAY, OID_INT8_ARRAY, OID_BYTEA_ARRAY,
                                OID_INT8, OID_INT8,       OID_INT8};

char *parked_sql(struct pg *pg, const char *text, const char *schema)
{
	char *quoted = PQescapeIdentifier(pg_handle(pg), schema, strlen(schema));
	ASSERT(quoted);
	size_t size = 0, room = strlen(quoted);
	for (const char *at = text; *at; at++)
		size += *at == '@' ? room : 1;
	char *sql = malloc(size + 1), *end = sql;
	ASSERT(sql);
	for (const char *at = text; *at; at++) {
		size_t len = *at == '@' ? room : 1;
		memcpy(end, *at == '@' ? quoted : at, len);
		end += len;
	}
	*end = '\0';
	PQfreemem(quoted);
	return sql;
}

#define STATEMENT(text, types)                                                                                         \
	((struct pg_statement){.sql = parked_sql(pg, text, schema),                                                    \
	                       .param_count = sizeof(types) / sizeof(*(types)),                                        \
	                       .param_types = types,                                                                   \
	                       .result_format = 1})

struct parked_statements *parked_statements_create(struct pg *pg, const char *schema)
{
	struct parked_statements *statements = calloc(1, sizeof(*statements));
	ASSERT(statements);
	*statements = (struct parked_statements){
	        .lock = STATEMENT(LOCK, lock_types),
	        .heads = STATEMENT(HEADS, keys_types),
	        .settle = STATEMENT(SETTLE, settle_types),
	        .park = STATEMENT(PARK, park_types),
	        .keys = STATEMENT(KEYS, keys_types),
	        .due = STATEMENT(DUE, due_types),
	        .counts = STATEMENT(COUNTS, counts_types),
	};
	return statements;
}

void parked_statements_destroy(struct parked_statements *statements)
{
	if (!statements)
		return;
	const struct pg_statement *all[] = {&statements->lock,  &statements->heads, &statements->settle,
	                                    &statements->park,  &statements->keys,  &statements->due,
	                                    &statements->counts};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free((char *)(uintptr_t)all[i]->sql);
	free(statements);
}

/* ---- taking what is due ---- */

struct parked_take *parked_take_create(const char *group)
{
	struct parked_take *take = calloc(1, sizeof(*take));
	ASSERT(take);
	take->group = group;
	arena_init(&take->arena, 16 * 1024);
	return take;
}

void parked_take_destroy(struct parked_take *take)
{
	if (!take)
		return;
	arena_done(&take->arena);
	free(take);
}

/* The statement's one result, NULL: failed. */
static PGresult *take_ask(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
                          struct error *error)
{
	PGresult *result, *end;
	if (!pg_queue(pg, statement, params, error) || !pg_sync(pg, error) || !pg_next(pg, &result, error))
		return NULL;
	if (!pg_next(pg, &end, error)) {
		PQclear(result);
		return NULL;
	}
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;
	pg_result_error(result, "looking for parked events", error);
	PQclear(result);
	return NULL;
}

static int64_t result_number(const PGresult *result, int row, int column)
{
	uint64_t number;
	ASSERT(PQgetlength(result, row, column) == sizeof(number));
	memcpy(&number, PQgetvalue(result, row, column), sizeof(number));
	return (int64_t)be64toh(number);
}

static struct bytes result_bytes(const PGresult *result, int row, int column)
{
	return (struct bytes){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

static bool take_counts(const struct parked_statements *statements, struct pg *pg, struct parked_take *take,
                        struct error *error)
{
	enum { KEYS_COUNT, EVENTS_COUNT, NEXT_DUE };
	const char *values[] = {take->group};
	struct pg_params params = {values, NULL, NULL, 1};
	PGresult *result = take_ask(pg, &statements->counts, &params, error);
	if (!result)
		return false;
	take->total_keys = result_number(result, 0, KEYS_COUNT);
	take->total_events = result_number(result, 0, EVENTS_COUNT);
	take->next_due_ms = PQgetisnull(result, 0, NEXT_DUE) ? -1 : result_number(result, 0, NEXT_DUE);
	PQclear(result);
	return true;
}

static void take_row(struct parked_take *take, const PGresult *result, int row)
{
	enum { KEY, EVENT_ID, TOPIC, PARTITION, OFFSET, ATTEMPT, RECORD };
	struct arena *arena = &take->arena;
	take->rows[row] = (struct parked_row){
	        .key = arena_copy(arena, result_bytes(result, row, KEY)),
	        .record = arena_copy(arena, result_bytes(result, row, RECORD)),
	        .event_id = arena_string(arena, result_bytes(result, row, EVENT_ID)),
	        .topic = arena_string(arena, result_bytes(result, row, TOPIC)),
	        .partition = (int32_t)result_number(result, row, PARTITION),
	        .offset = result_number(result, row, OFFSET),
	        .attempt = (uint32_t)result_number(result, row, ATTEMPT),
	};
}

static bool take_rows(const struct parked_statements *statements, struct pg *pg, struct parked_take *take,
                      struct error *error)
{
	struct arena *arena = &take->arena;
	char keys[24], events[24], bytes[24];
	snprintf(keys, sizeof(keys), "%lld", (long long)take->max_keys);
	snprintf(events, sizeof(events), "%lld", (long long)take->max_events);
	snprintf(bytes, sizeof(bytes), "%lld", (long long)take->max_bytes);
	struct bytes topics = array_from_bytes(arena, ARRAY_TEXT, take->topics, take->partition_count);
	struct bytes partitions = array_from_int8(arena, take->partitions, take->partition_count);
	struct bytes left_out = array_from_bytes(arena, ARRAY_BYTEA, take->keys_left_out, take->left_out_count);
	const char *values[] = {take->group, topics.ptr, partitions.ptr, left_out.ptr, keys, events, bytes};
	const int lengths[] = {0, (int)topics.len, (int)partitions.len, (int)left_out.len, 0, 0, 0};
	const int formats[] = {0, 1, 1, 1, 0, 0, 0};
	struct pg_params params = {values, lengths, formats, 7};
	PGresult *result = take_ask(pg, &statements->due, &params, error);
	if (!result)
		return false;
	take->row_count = (size_t)PQntuples(result);
	take->rows = arena_zalloc(arena, (take->row_count + 1) * sizeof(*take->rows));
	for (int row = 0; row < PQntuples(result); row++)
		take_row(take, result, row);
	PQclear(result);
	return true;
}

bool parked_take_due(const struct parked_statements *statements, struct pg *pg, struct parked_take *take,
                     struct error *error)
{
	if (!take_counts(statements, pg, take, error))
		return false;
	if (take->total_keys > 0 && !take_rows(statements, pg, take, error))
		return false;
	take->is_answered = true;
	return true;
}

bool parked_any(struct pg *pg, const char *schema, const char *group, bool *out_any, struct error *error)
{
	char *sql = parked_sql(pg, "SELECT EXISTS (SELECT FROM @.parked_key WHERE consumer_group = $1)", schema);
	PGresult *result = pg_run(pg, sql, (const char *const[]){group}, 1, error);
	free(sql);
	if (!result)
		return error_wrap(error, "looking for parked events");
	*out_any = PQgetvalue(result, 0, 0)[0] == 't';
	PQclear(result);
	return true;
}
