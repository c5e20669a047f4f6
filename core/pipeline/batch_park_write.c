/* What a batch writes about parked events, right before the claims are released: released ones that are through go,
 * those that failed again stay, new ones are added, and a key goes with its last event. */
#include <string.h>

#include "core/base/clock.h"
#include "core/db/array.h"
#include "core/pipeline/batch.h"
#include "core/pipeline/released.h"
#include "core/retry/parked_record.h"

enum { PARK_ARRAYS_MAX = 10 };

static bool park_is_new(const struct entry *entry)
{
	return !entry->record->released && entry->outcome == OUTCOME_PARKED && !entry->as_stored;
}

static bool park_is_again(const struct entry *entry)
{
	return entry->record->released && entry->outcome == OUTCOME_PARKED;
}

/* A dead letter keeps its row until it is acknowledged. */
static bool park_is_gone(const struct batch *batch, const struct entry *entry)
{
	if (!entry->record->released)
		return false;
	if (entry->outcome == OUTCOME_DUPLICATE)
		return !entry->is_conflict || batch->engine->pipeline->event.on_reuse != CONFIG_REUSE_DLQ;
	return entry->outcome == OUTCOME_DONE || entry->outcome == OUTCOME_IGNORED;
}

bool batch_park_to_write(const struct batch *batch)
{
	for (size_t i = 0; i < batch->count && batch_park_asks(batch); i++)
		if (park_is_new(&batch->entries[i]) || park_is_again(&batch->entries[i]) ||
		    park_is_gone(batch, &batch->entries[i]))
			return true;
	return false;
}

/* The group, then arrays. */
static bool park_queue(struct batch *batch, const struct pg_statement *statement, const struct bytes *arrays,
                       size_t count)
{
	const char *values[PARK_ARRAYS_MAX + 1] = {batch->engine->pipeline->name};
	int lengths[PARK_ARRAYS_MAX + 1] = {0}, formats[PARK_ARRAYS_MAX + 1] = {0};
	for (size_t i = 0; i < count; i++) {
		values[i + 1] = arrays[i].ptr;
		lengths[i + 1] = (int)arrays[i].len;
		formats[i + 1] = 1;
	}
	struct pg_params params = {values, lengths, formats, (int)count + 1};
	struct error error;
	return pg_queue(batch->pg, statement, &params, &error) || batch_fail_host(batch, &error);
}

/* ---- the rows of released events ---- */

static bool park_queue_settle(struct batch *batch, bool *out_queued)
{
	struct arena *arena = &batch->arena;
	struct bytes *gone = arena_alloc(arena, batch->count * sizeof(*gone));
	struct bytes *again = arena_alloc(arena, batch->count * sizeof(*again));
	struct bytes *reasons = arena_alloc(arena, batch->count * sizeof(*reasons));
	int64_t *attempts = arena_alloc(arena, batch->count * sizeof(*attempts));
	size_t gone_count = 0, again_count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		const struct entry *entry = &batch->entries[i];
		if (park_is_gone(batch, entry))
			gone[gone_count++] = bytes_from_string(entry->record->released->event_id);
		if (!park_is_again(entry))
			continue;
		again[again_count] = bytes_from_string(entry->record->released->event_id);
		reasons[again_count] = bytes_from_string(entry->reason);
		attempts[again_count++] = entry->attempt;
	}
	*out_queued = gone_count + again_count > 0;
	if (!*out_queued)
		return true;
	const struct bytes arrays[] = {array_from_bytes(arena, ARRAY_TEXT, gone, gone_count),
	                               array_from_bytes(arena, ARRAY_TEXT, again, again_count),
	                               array_from_int8(arena, attempts, again_count),
	                               array_from_bytes(arena, ARRAY_TEXT, reasons, again_count)};
	return park_queue(batch, &batch->engine->parked->settle, arrays, 4);
}

/* ---- new rows ---- */

struct park_columns {
	struct bytes *ids, *keys, *topics, *records, *reasons;
	int64_t *partitions, *offsets, *produced, *attempts, *waits;
	size_t count;
};

static struct park_columns park_columns_create(struct arena *arena, size_t count)
{
	struct bytes *bytes = arena_alloc(arena, 5 * count * sizeof(*bytes));
	int64_t *numbers = arena_alloc(arena, 5 * count * sizeof(*numbers));
	return (struct park_columns){
	        bytes,   bytes + count,   bytes + 2 * count,   bytes + 3 * count,   bytes + 4 * count,
	        numbers, numbers + count, numbers + 2 * count, numbers + 3 * count, numbers + 4 * count,
	        0};
}

static void park_add_row(struct batch *batch, const struct entry *entry, struct park_columns *columns)
{
	const struct kafka_record *record = &entry->event.record;
	size_t at = columns->count++;
	columns->ids[at] = batch_stored_key(entry);
	columns->keys[at] = entry->lane_key;
	columns->topics[at] = bytes_from_string(record->topic);
	columns->records[at] = parked_record_pack(&batch->arena, record);
	columns->reasons[at] = bytes_from_string(batch_park_reason(entry));
	columns->partitions[at] = record->partition;
	columns->offsets[at] = record->offset;
	columns->produced[at] = record->timestamp_ms < 0 ? clock_wall_ms() : record->timestamp_ms;
	columns->attempts[at] = batch_park_attempt(entry);
	columns->waits[at] = entry->is_behind ? 0 : entry->parked->wait_ms;
}

static bool park_queue_new(struct batch *batch, bool *out_queued)
{
	struct arena *arena = &batch->arena;
	struct park_columns columns = park_columns_create(arena, batch->count);
	for (size_t i = 0; i < batch->count; i++)
		if (park_is_new(&batch->entries[i]))
			park_add_row(batch, &batch->entries[i], &columns);
	*out_queued = columns.count > 0;
	if (!*out_queued)
		return true;
	const struct bytes arrays[] = {array_from_bytes(arena, ARRAY_TEXT, columns.ids, columns.count),
	                               array_from_bytes(arena, ARRAY_BYTEA, columns.keys, columns.count),
	                               array_from_bytes(arena, ARRAY_TEXT, columns.topics, columns.count),
	                               array_from_int8(arena, columns.partitions, columns.count),
	                               array_from_int8(arena, columns.offsets, columns.count),
	                               array_from_int8(arena, columns.produced, columns.count),
	                               array_from_bytes(arena, ARRAY_BYTEA, columns.records, columns.count),
	                               array_from_int8(arena, columns.attempts, columns.count),
	                               array_from_bytes(arena, ARRAY_TEXT, columns.reasons, columns.count),
	                               array_from_int8(arena, columns.waits, columns.count)};
	return park_queue(batch, &batch->engine->parked->park, arrays, PARK_ARRAYS_MAX);
}

/* ---- the keys ---- */

static size_t park_keys(struct batch *batch, bool released_only, struct bytes *out_arrays)
{
	struct bytes *keys = arena_alloc(&batch->arena, (batch->parked_count + 1) * sizeof(*keys));
	int64_t *waits = arena_alloc(&batch->arena, (batch->parked_count + 1) * sizeof(*waits));
	size_t count = 0;
	for (size_t i = 0; i < batch->parked_count; i++) {
		if (released_only && batch->parked[i].released == 0)
			continue;
		keys[count] = batch->parked[i].key;
		waits[count++] = batch->parked[i].wait_ms;
	}
	out_arrays[0] = array_from_bytes(&batch->arena, ARRAY_BYTEA, keys, count);
	out_arrays[1] = array_from_int8(&batch->arena, waits, count);
	return count;
}

/* Locked since the claim; but not where this is a transaction of its own. */
static bool park_queue_lock(struct batch *batch)
{
	struct bytes arrays[2];
	(void)park_keys(batch, false, arrays);
	return park_queue(batch, &batch->engine->parked->lock, arrays, 1);
}

static bool park_queue_keys(struct batch *batch)
{
	struct bytes arrays[2];
	if (park_keys(batch, true, arrays) == 0)
		return true;
	return park_queue(batch, &batch->engine->parked->keys, arrays, 2);
}

/* ---- answers ---- */

static bool park_is_among(const PGresult *result, struct bytes id)
{
	for (int row = 0; row < PQntuples(result); row++)
		if (bytes_equal(id, (struct bytes){PQgetvalue(result, row, 0), (size_t)PQgetlength(result, row, 0)}))
			return true;
	return false;
}

/* What was there already is a copy. */
static void park_take_new(struct batch *batch, const PGresult *result)
{
	size_t wanted = 0;
	for (size_t i = 0; i < batch->count; i++)
		wanted += park_is_new(&batch->entries[i]);
	for (size_t i = 0; i < batch->count && (size_t)PQntuples(result) < wanted; i++)
		if (park_is_new(&batch->entries[i]) && !park_is_among(result, batch_stored_key(&batch->entries[i])))
			batch->entries[i].outcome = OUTCOME_DUPLICATE;
}

static bool park_read(struct batch *batch, size_t new_at)
{
	for (size_t at = 0;; at++) {
		PGresult *result;
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			return batch->failure == BATCH_FINE;
		if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
			struct error error;
			pg_result_error(result, "parking events", &error);
			batch_fail_host(batch, &error);
		} else if (at == new_at && PQresultStatus(result) == PGRES_TUPLES_OK) {
			park_take_new(batch, result);
		}
		PQclear(result);
	}
}

bool batch_park_write(struct batch *batch)
{
	bool has_settled, has_new;
	if (!batch_park_to_write(batch))
		return true;
	if (!park_queue_lock(batch) || !park_queue_settle(batch, &has_settled) || !park_queue_new(batch, &has_new) ||
	    !park_queue_keys(batch) || !batch_sync(batch))
		return false;
	return park_read(batch, has_new ? 1 + (size_t)has_settled : SIZE_MAX);
}
