/* What is parked and due comes into the lanes: the side thread reads it, and each key's records stand in front of its
 * lane.  Nothing is taken twice at a time; what a worker does not get done stays in the database and is taken again. */
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/parking.h"
#include "core/pipeline/released.h"
#include "core/pipeline/source_parts.h"

enum {
	PARKED_INTERVAL_MS = 1000, /* what an operator or another host did is seen so soon */
	PARKED_KEYS = 200,         /* taken at once, … */
	PARKED_EVENTS = 500        /* … and so many of each */
};

/* ---- keys in the lanes ---- */

bool source_is_releasing(const struct source *source)
{
	return source->releases != NULL;
}

static struct release *release_create(struct source *source, struct bytes key)
{
	struct release *release = calloc(1, sizeof(*release) + key.len);
	ASSERT(release);
	memcpy(release + 1, key.ptr, key.len);
	release->key = (struct bytes){(const char *)(release + 1), key.len};
	release->next = source->releases;
	source->releases = release;
	return release;
}

/* Those whose last record is gone: what is left of the key may be taken. */
static void forget_finished(struct source *source)
{
	for (struct release **place = &source->releases, *release; (release = *place);) {
		if (atomic_load_explicit(&release->records, memory_order_acquire) > 0) {
			place = &release->next;
			continue;
		}
		*place = release->next;
		if (release->is_used)
			source->next_parked_ms = 0;
		free(release);
	}
}

/* ---- the answer ---- */

static void push_released(struct source *source, struct record *record)
{
	const struct kafka_record *view = &record->released->record;
	const struct lanes_item item = {record, source_ordering_key(source, view->key, view->value)};
	lanes_push(source->options.lanes, &item, 1);
	arena_reset(&source->scratch);
}

/* On behalf of the partition that the key's first event came from; a key that nobody else takes, of any. */
static struct partition *partition_for(struct source *source, const struct parked_row *row)
{
	struct source_partition *partition = source_find(source, row->topic, row->partition);
	return partition ? partition->tracker : source->partitions[0].tracker;
}

static void push_row(struct source *source, const struct parked_row *row, struct release *release,
                     struct partition *partition)
{
	struct released *released = released_create(row, release);
	release->is_used |= released != NULL;
	if (released)
		push_released(source, record_create_released(released, partition));
	else
		log_write_limited(LOG_parked_failed, "parked event %s holds no record that this version can read",
		                  row->event_id);
}

static void push_rows(struct source *source, const struct parked_take *take)
{
	struct release *release = NULL;
	struct partition *partition = NULL;
	for (size_t i = 0; i < take->row_count; i++) {
		const struct parked_row *row = &take->rows[i];
		if (!release || !bytes_equal(release->key, row->key)) {
			release = release_create(source, row->key);
			partition = partition_for(source, row);
		}
		push_row(source, row, release, partition);
	}
}

static void take_answer(struct source *source)
{
	struct parked_take *take = atomic_exchange_explicit(&source->parked_answer, NULL, memory_order_acquire);
	if (!take)
		return;
	source->asked_for_parked = false;
	source->next_parked_ms = clock_monotonic_ms() + PARKED_INTERVAL_MS;
	if (take->is_answered) {
		atomic_store_explicit(&source->options.parking->events, take->total_events, memory_order_relaxed);
		metrics_set(source->options.metrics, METRIC_parked_events, take->total_events);
		metrics_set(source->options.metrics, METRIC_parked_keys, take->total_keys);
		if (take->next_due_ms >= 0)
			parking_note_due(source->options.parking, clock_monotonic_ms() + take->next_due_ms);
	}
	if (!source->leaving && source->count > 0)
		push_rows(source, take);
	parked_take_destroy(take);
}

void source_parked_taken(struct source *source, struct parked_take *take)
{
	atomic_store_explicit(&source->parked_answer, take, memory_order_release);
	kafka_consumer_wake(source->consumer);
}

/* ---- the question ---- */

static bool is_time(struct source *source)
{
	struct parking *parking = source->options.parking;
	int64_t now_ms = clock_monotonic_ms();
	bool is_due = atomic_load(&parking->next_due_ms) <= now_ms;
	if (is_due)
		atomic_store(&parking->next_due_ms, INT64_MAX);
	return is_due || now_ms >= source->next_parked_ms;
}

/* What is taken comes on top of what is fetched: lanes at the limit, which hold all that may be fetched, wait for it.
 */
static int64_t max_bytes(const struct source *source)
{
	return source->options.pipeline->queue.max_bytes / 8;
}

static void fill_request(struct source *source, struct parked_take *take)
{
	struct arena *arena = &take->arena;
	size_t releases = 0;
	for (const struct release *each = source->releases; each; each = each->next)
		releases++;
	take->topics = arena_alloc(arena, (source->count + 1) * sizeof(*take->topics));
	take->partitions = arena_alloc(arena, (source->count + 1) * sizeof(*take->partitions));
	take->keys_left_out = arena_alloc(arena, (releases + 1) * sizeof(*take->keys_left_out));
	for (size_t i = 0; i < source->count; i++) {
		const struct partition *tracker = source->partitions[i].tracker;
		take->topics[i] = arena_copy(arena, bytes_from_string(partition_topic(tracker)));
		take->partitions[i] = partition_number(tracker);
	}
	take->partition_count = source->count;
	for (const struct release *each = source->releases; each; each = each->next)
		take->keys_left_out[take->left_out_count++] = arena_copy(arena, each->key);
	take->max_keys = PARKED_KEYS;
	take->max_events = PARKED_EVENTS;
	take->max_bytes = max_bytes(source);
}

/* Not while much of what was taken is still in the lanes: memory is bounded. */
static bool is_room(const struct source *source)
{
	size_t records = 0, bytes = 0;
	for (const struct release *each = source->releases; each; each = each->next) {
		records += atomic_load_explicit(&each->records, memory_order_relaxed);
		bytes += atomic_load_explicit(&each->bytes, memory_order_relaxed);
	}
	return records < PARKED_EVENTS && bytes < (size_t)max_bytes(source);
}

static void ask(struct source *source)
{
	struct parked_take *take = parked_take_create(source->options.pipeline->name);
	fill_request(source, take);
	source->asked_for_parked = true;
	source->options.on_parked(source->options.self, take);
}

/* ---- dead letters ---- */

void source_bury(struct source *source, struct record *record)
{
	record->next = atomic_load(&source->to_bury);
	while (!atomic_compare_exchange_weak(&source->to_bury, &record->next, record))
		;
	kafka_consumer_wake(source->consumer);
}

static void bury(struct source *source, struct record *record)
{
	record->next = NULL;
	record->released->is_buried = true;
	if (lanes_should_stop(source->options.lanes, record))
		record_drop(record); /* the next owner writes its dead letter again */
	else
		push_released(source, record);
}

static void bury_all(struct source *source)
{
	struct record *record = atomic_exchange(&source->to_bury, NULL), *next;
	for (; record; record = next) {
		next = record->next;
		bury(source, record);
	}
}

void source_parked_step(struct source *source)
{
	if (!source->options.on_parked)
		return;
	bury_all(source);
	forget_finished(source);
	take_answer(source);
	bool is_idle = source->leaving || source->asked_for_parked || source->count == 0 ||
	               atomic_load_explicit(&source->paused, memory_order_relaxed);
	if (!is_idle && is_time(source) && is_room(source))
		ask(source);
}

void source_parked_done(struct source *source)
{
	bury_all(source); /* which drops them: the lanes are closed */
	parked_take_destroy(atomic_load(&source->parked_answer));
	forget_finished(source);
}
