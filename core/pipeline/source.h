/* The source: one thread that polls for ever and never blocks, whatever handlers do.  It makes records, puts them into
 * lanes, pauses and resumes partitions (queue full, too far ahead, retry not due), commits offsets about once a second
 * (one in flight) and serves rebalances, statistics and delivery reports. */
#ifndef IDEM_PIPELINE_SOURCE_H
#define IDEM_PIPELINE_SOURCE_H
#include "core/base/metrics.h"
#include "core/config/config.h"
#include "core/kafka/consumer.h"
#include "core/pipeline/lanes.h"
#include "core/pipeline/tracker.h"
#include "core/retry/router.h"

struct dedup_progress;
struct parked_take;
struct parking;
struct source;
struct source_options {
	const struct config_pipeline *pipeline;
	const struct kafka_property *properties;
	size_t property_count;
	struct lanes *lanes;
	struct router *router; /* polled here */
	struct metrics_page *metrics;
	/* About once a second, before the offsets are committed: the database is to be told the progress (by the side
	 * connection).  Must return at once; the rows are valid during the call.  Answered by exactly one
	 * source_progress_written; no further rows come before that.  NULL: offsets are committed without it. */
	void (*on_progress)(void *self, const struct dedup_progress *rows, size_t count);
	/* The same in a revoke and when leaving: waits for the answer, at most timeout_ms.  False: not written, or the
	 * database went back; then nothing is committed, and the next owner finds out.  NULL: not called. */
	bool (*on_progress_wait)(void *self, const struct dedup_progress *rows, size_t count, int timeout_ms);
	/* Parked events: what is due is asked for here, taken over by whoever answers with source_parked_taken, once.
	 * NULL: nothing is parked. */
	void (*on_parked)(void *self, struct parked_take *take);
	struct parking *parking;
	/* The group answered with an assignment, which may be empty: it consumes or is honestly idle.  NULL: not
	 * called. */
	void (*on_joined)(void *self);
	void *self;
};
struct source *source_create(const struct source_options *options, struct error *error);
/* Runs until source_stop, then drains: stops fetching, waits for what workers hold (at most pipeline->drain_max_ms),
 * commits, leaves the group.  Returns true when everything finished was committed in time. [poll] */
bool source_run(struct source *source, struct error *error) MUST_CHECK;
void source_stop(struct source *source); /* [any thread] */
/* The database is away: fetch nothing more (partitions paused), keep the membership. [any thread] */
void source_set_paused(struct source *source, bool paused);
/* The answer to on_progress, with its rows: written, so its offsets may be committed; or not: it is tried again.  What
 * went back is read again from where the database stands. [any thread] */
void source_progress_written(struct source *source, bool written, const struct dedup_progress *rows, size_t count);
/* The answer to on_parked; takes it. [any thread] */
void source_parked_taken(struct source *source, struct parked_take *take);
/* The dead letter of a parked event is acknowledged and indexed: its row may go. [any thread] */
void source_bury(struct source *source, struct record *record);
/* After source_run; may hang with librdkafka: under the shutdown watchdog. */
void source_destroy(struct source *source);
#endif
