#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/source_parts.h"

/* ---- the partitions, sorted ---- */

static int compare(const struct source_partition *partition, const char *topic, int32_t number)
{
	int order = strcmp(partition_topic(partition->tracker), topic);
	if (order != 0)
		return order;
	int32_t own = partition_number(partition->tracker);
	return (own > number) - (own < number);
}

/* The first one that is not less. */
static size_t place_of(const struct source *source, const char *topic, int32_t number)
{
	size_t low = 0, high = source->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(&source->partitions[middle], topic, number) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct source *source, size_t place, const char *topic, int32_t number)
{
	return place < source->count && compare(&source->partitions[place], topic, number) == 0;
}

struct source_partition *source_find(struct source *source, const char *topic, int32_t number)
{
	if (!is_at(source, source->last, topic, number))
		source->last = place_of(source, topic, number);
	return is_at(source, source->last, topic, number) ? &source->partitions[source->last] : NULL;
}

static struct source_partition *make_room(struct source_partition **array, size_t *count, size_t *capacity,
                                          size_t place)
{
	if (*count == *capacity) {
		*capacity = *capacity ? *capacity * 2 : 16;
		*array = realloc(*array, *capacity * sizeof(**array));
		ASSERT(*array);
	}
	memmove(*array + place + 1, *array + place, (*count - place) * sizeof(**array));
	(*count)++;
	return *array + place;
}

static void close_gap(struct source_partition *array, size_t *count, size_t place)
{
	(*count)--;
	memmove(array + place, array + place + 1, (*count - place) * sizeof(*array));
}

static void remember(struct source *source, const struct kafka_position *position)
{
	size_t place = place_of(source, position->topic, position->partition);
	struct source_partition *partition = make_room(&source->partitions, &source->count, &source->capacity, place);
	bool is_trusted = source->options.pipeline->accept_foreign_offsets;
	*partition = (struct source_partition){
	        .tracker = partition_create(position->topic, position->partition, position->offset),
	        .is_retry = strncmp(position->topic, source->retry_prefix, strlen(source->retry_prefix)) == 0,
	        .wanted = source->leaving || source->paused ? PAUSE_ALL : 0,
	        .next_offset = position->offset < 0 ? -1 : position->offset,
	        .at_end_ms = -1,
	        .known_offset = is_trusted || position->offset < 0 ? -1 : position->offset,
	        .known_by_group = true,
	};
	source_lag_open(source, partition);
}

/* Its records that are still with workers or the router keep it among the departed, where they are counted. */
static void depart(struct source *source, struct source_partition *partition)
{
	*make_room(&source->departed, &source->departed_count, &source->departed_capacity, source->departed_count) =
	        (struct source_partition){.tracker = partition->tracker, .counted = partition->counted};
}

void source_forget_departed(struct source *source)
{
	for (size_t i = source->departed_count; i-- > 0;) {
		bool all_freed = partition_record_count(source->departed[i].tracker) == 0;
		source_count_finished(source, &source->departed[i]);
		if (!all_freed)
			continue;
		partition_unref(source->departed[i].tracker);
		close_gap(source->departed, &source->departed_count, i);
	}
}

void source_replace_tracker(struct source *source, struct source_partition *partition, int64_t first_offset)
{
	depart(source, partition);
	partition->tracker = partition_create(partition_topic(partition->tracker), partition_number(partition->tracker),
	                                      first_offset);
	partition->counted = 0;
	partition->reported = (struct dedup_progress){0};
	partition->at_end_ms = -1;
}

/* Records of it that workers hold end on the old tracker, from which nobody commits; their effects stand. */
void source_go_back(struct source *source, struct source_partition *partition, int64_t offset)
{
	log_write(LOG_database_went_back,
	          "%s/%d: the database stands at offset %lld, the group at %lld or more: what it lost is applied again",
	          partition_topic(partition->tracker), partition_number(partition->tracker), (long long)offset,
	          (long long)partition->known_offset);
	metrics_add(source->options.metrics, METRIC_database_went_back, 1);
	partition_revoke(partition->tracker);
	lanes_drop_partition(source->options.lanes, partition->tracker);
	source_replace_tracker(source, partition, offset);
	partition->next_offset = offset;
	partition->discarded = true; /* resumed, at that offset, in the next turn */
	partition->wanted |= PAUSE_ALL;
	partition->known_offset = offset;
	partition->known_by_group = false;
}

void source_partitions_done(struct source *source)
{
	for (size_t i = 0; i < source->count; i++) {
		source_lag_close(&source->partitions[i]);
		partition_unref(source->partitions[i].tracker);
	}
	for (size_t i = 0; i < source->departed_count; i++)
		partition_unref(source->departed[i].tracker);
	free(source->partitions);
	free(source->departed);
}

/* ---- given ---- */

void source_assigned(void *self, struct kafka_position *positions, size_t count)
{
	struct source *source = self;
	for (size_t i = 0; i < count; i++) {
		ASSERT(!source_find(source, positions[i].topic, positions[i].partition));
		remember(source, &positions[i]);
	}
	metrics_add(source->options.metrics, METRIC_rebalances, 1);
	metrics_set(source->options.metrics, METRIC_partitions_assigned, (int64_t)source->count);
	source_rejoined(source);
	source->next_commit_ms = 0; /* the database is told of them before their records are through */
	log_write(LOG_partitions_assigned, "%zu more, %zu in all", count, source->count);
	if (source->options.on_joined)
		source->options.on_joined(source->options.self);
	if (!source->leaving)
		source_group_check_start(source);
}

/* ---- taken ---- */

/* Those of the positions that are known; the caller frees. */
static struct source_partition **find_all(struct source *source, const struct kafka_position *positions, size_t *count)
{
	size_t found = 0;
	struct source_partition **partitions = calloc(*count + 1, sizeof(struct source_partition *));
	ASSERT(partitions);
	for (size_t i = 0; i < *count; i++) {
		struct source_partition *partition = source_find(source, positions[i].topic, positions[i].partition);
		if (partition)
			partitions[found++] = partition;
	}
	*count = found;
	return partitions;
}

/* Workers give the records back soon: lanes_should_stop tells them.  Acknowledgements of retry and dead letter records
 * arrive in router_poll. */
static void wait_until_free(struct source *source, struct partition *tracker, int64_t until_ms)
{
	int64_t left_ms;
	while (partition_record_count(tracker) > 0 && (left_ms = until_ms - clock_monotonic_ms()) > 0) {
		int64_t slice_ms = left_ms < SOURCE_POLL_BUSY_MS ? left_ms : SOURCE_POLL_BUSY_MS;
		bool at_router = lanes_wait_partition(source->options.lanes, tracker, slice_ms);
		router_poll(source->options.router, at_router ? (int)slice_ms : 0);
	}
}

static int64_t revoke_until_ms(const struct source *source)
{
	int64_t until_ms = clock_monotonic_ms() + source->options.pipeline->revoke_max_ms;
	return source->leaving && source->leave_by_ms < until_ms ? source->leave_by_ms : until_ms;
}

static void let_go(struct source *source, struct source_partition *const *partitions, size_t count, bool lost)
{
	for (size_t i = 0; i < count; i++)
		partition_revoke(partitions[i]->tracker);
	for (size_t i = 0; i < count; i++)
		lanes_drop_partition(source->options.lanes, partitions[i]->tracker);
	int64_t until_ms = revoke_until_ms(source);
	for (size_t i = 0; i < count && !lost; i++)
		wait_until_free(source, partitions[i]->tracker, until_ms);
	for (size_t i = 0; i < count; i++)
		partition_give_up(partitions[i]->tracker);
	if (!lost)
		source_commit_now(source, partitions, count);
}

static void forget(struct source *source, const struct kafka_position *position)
{
	struct source_partition *partition = source_find(source, position->topic, position->partition);
	if (!partition)
		return;
	source_lag_close(partition);
	depart(source, partition);
	close_gap(source->partitions, &source->count, (size_t)(partition - source->partitions));
}

void source_revoked(void *self, const struct kafka_position *positions, size_t count, bool lost)
{
	struct source *source = self;
	size_t known = count;
	struct source_partition **partitions = find_all(source, positions, &known);
	let_go(source, partitions, known, lost);
	free(partitions);
	for (size_t i = 0; i < count; i++)
		forget(source, &positions[i]);
	source->rejoining_ms = source->count > 0 ? clock_monotonic_ms() : 0;
	source_forget_departed(source);
	arena_reset(&source->scratch);
	metrics_add(source->options.metrics, METRIC_rebalances, 1);
	metrics_set(source->options.metrics, METRIC_partitions_assigned, (int64_t)source->count);
	log_write(LOG_partitions_revoked, "%zu %s, %zu left", count, lost ? "lost" : "given up", source->count);
}
