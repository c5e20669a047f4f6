/* Parked keys (ENGINE section 7): an event of an ordered lane that is to be tried again waits in the database, with its
 * whole record, and what comes for its key is parked behind it, so that the lane goes on with other keys.  Whether a
 * key is parked is asked behind the claim, in the same transaction, and locks the key's row: whoever releases its last
 * event holds that row too, so nothing is parked behind a key that is just going. */
#include "core/pipeline/batch.h"

#include <endian.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/log.h"
#include "core/db/array.h"
#include "core/pipeline/released.h"

#define FULL_HOLD_MS 1000 /* a lane that may not park any more waits in place */

/* ---- which keys are parked ---- */

bool batch_park_asks(const struct batch *batch)
{
	const struct engine *engine = batch->engine;
	return engine->parking.is_on && (engine->pipeline->ordering != CONFIG_ORDERING_NONE || batch->has_released);
}

/* Each lane's key; records of a lane come in runs. */
static struct bytes park_lane_keys(struct batch *batch)
{
	struct bytes *keys = arena_alloc(&batch->arena, batch->count * sizeof(*keys));
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		const struct entry *entry = &batch->entries[i];
		bool is_repeated = count > 0 && bytes_equal(keys[count - 1], entry->lane_key);
		if (entry->lane_key.ptr && !is_repeated)
			keys[count++] = entry->lane_key;
	}
	return array_from_bytes(&batch->arena, ARRAY_BYTEA, keys, count);
}

bool batch_park_ask(struct batch *batch)
{
	struct bytes keys = park_lane_keys(batch);
	const char *values[] = {batch->engine->pipeline->name, keys.ptr};
	const int lengths[] = {0, (int)keys.len};
	const int formats[] = {0, 1};
	struct pg_params params = {values, lengths, formats, 2};
	struct error error;
	batch->parked = arena_alloc(&batch->arena, (batch->count + 1) * sizeof(*batch->parked));
	return pg_queue(batch->pg, &batch->engine->parked->lock, &params, &error) || batch_fail_host(batch, &error);
}

struct parked *batch_park_find(struct batch *batch, struct bytes key)
{
	for (size_t i = 0; i < batch->parked_count; i++)
		if (bytes_equal(batch->parked[i].key, key))
			return &batch->parked[i];
	return NULL;
}

static int64_t park_number(const PGresult *result, int row, int column)
{
	uint64_t number;
	ASSERT(PQgetlength(result, row, column) == sizeof(number));
	memcpy(&number, PQgetvalue(result, row, column), sizeof(number));
	return (int64_t)be64toh(number);
}

static struct bytes park_bytes(const PGresult *result, int row, int column)
{
	return (struct bytes){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

void batch_park_take(struct batch *batch, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++) {
		struct parked *parked = &batch->parked[batch->parked_count++];
		*parked = (struct parked){.key = arena_copy(&batch->arena, park_bytes(result, row, 0)),
		                          .events = park_number(result, row, 1),
		                          .wait_ms = -1};
		for (size_t i = 0; i < batch->count; i++)
			if (bytes_equal(batch->entries[i].lane_key, parked->key))
				batch->entries[i].parked = parked;
	}
}

/* ---- released events: head first ---- */

static bool park_heads_ask(struct batch *batch)
{
	struct bytes *keys = arena_alloc(&batch->arena, (batch->parked_count + 1) * sizeof(*keys));
	int64_t *most = arena_alloc(&batch->arena, (batch->parked_count + 1) * sizeof(*most));
	for (size_t i = 0; i < batch->parked_count; i++) {
		keys[i] = batch->parked[i].key;
		most[i] = batch->parked[i].released > 0 ? (int64_t)batch->parked[i].released + 1 : 0;
	}
	struct bytes key_array = array_from_bytes(&batch->arena, ARRAY_BYTEA, keys, batch->parked_count);
	struct bytes most_array = array_from_int8(&batch->arena, most, batch->parked_count);
	const char *values[] = {batch->engine->pipeline->name, key_array.ptr, most_array.ptr};
	const int lengths[] = {0, (int)key_array.len, (int)most_array.len};
	const int formats[] = {0, 1, 1};
	struct pg_params params = {values, lengths, formats, 3};
	struct error error;
	return (pg_queue(batch->pg, &batch->engine->parked->heads, &params, &error) ||
	        batch_fail_host(batch, &error)) &&
	       batch_sync(batch);
}

/* The released entry of the key that is the nth of it in the batch, from 0; NULL: there are fewer. */
static struct entry *park_nth_released(struct batch *batch, const struct parked *parked, size_t n)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entries[i];
		if (entry->parked == parked && entry->record->released && n-- == 0)
			return entry;
	}
	return NULL;
}

/* Its rows come in order. */
static void park_heads_take(struct batch *batch, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++) {
		struct parked *parked = &batch->parked[park_number(result, row, 0) - 1];
		const struct entry *entry = park_nth_released(batch, parked, parked->valid);
		if (parked->is_exhausted && entry &&
		    bytes_equal_string(park_bytes(result, row, 1), entry->record->released->event_id))
			parked->valid++;
		else
			parked->is_exhausted = false;
	}
}

static bool park_heads_read(struct batch *batch)
{
	for (PGresult *result;; PQclear(result)) {
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			return batch->failure == BATCH_FINE;
		if (PQresultStatus(result) == PGRES_TUPLES_OK) {
			park_heads_take(batch, result);
		} else if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
			struct error error;
			pg_result_error(result, "looking for the first parked events", &error);
			batch_fail_host(batch, &error);
		}
	}
}

/* What another host released meanwhile, or what is not the first of its key any more, is left alone: its row, if it is
 * still there, is taken again. */
static void park_leave_stale(struct batch *batch)
{
	for (size_t i = 0; i < batch->parked_count; i++)
		batch->parked[i].released = 0;
	for (size_t i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entries[i];
		if (!entry->record->released)
			continue;
		bool is_valid = entry->parked && entry->parked->released++ < entry->parked->valid;
		if (!is_valid && entry->outcome != OUTCOME_DONE && entry->outcome != OUTCOME_DUPLICATE)
			batch_hold_back(batch, entry);
	}
}

static bool park_verify(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct parked *parked = batch->entries[i].parked;
		if (!parked || !batch->entries[i].record->released)
			continue;
		parked->released++;
		parked->is_exhausted = true;
	}
	if (batch->parked_count > 0 && !(park_heads_ask(batch) && park_heads_read(batch)))
		return false;
	park_leave_stale(batch);
	return true;
}

bool batch_park_judge(struct batch *batch)
{
	if (batch->has_released && !park_verify(batch))
		return false;
	for (size_t i = 0; i < batch->count && batch->parked_count > 0; i++) {
		struct entry *entry = &batch->entries[i];
		if (entry->record->released || !entry->claimed || entry->outcome != OUTCOME_OPEN || !entry->parked ||
		    entry->parked->is_exhausted)
			continue;
		entry->is_behind = true;
		batch_hold_back(batch, entry);
	}
	return true;
}

/* ---- what is parked at the end ---- */

uint32_t batch_park_attempt(const struct entry *entry)
{
	return entry->is_behind ? entry->attempt - 1 : entry->attempt;
}

const char *batch_park_reason(const struct entry *entry)
{
	return entry->is_behind ? "parked_behind" : entry->reason;
}

static int64_t park_delay_ms(const struct batch *batch, const struct entry *entry)
{
	return entry->is_behind ? 0 : batch->engine->pipeline->retry.delays.ms[entry->attempt - 1];
}

static struct parked *park_get(struct batch *batch, struct entry *entry)
{
	if (!entry->parked)
		entry->parked = batch_park_find(batch, entry->lane_key);
	if (!entry->parked) {
		entry->parked = &batch->parked[batch->parked_count++];
		*entry->parked = (struct parked){.key = entry->lane_key, .is_new = true, .wait_ms = -1};
	}
	return entry->parked;
}

/* What holds it back is parked, so it can be parked behind. */
static bool park_follows_parked(const struct batch *batch, const struct entry *entry)
{
	for (size_t i = entry->index; i-- > 0;) {
		const struct entry *earlier = &batch->entries[i];
		if (earlier->record->lane != entry->record->lane)
			continue;
		if (earlier->outcome == OUTCOME_RETRY || earlier->outcome == OUTCOME_BACK)
			return false;
		if (earlier->outcome == OUTCOME_PARKED)
			return true;
	}
	return false;
}

static bool park_is_wanted(const struct batch *batch, struct entry *entry)
{
	if (!entry->claimed || !entry->lane_key.ptr)
		return false;
	if (entry->outcome == OUTCOME_RETRY)
		return batch->engine->parking.parks;
	if (entry->outcome == OUTCOME_BACK && !entry->is_behind)
		entry->is_behind = park_follows_parked(batch, entry);
	return entry->outcome == OUTCOME_BACK && entry->is_behind;
}

static bool park_has_room(const struct batch *batch, const struct parked *parked, int64_t added)
{
	const struct config_retry *retry = &batch->engine->pipeline->retry;
	int64_t all = atomic_load_explicit(&batch->engine->parking.events, memory_order_relaxed) + added;
	if (parked->events < retry->max_parked_per_key && all < retry->max_parked)
		return true;
	log_write_limited(LOG_parked_full,
	                  "key %.*s has %lld parked events, all keys about %lld: its lane waits in place (see "
	                  "retry.max_parked, retry.max_parked_per_key)",
	                  (int)(parked->key.len < 100 ? parked->key.len : 100), parked->key.ptr,
	                  (long long)parked->events, (long long)all);
	return false;
}

/* It was parked and stays so, for another try. */
static void park_again(struct batch *batch, struct entry *entry)
{
	if (entry->outcome != OUTCOME_RETRY)
		return;
	entry->outcome = OUTCOME_PARKED;
	if (!entry->parked)
		return;
	entry->parked->wait_ms = park_delay_ms(batch, entry);
	entry->parked->released += entry->parked->released == 0; /* it was not asked which ones are first */
}

void batch_park_decide(struct batch *batch)
{
	int64_t added = 0;
	for (size_t i = 0; i < batch->count && batch_park_asks(batch); i++) {
		struct entry *entry = &batch->entries[i];
		if (entry->record->released) {
			park_again(batch, entry);
			continue;
		}
		if (!park_is_wanted(batch, entry))
			continue;
		struct parked *parked = park_get(batch, entry);
		if (!park_has_room(batch, parked, added)) {
			entry->hold_ms = entry->outcome == OUTCOME_BACK ? FULL_HOLD_MS : 0;
			continue;
		}
		if (!entry->is_behind && parked->wait_ms < 0)
			parked->wait_ms = park_delay_ms(batch, entry);
		entry->outcome = OUTCOME_PARKED;
		parked->events++;
		added++;
	}
}
