/* Step 5: BEGIN, and one sorted INSERT … ON CONFLICT DO NOTHING RETURNING per table.  What is not returned was
 * processed before. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/db/array.h"
#include "core/pipeline/batch.h"

const char batch_begin[] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/* A copy of an id in somebody's open transaction holds back only itself: on 55P03 the batch is halved, and the copy
 * that is alone in the end waits in its lane. */
static const struct pg_statement wait_shortly = {.sql = "SET LOCAL lock_timeout = '250ms'"};
static const struct pg_statement wait_as_before = {.sql = "SET LOCAL lock_timeout TO DEFAULT"};
static const struct pg_statement transaction_id = {.sql = "SELECT pg_current_xact_id()::text"};

struct bytes batch_claim_keys(struct batch *batch, struct claim_group *group)
{
	if (group->keys.ptr)
		return group->keys;
	struct bytes *keys = arena_alloc(&batch->arena, group->count * sizeof(*keys));
	for (size_t i = 0; i < group->count; i++)
		keys[i] = group->entries[i]->key;
	group->keys =
	        array_from_bytes(&batch->arena, group->table->is_text ? ARRAY_TEXT : ARRAY_UUID, keys, group->count);
	return group->keys;
}

/* The keys and hashes of a group as arrays, and the group's name: the parameters of claim, look_up and release. */
static bool claim_queue(struct batch *batch, const struct pg_statement *statement, struct claim_group *group,
                        bool has_hashes)
{
	struct arena *arena = &batch->arena;
	struct bytes keys = batch_claim_keys(batch, group), hashes = BYTES_NONE;
	if (has_hashes) {
		int64_t *numbers = arena_alloc(arena, group->count * sizeof(*numbers));
		for (size_t i = 0; i < group->count; i++)
			numbers[i] = group->entries[i]->event.content_hash;
		hashes = array_from_int8(arena, numbers, group->count);
	}
	const char *name = batch->engine->pipeline->name;
	const char *values[] = {keys.ptr, has_hashes ? hashes.ptr : name, name};
	const int lengths[] = {(int)keys.len, (int)hashes.len, 0};
	const int formats[] = {1, has_hashes, 0};
	struct pg_params params = {values, lengths, formats, has_hashes ? 3 : 2};
	struct error error;
	return pg_queue(batch->pg, statement, &params, &error) || batch_fail_host(batch, &error);
}

bool batch_queue_release(struct batch *batch, struct claim_group *group)
{
	return claim_queue(batch, &group->table->release, group, false);
}

/* Behind a transaction pooler the session's own settings may be another client's: those of pg_open that matter. */
static bool claim_queue_settings(struct batch *batch)
{
	const struct config_database *database = &batch->engine->config->database;
	char sql[100];
	if (database->pooler == CONFIG_POOLER_NONE)
		return true;
	snprintf(sql, sizeof(sql), "SET LOCAL statement_timeout = %" PRId64, database->statement_timeout_ms);
	if (!batch_queue_ahead(batch, sql))
		return false;
	snprintf(sql, sizeof(sql), "SET LOCAL idle_in_transaction_session_timeout = %" PRId64,
	         engine_idle_in_transaction_ms(batch->engine));
	return batch_queue_ahead(batch, sql) && batch_queue_ahead(batch, "SET LOCAL standard_conforming_strings = on");
}

static bool claim_send(struct batch *batch)
{
	struct error error;
	batch->begun_ms = clock_monotonic_ms();
	batch->idle_until_ms = batch->begun_ms + engine_idle_in_transaction_ms(batch->engine);
	if (!batch_queue_ahead(batch, batch_begin) || !claim_queue_settings(batch))
		return false;
	if (!pg_queue(batch->pg, &wait_shortly, NULL, &error))
		return batch_fail_host(batch, &error);
	for (size_t i = 0; i < batch->claim_count; i++)
		if (!claim_queue(batch, &batch->claims[i].table->claim, &batch->claims[i], true))
			return false;
	for (size_t i = 0; i < batch->claim_count; i++)
		if (!batch_attempts_ask(batch, &batch->claims[i]))
			return false;
	if (batch_park_asks(batch) && !batch_park_ask(batch))
		return false;
	if (!pg_queue(batch->pg, &wait_as_before, NULL, &error) || !pg_queue(batch->pg, &transaction_id, NULL, &error))
		return batch_fail_host(batch, &error);
	return batch_sync(batch);
}

struct entry *batch_claim_find(const struct claim_group *group, struct bytes key)
{
	size_t low = 0, high = group->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		struct bytes other = group->entries[middle]->key;
		size_t shorter = other.len < key.len ? other.len : key.len;
		int order = memcmp(other.ptr, key.ptr, shorter);
		if (order == 0)
			order = (other.len > key.len) - (other.len < key.len);
		if (order == 0)
			return group->entries[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static struct bytes result_bytes(const PGresult *result, int row, int column)
{
	return (struct bytes){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

static void claim_take(const struct claim_group *group, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++) {
		struct entry *entry = batch_claim_find(group, result_bytes(result, row, 0));
		ASSERT(entry);
		entry->claimed = true;
		entry->record->commit_sent = false; /* the COMMIT whose outcome was unknown did not go through */
	}
}

/* 42P01: another host forgot that day just now; the catalogue has to be read again.  55P03: a copy that is not through.
 */
static bool claim_failed(struct batch *batch, const PGresult *result)
{
	struct error error;
	pg_result_error(result, "claiming ids", &error);
	if (strcmp(error.sqlstate, "42P01") == 0)
		return batch_fail(batch, BATCH_CATALOGUE, &error);
	if (batch->count == 1 && strcmp(error.sqlstate, "55P03") == 0)
		return batch_fail(batch, BATCH_BUSY, &error);
	return batch_fail_host(batch, &error);
}

/* Answers in the order of claim_send. */
static bool claim_read(struct batch *batch)
{
	enum { SKIP = 1 }; /* SET LOCAL */
	size_t at = 0, attempts = SKIP + batch->claim_count, end = attempts + batch->claim_count;
	size_t parked = batch_park_asks(batch) ? end : SIZE_MAX;
	for (PGresult *result;; at++, PQclear(result)) {
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			return batch->failure == BATCH_FINE;
		if (batch->failure != BATCH_FINE)
			continue;
		if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			claim_failed(batch, result);
		else if (at >= SKIP && at < attempts)
			claim_take(&batch->claims[at - SKIP], result);
		else if (at >= attempts && at < end)
			batch_attempts_take(batch, &batch->claims[at - attempts], result);
		else if (at == parked)
			batch_park_take(batch, result);
		else if (PQresultStatus(result) == PGRES_TUPLES_OK)
			snprintf(batch->transaction_id, sizeof(batch->transaction_id), "%s", PQgetvalue(result, 0, 0));
	}
}

/* ---- duplicates ---- */

static struct claim_group claim_duplicates(struct batch *batch, const struct claim_group *group)
{
	struct claim_group found = {.table = group->table,
	                            .entries = arena_alloc(&batch->arena, group->count * sizeof(*found.entries))};
	for (size_t i = 0; i < group->count; i++)
		if (!group->entries[i]->claimed)
			found.entries[found.count++] = group->entries[i];
	return found;
}

static void claim_compare_content(const struct claim_group *duplicates, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++) {
		struct entry *entry = batch_claim_find(duplicates, result_bytes(result, row, 0));
		uint64_t stored;
		ASSERT(entry && PQgetlength(result, row, 1) == sizeof(stored));
		memcpy(&stored, PQgetvalue(result, row, 1), sizeof(stored));
		entry->is_conflict = (int64_t)be64toh(stored) != entry->event.content_hash;
	}
}

static bool claim_look_up(struct batch *batch, struct claim_group *duplicates, size_t count)
{
	struct error error;
	size_t at = 0;
	for (size_t i = 0; i < count; i++)
		if (!claim_queue(batch, &duplicates[i].table->look_up, &duplicates[i], false))
			return false;
	if (!batch_sync(batch))
		return false;
	for (PGresult *result;; at++, PQclear(result)) {
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			return batch->failure == BATCH_FINE;
		if (PQresultStatus(result) == PGRES_TUPLES_OK)
			claim_compare_content(&duplicates[at], result);
		else if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
			pg_result_error(result, "looking up processed ids", &error);
			batch_fail_host(batch, &error);
		}
	}
}

/* Rows that were there: processed by this very process when the COMMIT that held them had an unknown outcome. */
static bool claim_judge_duplicates(struct batch *batch)
{
	struct claim_group *duplicates = arena_alloc(&batch->arena, batch->claim_count * sizeof(*duplicates));
	size_t count = 0;
	for (size_t i = 0; i < batch->claim_count; i++) {
		struct claim_group found = claim_duplicates(batch, &batch->claims[i]);
		for (size_t j = 0; j < found.count; j++)
			found.entries[j]->outcome = found.entries[j]->was_sent ? OUTCOME_DONE : OUTCOME_DUPLICATE;
		if (found.count)
			duplicates[count++] = found;
	}
	return count == 0 || claim_look_up(batch, duplicates, count);
}

bool batch_claim(struct batch *batch)
{
	if (!claim_send(batch) || !claim_read(batch))
		return false;
	(void)FAILPOINT("after_claim");
	return claim_judge_duplicates(batch) && batch_park_judge(batch);
}
