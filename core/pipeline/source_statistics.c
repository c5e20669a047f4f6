#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/event/json.h"
#include "core/pipeline/source_parts.h"

/* Records are counted as consumed when they end, so that the six outcomes add up to them also after a revoke, which
 * hands fetched records on to somebody else. */
void source_count_finished(struct source *source, struct source_partition *partition)
{
	uint64_t finished = partition_load(partition->tracker).finished;
	metrics_add(source->options.metrics, METRIC_records_consumed, (int64_t)(finished - partition->counted));
	if (finished != partition->counted)
		source->last_progress_ms = clock_monotonic_ms();
	partition->counted = finished;
}

void source_measure(struct source *source)
{
	struct metrics_page *metrics = source->options.metrics;
	size_t records = 0, bytes = 0;
	for (size_t i = 0; i < source->count; i++) {
		struct source_partition *partition = &source->partitions[i];
		source_count_finished(source, partition);
		records += partition_load(partition->tracker).unfinished;
		bytes += partition_record_bytes(partition->tracker);
	}
	source_forget_departed(source);
	int64_t now_ms = clock_monotonic_ms();
	if (records == 0)
		source->last_progress_ms = now_ms;
	metrics_set(metrics, METRIC_queue_records, (int64_t)records);
	metrics_set(metrics, METRIC_queue_bytes, (int64_t)bytes);
	metrics_set(metrics, METRIC_last_commit_age_ms, now_ms - source->last_progress_ms);
}

/* ---- lag ---- */

void source_lag_open(struct source *source, struct source_partition *partition)
{
	struct metrics_page *metrics = source->options.metrics;
	for (size_t i = 0; i < METRICS_PARTITIONS; i++) {
		struct metrics_lag *row = &metrics->lag[i];
		if (atomic_load_explicit(&row->used, memory_order_relaxed))
			continue;
		row->partition = partition_number(partition->tracker);
		snprintf(row->topic, sizeof(row->topic), "%s", partition_topic(partition->tracker));
		atomic_store_explicit(&row->lag, 0, memory_order_relaxed);
		atomic_store_explicit(&row->used, 1, memory_order_release);
		partition->lag = row;
		return;
	}
}

/* The former owner shows no lag: it would grow for ever. */
void source_lag_close(struct source_partition *partition)
{
	if (partition->lag)
		atomic_store_explicit(&partition->lag->used, 0, memory_order_release);
	partition->lag = NULL;
}

/* A number of this partition in librdkafka's statistics; -1: not there, or not known yet (negative). */
static int64_t number_of(const struct json_document *document, const struct source_partition *partition,
                         const char *name)
{
	char pointer[400];
	struct json_value value;
	snprintf(pointer, sizeof(pointer), "/topics/%s/partitions/%d/%s", partition_topic(partition->tracker),
	         partition_number(partition->tracker), name);
	if (json_get(document, pointer, &value) != JSON_OK || value.type != JSON_INTEGER || value.integer < 0)
		return -1;
	return value.integer;
}

/* Where this group stands: what is finished, before the first record what is committed or where the log begins. */
static int64_t position_of(const struct json_document *document, const struct source_partition *partition)
{
	int64_t position = partition_next_offset(partition->tracker);
	if (position < 0)
		position = number_of(document, partition, "committed_offset");
	return position < 0 ? number_of(document, partition, "lo_offset") : position;
}

/* Against the last stable offset: what an open transaction hides can't be read by anybody. */
static int64_t lag_of(const struct json_document *document, const struct source_partition *partition)
{
	int64_t end = number_of(document, partition, "ls_offset"), position = position_of(document, partition);
	if (end < 0 || position < 0 || end <= position)
		return 0;
	bool all_finished = partition_load(partition->tracker).unfinished == 0 && !partition->paused;
	if (all_finished && number_of(document, partition, "next_offset") >= end &&
	    number_of(document, partition, "fetchq_cnt") == 0)
		return 0; /* what is left are the marks of ended transactions */
	return end - position;
}

/* Whatever comes from now on is new: all is read, finished and committed, and the brokers say so now.  An end that was
 * not told yet, or a coordinator out of reach, proves nothing: old records may still come, and keep their days. */
static bool is_at_end(const struct json_document *document, const struct source_partition *partition)
{
	struct json_value state;
	return number_of(document, partition, "ls_offset") >= 0 && position_of(document, partition) >= 0 &&
	       lag_of(document, partition) == 0 && partition_load(partition->tracker).unfinished == 0 &&
	       partition_committable(partition->tracker) < 0 && json_get(document, "/cgrp/state", &state) == JSON_OK &&
	       bytes_equal_string(state.text, "up");
}

void source_statistics(void *self, const char *json, size_t len)
{
	struct source *source = self;
	const char *reason, *text;
	struct json_limits limits = {.max_bytes = (size_t)256 << 20, .max_depth = 32};
	struct json_document *document =
	        json_parse(&source->scratch, (struct bytes){json, len}, &limits, &reason, &text);
	int64_t total = 0;
	for (size_t i = 0; document && i < source->count; i++) {
		int64_t lag = lag_of(document, &source->partitions[i]);
		total += lag;
		source->partitions[i].at_end_ms = is_at_end(document, &source->partitions[i]) ? clock_shared_ms() : -1;
		if (source->partitions[i].lag)
			atomic_store_explicit(&source->partitions[i].lag->lag, lag, memory_order_relaxed);
	}
	if (document)
		metrics_set(source->options.metrics, METRIC_consumer_lag, total);
	arena_reset(&source->scratch);
}
