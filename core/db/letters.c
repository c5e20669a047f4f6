#include "core/db/letters_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/db/array.h"

enum column {
	COLUMN_PARTITION,
	COLUMN_OFFSET,
	COLUMN_DIED,
	COLUMN_HASH,
	COLUMN_ORIGIN_PARTITION,
	COLUMN_ORIGIN_OFFSET,
	COLUMN_ORIGIN_MS,
	COLUMN_ATTEMPT,
	COLUMN_ROUND, /* the last number */
	COLUMN_KEY,
	COLUMN_UUID,
	COLUMN_GIVEN_ID,
	COLUMN_TYPE,
	COLUMN_REASON,
	COLUMN_ERROR,
	COLUMN_ORIGIN_TOPIC,
	COLUMNS
};
enum { NUMBERS = COLUMN_ROUND + 1, TEXTS = COLUMNS - NUMBERS, PARAMS = COLUMNS + 2 };

static const Oid store_types[PARAMS] = {OID_INT8_ARRAY, OID_INT8_ARRAY, OID_INT8_ARRAY, OID_INT8_ARRAY, OID_INT8_ARRAY,
                                        OID_INT8_ARRAY, OID_INT8_ARRAY, OID_INT8_ARRAY, OID_INT8_ARRAY, OID_TEXT_ARRAY,
                                        OID_TEXT_ARRAY, OID_TEXT_ARRAY, OID_TEXT_ARRAY, OID_TEXT_ARRAY, OID_TEXT_ARRAY,
                                        OID_TEXT_ARRAY, OID_TEXT,       OID_BYTEA};

#define STORE                                                                                                          \
	"INSERT INTO %s.dead_letter AS d (consumer_group, dlq_partition, dlq_offset, died_at, event_id, event_uuid, "  \
	"given_id, content_hash, event_type, reason, error, origin_topic, origin_partition, origin_offset, "           \
	"origin_at, attempt, round, payload) "                                                                         \
	"SELECT $17, u.partition, u.at, to_timestamp(u.died / 1000.0), nullif(u.key, ''), nullif(u.uuid, '')::uuid, "  \
	"nullif(u.given_id, ''), u.hash, nullif(u.type, ''), u.reason, u.error, u.topic, u.origin_partition, "         \
	"u.origin_offset, to_timestamp(nullif(u.origin_ms, -1) / 1000.0), u.attempt, u.round, $18 "                    \
	"FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) AS u (partition, at, "     \
	"died, hash, origin_partition, origin_offset, origin_ms, attempt, round, key, uuid, given_id, type, reason, "  \
	"error, topic) "                                                                                               \
	"ON CONFLICT (consumer_group, dlq_partition, dlq_offset) DO UPDATE SET died_at = excluded.died_at, "           \
	"event_id = excluded.event_id, event_uuid = excluded.event_uuid, given_id = excluded.given_id, "               \
	"content_hash = excluded.content_hash, event_type = excluded.event_type, reason = excluded.reason, "           \
	"error = excluded.error, origin_topic = excluded.origin_topic, origin_partition = excluded.origin_partition, " \
	"origin_offset = excluded.origin_offset, origin_at = excluded.origin_at, attempt = excluded.attempt, "         \
	"round = excluded.round, state = 'open', state_at = NULL, state_by = NULL, payload = excluded.payload "        \
	"WHERE (d.origin_topic, d.origin_partition, d.origin_offset, d.round, d.died_at) IS DISTINCT FROM "            \
	"(excluded.origin_topic, excluded.origin_partition, excluded.origin_offset, excluded.round, "                  \
	"excluded.died_at)"

struct letters *letters_create(struct pg *pg, const char *schema, const char *group)
{
	struct letters *letters = calloc(1, sizeof(*letters));
	char *quoted = PQescapeIdentifier(pg_handle(pg), schema, strlen(schema)), *sql;
	ASSERT(letters && quoted && asprintf(&sql, STORE, quoted) > 0);
	letters->schema = strdup(quoted);
	PQfreemem(quoted);
	letters->group = strdup(group);
	ASSERT(letters->group && letters->schema);
	letters->store = (struct pg_statement){.sql = sql, .param_count = PARAMS, .param_types = store_types};
	return letters;
}

void letters_destroy(struct letters *letters)
{
	if (!letters)
		return;
	free((char *)(uintptr_t)letters->store.sql);
	free(letters->group);
	free(letters->schema);
	free(letters);
}

/* ---- writing ---- */

static void letters_numbers(const struct letter *letter, int64_t out[NUMBERS])
{
	out[COLUMN_PARTITION] = letter->partition;
	out[COLUMN_OFFSET] = letter->offset;
	out[COLUMN_DIED] = letter->died_ms;
	out[COLUMN_HASH] = letter->content_hash;
	out[COLUMN_ORIGIN_PARTITION] = letter->origin_partition;
	out[COLUMN_ORIGIN_OFFSET] = letter->origin_offset;
	out[COLUMN_ORIGIN_MS] = letter->origin_ms;
	out[COLUMN_ATTEMPT] = letter->attempt;
	out[COLUMN_ROUND] = letter->round;
}

static void letters_texts(const struct letter *letter, struct bytes out[TEXTS])
{
	out[COLUMN_KEY - NUMBERS] = letter->key;
	out[COLUMN_UUID - NUMBERS] = letter->uuid;
	out[COLUMN_GIVEN_ID - NUMBERS] = letter->given_id;
	out[COLUMN_TYPE - NUMBERS] = letter->type;
	out[COLUMN_REASON - NUMBERS] = letter->reason;
	out[COLUMN_ERROR - NUMBERS] = letter->error_text;
	out[COLUMN_ORIGIN_TOPIC - NUMBERS] = bytes_from_string(letter->origin_topic);
	for (size_t i = 0; i < TEXTS; i++)
		if (!out[i].ptr)
			out[i] = BYTES_LITERAL("");
}

/* The arrays, one per column. */
static void letters_columns(struct arena *arena, const struct letter *const *rows, size_t count,
                            struct bytes out[COLUMNS])
{
	int64_t *numbers = arena_alloc(arena, count * NUMBERS * sizeof(*numbers));
	struct bytes *texts = arena_alloc(arena, count * TEXTS * sizeof(*texts));
	for (size_t i = 0; i < count; i++) {
		int64_t of_row[NUMBERS];
		struct bytes text_of_row[TEXTS];
		letters_numbers(rows[i], of_row);
		letters_texts(rows[i], text_of_row);
		for (size_t j = 0; j < NUMBERS; j++)
			numbers[j * count + i] = of_row[j];
		for (size_t j = 0; j < TEXTS; j++)
			texts[j * count + i] = text_of_row[j];
	}
	for (size_t j = 0; j < NUMBERS; j++)
		out[j] = array_from_int8(arena, &numbers[j * count], count);
	for (size_t j = 0; j < TEXTS; j++)
		out[NUMBERS + j] = array_from_bytes(arena, ARRAY_TEXT, &texts[j * count], count);
}

static bool letters_queue(struct letters *letters, struct pg *pg, const struct letter *const *rows, size_t count,
                          struct error *error)
{
	struct arena arena;
	struct bytes columns[COLUMNS], payload = rows[0]->payload;
	const char *values[PARAMS];
	int lengths[PARAMS] = {0}, formats[PARAMS] = {0};
	arena_init(&arena, 65536);
	letters_columns(&arena, rows, count, columns);
	for (size_t i = 0; i < COLUMNS; i++) {
		values[i] = columns[i].ptr;
		lengths[i] = (int)columns[i].len;
		formats[i] = 1;
	}
	values[COLUMNS] = letters->group;
	values[COLUMNS + 1] = payload.ptr;
	lengths[COLUMNS + 1] = (int)payload.len;
	formats[COLUMNS + 1] = 1;
	const struct pg_params params = {values, lengths, formats, PARAMS};
	bool is_queued = pg_queue(pg, &letters->store, &params, error);
	arena_done(&arena);
	return is_queued;
}

/* Up to and with the sync point; the first failure is told. */
static bool letters_read_answers(struct pg *pg, struct error *error)
{
	bool is_fine = true;
	PGresult *result;
	do {
		if (!pg_next(pg, &result, error))
			return false;
		if (result && PQresultStatus(result) != PGRES_COMMAND_OK && is_fine)
			is_fine = pg_result_error(result, "indexing dead letters", error);
		PQclear(result);
	} while (result);
	return is_fine;
}

/* How many of the rows go in one statement: a payload has one of its own. */
static size_t letters_run(const struct letter *const *rows, size_t count)
{
	size_t run = 1;
	if (rows[0]->payload.ptr)
		return 1;
	while (run < count && !rows[run]->payload.ptr)
		run++;
	return run;
}

bool letters_store(struct letters *letters, struct pg *pg, const struct letter *const *rows, size_t count,
                   struct error *error)
{
	for (size_t at = 0; at < count;) {
		size_t run = letters_run(&rows[at], count - at);
		if (!letters_queue(letters, pg, &rows[at], run, error))
			return false;
		at += run;
	}
	return count == 0 || (pg_sync(pg, error) && letters_read_answers(pg, error));
}
