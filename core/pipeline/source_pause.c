#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/source_parts.h"

/* Full is left at half, so that a pause, which costs what librdkafka had fetched ahead, is worth it. */
static bool is_full(const struct source_partition *partition, const struct config_queue *limits, int64_t now_ms)
{
	struct partition_load load = partition_load(partition->tracker);
	int64_t part = partition->wanted & PAUSE_FULL ? 2 : 1;
	if (load.oldest_ms && now_ms - load.oldest_ms > limits->max_ahead_ms)
		return true;
	return (int64_t)load.unfinished > limits->depth / part || (int64_t)load.ahead > limits->max_ahead / part;
}

size_t source_total_bytes(const struct source *source)
{
	size_t total = 0;
	for (size_t i = 0; i < source->count; i++)
		total += partition_record_bytes(source->partitions[i].tracker);
	for (size_t i = 0; i < source->departed_count; i++)
		total += partition_record_bytes(source->departed[i].tracker);
	return total;
}

/* Above this total those partitions are paused that hold more than an equal share of it.  At worst one partition filled
 * it alone and each other then fills its share: together queue.max_bytes.  One with an empty queue is never paused, so
 * a slow one holds back no other. */
static size_t bytes_threshold(const struct source *source)
{
	size_t count = source->count ? source->count : 1;
	return (size_t)source->options.pipeline->queue.max_bytes / (2 * count - 1) * count;
}

size_t source_poll_room(const struct source *source)
{
	size_t room = bytes_threshold(source) / 8 / (source->average_bytes + 1);
	return room < 1 ? 1 : room > SOURCE_POLL_MAX ? SOURCE_POLL_MAX : room;
}

static bool holds_too_many_bytes(const struct source *source, const struct source_partition *partition, size_t total)
{
	size_t threshold = bytes_threshold(source), share = threshold / source->count;
	size_t bytes = partition_record_bytes(partition->tracker);
	if (partition->wanted & PAUSE_BYTES)
		return total > threshold / 2 && bytes > share / 2;
	return total > threshold && bytes > share;
}

bool source_has_room(const struct source *source, const struct source_partition *partition, size_t bytes)
{
	size_t threshold = bytes_threshold(source), held = partition_record_bytes(partition->tracker);
	if (held == 0)
		return true; /* else a record larger than the share would never come */
	return source->total_bytes + bytes <= threshold || held + bytes <= threshold / source->count;
}

static bool is_not_due(const struct source_partition *partition, int64_t now_ms)
{
	return partition->wanted & PAUSE_NOT_DUE && partition->due_ms > now_ms;
}

static unsigned reasons(const struct source *source, const struct source_partition *partition, size_t total, bool all)
{
	const struct config_queue *limits = &source->options.pipeline->queue;
	unsigned wanted = all ? PAUSE_ALL : 0;
	if (is_full(partition, limits, clock_monotonic_ms()))
		wanted |= PAUSE_FULL;
	if (holds_too_many_bytes(source, partition, total))
		wanted |= PAUSE_BYTES;
	if (is_not_due(partition, clock_shared_ms()))
		wanted |= PAUSE_NOT_DUE;
	return wanted;
}

/* What can't be told now is told in the next turn; meanwhile source_push throws away what comes. */
static void tell(struct source *source, struct source_partition *partition)
{
	struct error error = {0};
	const char *topic = partition_topic(partition->tracker);
	int32_t number = partition_number(partition->tracker);
	bool told = true;
	if (partition->wanted && !partition->paused) {
		told = kafka_consumer_pause(source->consumer, topic, number, &error);
		partition->paused = told;
	} else if (!partition->wanted && (partition->paused || partition->discarded)) {
		told = kafka_consumer_resume(source->consumer, topic, number, partition->next_offset, &error);
		partition->paused = partition->paused && !told;
		partition->discarded = partition->discarded && !told;
	}
	if (!told)
		log_write_limited(LOG_kafka_error, "%s", error.text);
}

void source_pause_step(struct source *source)
{
	bool all = source->leaving || atomic_load_explicit(&source->paused, memory_order_relaxed);
	size_t total = source_total_bytes(source);
	source->next_due_ms = 0;
	for (size_t i = 0; i < source->count; i++) {
		struct source_partition *partition = &source->partitions[i];
		partition->wanted = reasons(source, partition, total, all);
		tell(source, partition);
		if (partition->wanted & PAUSE_NOT_DUE &&
		    (!source->next_due_ms || partition->due_ms < source->next_due_ms))
			source->next_due_ms = partition->due_ms;
	}
}
