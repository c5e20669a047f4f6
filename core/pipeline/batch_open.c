/* Steps 2 and 5a: records become entries, and each entry's id gets its place. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/event/content_hash.h"
#include "core/pipeline/batch.h"
#include "core/pipeline/released.h"
#include "core/pipeline/tracker.h"

/* An id that is not of version 7, or a business key, has no time. */
static int64_t entry_id_time_ms(const struct entry *entry)
{
	return uuid_version(&entry->event.id) == 7 ? uuid_time_ms(&entry->event.id) : -1;
}

static bool batch_make_day(struct batch *batch, int64_t time_ms)
{
	struct error error;
	if (dedup_make_day(batch->engine->dedup, batch->pg, time_ms, &error))
		return true;
	error_wrap(&error, "making a day of the dedup table");
	return batch_fail_host(batch, &error);
}

/* Releases are read once a minute; an operator who replays an event has released it just now. */
static bool batch_is_released(struct batch *batch, const struct event *event)
{
	struct dedup *dedup = batch->engine->dedup;
	struct error error;
	if (dedup_is_allowed_old(dedup, event->id_text.ptr))
		return true;
	if (!event->replayed)
		return false;
	if (!dedup_refresh(dedup, batch->pg, &error)) {
		error_wrap(&error, "reading what operators released");
		batch_fail_host(batch, &error);
		return false;
	}
	return dedup_is_allowed_old(dedup, event->id_text.ptr);
}

static void batch_place_old(struct batch *batch, struct entry *entry)
{
	if (batch_is_released(batch, &entry->event))
		entry->table = dedup_other_table(batch->engine->dedup);
	else if (batch->failure == BATCH_FINE)
		batch_reject(
		        batch, entry, "id_too_old",
		        BYTES_LITERAL("the day of this id is forgotten, so nobody can tell whether it was processed"));
}

/* Where the id is claimed; an id that can't be judged is dead before anything is asked. */
static void batch_place(struct batch *batch, struct entry *entry)
{
	struct dedup *dedup = batch->engine->dedup;
	struct event *event = &entry->event;
	if (event->business_key.ptr) {
		entry->table = dedup_message_table(dedup);
		entry->key = event->business_key;
		return;
	}
	int64_t time_ms = entry_id_time_ms(entry);
	enum dedup_place_status status = dedup_place(dedup, time_ms, &entry->table);
	if (status == DEDUP_DAY_MISSING) {
		if (!batch_make_day(batch, time_ms))
			return;
		status = dedup_place(dedup, time_ms, &entry->table);
	}
	entry->key = (struct bytes){(const char *)event->id.byte, sizeof(event->id.byte)};
	switch (status) {
	case DEDUP_PLACED:
		break;
	case DEDUP_ID_TOO_OLD:
		batch_place_old(batch, entry);
		break;
	case DEDUP_ID_IN_FUTURE:
		batch_reject(batch, entry, "id_in_future",
		             BYTES_LITERAL("the time in the id is ahead of the database's clock"));
		break;
	case DEDUP_DAY_MISSING: {
		struct error error;
		error_set(&error, ERROR_DB, "the day of an id is missing although it was made");
		batch_fail(batch, BATCH_CATALOGUE, &error);
		break;
	}
	}
}

/* An index holds no longer ones. */
#define LANE_KEY_MAX_BYTES 1024

/* What the lane is called in parked_key. */
static struct bytes entry_lane_key(struct batch *batch, const struct entry *entry)
{
	const struct record *record = entry->record;
	struct arena *arena = &batch->arena;
	struct bytes key = entry->event.order_key;
	if (record->released)
		return record->released->key;
	if (!batch->engine->parking.is_on || batch->engine->pipeline->ordering == CONFIG_ORDERING_NONE)
		return BYTES_NONE;
	if (batch->engine->pipeline->ordering != CONFIG_ORDERING_KEY || !key.ptr)
		return bytes_from_string(arena_printf(arena, "partition:%s/%d", partition_topic(record->partition),
		                                      (int)partition_number(record->partition)));
	size_t kept = key.len < LANE_KEY_MAX_BYTES ? key.len : LANE_KEY_MAX_BYTES;
	char *text = arena_alloc(arena, sizeof("key:") + kept + 17);
	memcpy(text, "key:", 4);
	memcpy(text + 4, key.ptr, kept);
	if (kept < key.len)
		kept += (size_t)snprintf(text + 4 + kept, 18, "#%016llx", (unsigned long long)content_hash(key));
	return (struct bytes){text, 4 + kept};
}

static void batch_view_record(struct batch *batch, const struct record *record, struct kafka_record *out_view)
{
	if (record->released)
		*out_view = record->released->record;
	else
		kafka_record_from_message(record->message, &batch->arena, out_view);
}

/* What it was tried before, its headers do not know. */
static uint32_t record_attempt(const struct record *record)
{
	return record->released ? record->released->attempt + 1 : record->attempt;
}

static void batch_open_entry(struct batch *batch, struct entry *entry, struct record *record)
{
	struct kafka_record view;
	entry->index = (size_t)(entry - batch->entries);
	entry->record = record;
	entry->was_sent = record->commit_sent;
	batch->has_released |= record->released != NULL;
	batch_view_record(batch, record, &view);
	envelope_open(&batch->engine->envelope, &view, &batch->arena, &entry->event);
	if (record_attempt(record)) {
		entry->event.attempt = record_attempt(record);
		entry->event.retried = entry->event.attempt > 1;
	}
	entry->attempt = entry->event.attempt;
	entry->lane_key = entry_lane_key(batch, entry);
	if (entry->event.state == EVENT_IGNORED || (record->released && record->released->is_buried)) {
		entry->outcome = OUTCOME_IGNORED;
		return;
	}
	if (entry->event.state == EVENT_BROKEN)
		batch_reject(batch, entry, entry->event.reason, bytes_from_string(entry->event.detail));
	if (entry->event.has_id)
		batch_place(batch, entry);
}

/* One order for all transactions, so that two of them never wait for each other's claims crosswise. */
static int entry_compare(const void *a, const void *b)
{
	const struct entry *left = *(struct entry *const *)a, *right = *(struct entry *const *)b;
	if (left->table != right->table)
		return left->table->day != right->table->day ? (left->table->day < right->table->day ? -1 : 1)
		                                             : (left->table < right->table ? -1 : 1);
	size_t shorter = left->key.len < right->key.len ? left->key.len : right->key.len;
	int order = memcmp(left->key.ptr, right->key.ptr, shorter);
	if (order == 0 && left->key.len != right->key.len)
		order = left->key.len < right->key.len ? -1 : 1;
	if (order != 0)
		return order;
	if (!left->record->released != !right->record->released) /* what is parked decides about its copies */
		return left->record->released ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

/* The claims, grouped by table and sorted; copies are linked to the first of their key and not claimed themselves. */
static void batch_group_claims(struct batch *batch)
{
	struct entry **sorted = arena_alloc(&batch->arena, batch->count * sizeof(*sorted));
	struct claim_group *group = NULL;
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++)
		if (batch->entries[i].table)
			sorted[count++] = &batch->entries[i];
	qsort(sorted, count, sizeof(*sorted), entry_compare);
	batch->claims = arena_alloc(&batch->arena, (count + 1) * sizeof(*batch->claims));
	for (size_t i = 0; i < count; i++) {
		if (!group || group->table != sorted[i]->table) {
			group = &batch->claims[batch->claim_count++];
			*group = (struct claim_group){.table = sorted[i]->table, .entries = sorted + i};
		}
		struct entry *last = group->count ? group->entries[group->count - 1] : NULL;
		if (last && bytes_equal(last->key, sorted[i]->key)) {
			sorted[i]->original = last;
			last->was_sent |= sorted[i]->was_sent;
		} else {
			group->entries[group->count++] = sorted[i];
		}
	}
}

/* Parses are larger than their text; hostile ones by thirty times.  What does not fit waits for the next batch. */
#define BATCH_MEMORY_MAX (64u * 1024 * 1024)

void batch_open(struct batch *batch, struct record *const *records, size_t count)
{
	batch_reset(batch);
	batch->begun_ms = clock_monotonic_ms();
	batch->entries = arena_zalloc(&batch->arena, count * sizeof(*batch->entries));
	while (batch->count < count && batch->failure == BATCH_FINE && batch->arena.used_bytes < BATCH_MEMORY_MAX) {
		struct entry *entry = &batch->entries[batch->count];
		batch_open_entry(batch, entry, records[batch->count++]);
	}
	if (batch->failure == BATCH_FINE)
		batch_group_claims(batch);
}
