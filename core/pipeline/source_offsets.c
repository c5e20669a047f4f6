#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/source_parts.h"

/* Progress goes to the database first, then to the coordinator: if the database is found behind the group later, it
 * went back (ENGINE section 5), and never because the order was the other way round. */

static struct dedup_progress progress_of(struct source *source, struct source_partition *partition)
{
	struct partition_load load = partition_load(partition->tracker);
	int64_t next_offset = partition_next_offset(partition->tracker);
	if (next_offset < 0 && source->options.pipeline->start == CONFIG_START_EARLIEST)
		next_offset = 0; /* nothing was read yet: it is known to be there, and keeps what may come from it */
	return (struct dedup_progress){
	        .topic = partition_topic(partition->tracker),
	        .partition = partition_number(partition->tracker),
	        .next_offset = next_offset,
	        .known_offset = partition->known_offset,
	        .by_group = partition->known_by_group,
	        .oldest_ms = load.unfinished == 0 && partition->at_end_ms > load.timestamp_ms ? partition->at_end_ms
	                                                                                      : load.timestamp_ms,
	};
}

/* Not every change of an idle partition: it is at its end, and that moves with the time. */
static bool is_worth_a_row(const struct source_partition *partition, const struct dedup_progress *row, int64_t now_ms)
{
	if (row->next_offset < 0)
		return false;
	if (!partition->reported.topic || row->next_offset != partition->reported.next_offset ||
	    partition_committable(partition->tracker) >= 0)
		return true;
	return row->oldest_ms != partition->reported.oldest_ms &&
	       now_ms - partition->reported_at_ms >= SOURCE_IDLE_REPORT_MS;
}

static void drop_commits(struct source *source)
{
	for (size_t i = 0; i < source->commit_count; i++)
		partition_unref(source->commits[i].tracker);
	free(source->commits);
	source->commits = NULL;
	source->commit_count = 0;
	source->commit_state = COMMIT_IDLE;
}

static void add_commit(struct source *source, struct partition *tracker, int64_t next_offset)
{
	partition_ref(tracker);
	source->commits[source->commit_count++] = (struct source_commit){tracker, next_offset, -1};
}

static size_t collect(struct source *source, struct dedup_progress *rows)
{
	size_t count = 0;
	int64_t now_ms = clock_monotonic_ms();
	source->commits = calloc(source->count + 1, sizeof(*source->commits));
	ASSERT(source->commits);
	for (size_t i = 0; i < source->count; i++) {
		struct source_partition *partition = &source->partitions[i];
		struct dedup_progress row = progress_of(source, partition);
		if (!is_worth_a_row(partition, &row, now_ms))
			continue;
		partition->reported = row;
		partition->reported_at_ms = now_ms;
		rows[count++] = row;
		add_commit(source, partition->tracker, row.next_offset);
	}
	return count;
}

static void send_commits(struct source *source)
{
	struct error error;
	size_t count = 0;
	struct kafka_position *positions = arena_alloc(&source->scratch, source->commit_count * sizeof(*positions));
	for (size_t i = 0; i < source->commit_count; i++) {
		struct source_commit *commit = &source->commits[i];
		int64_t committable = partition_committable(commit->tracker);
		if (partition_is_revoked(commit->tracker) || committable < commit->next_offset)
			continue; /* somebody else's now, or committed already */
		positions[count++] = (struct kafka_position){partition_topic(commit->tracker),
		                                             partition_number(commit->tracker), commit->next_offset};
	}
	if (count == 0) {
		drop_commits(source);
		return;
	}
	source->commit_state = COMMIT_SENT;
	if (!kafka_consumer_commit(source->consumer, positions, count, &error)) {
		log_write_limited(LOG_kafka_error, "%s", error.text);
		drop_commits(source);
	}
}

static void report_progress(struct source *source)
{
	struct dedup_progress *rows = arena_alloc(&source->scratch, (source->count + 1) * sizeof(*rows));
	size_t count = collect(source, rows);
	if (count == 0) {
		drop_commits(source);
		return;
	}
	if (!source->options.on_progress) {
		send_commits(source);
		return;
	}
	source->commit_state = COMMIT_REPORTED;
	source->options.on_progress(source->options.self, rows, count);
}

static void forget_reported(struct source *source)
{
	for (size_t i = 0; i < source->count; i++)
		source->partitions[i].reported = (struct dedup_progress){0};
}

/* A cooperative member that gave up a part of its assignment joins anew; until it has, an offset commit carries a
 * generation that may be over, and librdkafka answers that by giving up all the rest as lost.  So nothing is committed
 * meanwhile.  The assignment that only confirms what is left comes at once and does not count; one that never comes
 * holds nothing up for long. */
#define REJOIN_CONFIRM_MS 100
#define REJOIN_MAX_MS 5000

static bool is_rejoining(const struct source *source)
{
	return source->rejoining_ms && clock_monotonic_ms() - source->rejoining_ms < REJOIN_MAX_MS;
}

void source_rejoined(struct source *source)
{
	if (source->rejoining_ms && clock_monotonic_ms() - source->rejoining_ms > REJOIN_CONFIRM_MS)
		source->rejoining_ms = 0;
}

static struct source_partition *partition_of(struct source *source, const struct partition *tracker)
{
	struct source_partition *partition = source_find(source, partition_topic(tracker), partition_number(tracker));
	return partition && partition->tracker == tracker ? partition : NULL; /* else it was given up since */
}

/* What the database answered about each row. */
static void take_answers(struct source *source)
{
	for (size_t i = 0; i < source->commit_count; i++) {
		const struct source_commit *commit = &source->commits[i];
		struct source_partition *partition = partition_of(source, commit->tracker);
		if (partition && commit->went_back_to >= 0) {
			source_go_back(source, partition, commit->went_back_to);
		} else if (partition) {
			partition->known_offset = commit->next_offset;
			partition->known_by_group = false;
		}
	}
}

void source_commit_step(struct source *source)
{
	int answer = atomic_exchange_explicit(&source->progress_answer, ANSWER_NONE, memory_order_acquire);
	if (source->commit_state == COMMIT_REPORTED && answer != ANSWER_NONE) {
		if (answer == ANSWER_WRITTEN)
			take_answers(source);
		if (answer == ANSWER_WRITTEN && !is_rejoining(source)) {
			send_commits(source);
		} else {
			forget_reported(source);
			drop_commits(source);
		}
	}
	int64_t now_ms = clock_monotonic_ms();
	if (source->commit_state == COMMIT_IDLE && now_ms >= source->next_commit_ms && !is_rejoining(source)) {
		source->next_commit_ms = now_ms + SOURCE_COMMIT_INTERVAL_MS;
		report_progress(source);
	}
	arena_reset(&source->scratch);
}

void source_progress_written(struct source *source, bool written, const struct dedup_progress *rows, size_t count)
{
	/* Nobody else looks at the commits while they are reported. */
	for (size_t i = 0; written && i < count && i < source->commit_count; i++)
		source->commits[i].went_back_to = rows[i].went_back_to;
	atomic_store_explicit(&source->progress_answer, written ? ANSWER_WRITTEN : ANSWER_FAILED, memory_order_release);
	kafka_consumer_wake(source->consumer);
}

void source_committed(void *self, rd_kafka_resp_err_t code, const struct kafka_position *positions, size_t count)
{
	struct source *source = self;
	(void)positions;
	(void)count;
	if (source->commit_state != COMMIT_SENT)
		return;
	if (code)
		log_write_limited(LOG_kafka_error, "offset commit: %s; it is tried again", rd_kafka_err2str(code));
	for (size_t i = 0; !code && i < source->commit_count; i++)
		partition_committed(source->commits[i].tracker, source->commits[i].next_offset);
	if (!code)
		metrics_add(source->options.metrics, METRIC_offset_commits, 1);
	drop_commits(source);
}

void source_commit_now(struct source *source, struct source_partition *const *partitions, size_t count)
{
	struct error error;
	struct dedup_progress *rows = arena_alloc(&source->scratch, (count + 1) * sizeof(*rows));
	struct kafka_position *positions = arena_alloc(&source->scratch, (count + 1) * sizeof(*positions));
	size_t row_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (partition_committable(partitions[i]->tracker) < 0)
			continue;
		struct dedup_progress row = progress_of(source, partitions[i]);
		positions[row_count] = (struct kafka_position){row.topic, row.partition, row.next_offset};
		rows[row_count++] = row;
	}
	if (row_count == 0)
		return;
	if (source->options.on_progress_wait &&
	    !source->options.on_progress_wait(source->options.self, rows, row_count, SOURCE_PROGRESS_WAIT_MS)) {
		source->left_behind |= source->leaving;
		log_write(LOG_dedup_failed, "the last progress could not be written, its records will come again");
		return;
	}
	if (kafka_consumer_commit_wait(source->consumer, positions, row_count, SOURCE_COMMIT_WAIT_MS, &error)) {
		metrics_add(source->options.metrics, METRIC_offset_commits, 1);
		return;
	}
	source->left_behind |= source->leaving;
	log_write(LOG_kafka_error, "the last offsets could not be committed, their records will come again: %s",
	          error.text);
}

void source_commit_done(struct source *source)
{
	drop_commits(source);
}
