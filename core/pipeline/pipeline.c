#include "core/pipeline/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/base/log.h"
#include "core/db/schema.h"
#include "core/kafka/client.h"
#include "core/pipeline/crash.h"
#include "core/pipeline/engine.h"
#include "core/pipeline/released.h"
#include "core/pipeline/side.h"
#include "core/pipeline/source.h"
#include "core/pipeline/watch.h"
#include "core/pipeline/worker.h"

#define CLOSE_MS 2000 /* what librdkafka gets for destroying itself: it is known to hang */

struct pipeline {
	struct engine engine;
	struct config_pipeline config; /* ours, with what the plugin demands */
	struct event_types *types;
	struct kafka_property *consumer_properties, *producer_properties;
	struct config_properties consumer_source, producer_source; /* what they point into */
	struct side *side;
	struct source *source;
	struct worker **workers;
	struct watch **watches;
	struct watchdog *watchdog;
	void (*say_stopped)(void);
	pthread_t stop_thread;
	pthread_mutex_t opening; /* of is_open, and while the group is joined */
	bool is_open;
	_Atomic int stop_status;
	_Atomic bool is_joined, is_database_down;
};

/* ---- stopping ---- */

static _Atomic int stop_event = -1; /* an eventfd: the only thing a signal handler touches */
static _Atomic bool stop_requested; /* also when there is no eventfd yet */

static void stop_event_open(void)
{
	stop_event = eventfd(0, EFD_CLOEXEC);
	ASSERT(stop_event >= 0);
	if (atomic_load(&stop_requested))
		pipeline_request_stop();
}

void pipeline_request_stop(void)
{
	uint64_t one = 1;
	atomic_store(&stop_requested, true);
	if (stop_event >= 0 && write(stop_event, &one, sizeof(one)) < 0)
		return; /* the counter is full: the request is there already */
}

/* Opening waits for servers that may be away, in calls that nothing cuts short.  Until it is through nothing was begun
 * and the group knows nothing of this process, so it just ends; the main thread gets no further, for the lock is kept.
 */
static void stop_while_opening(struct pipeline *pipeline)
{
	PTHREAD_OK(pthread_mutex_lock(&pipeline->opening));
	if (!pipeline->is_open) {
		log_write(LOG_stopped, "before it had started");
		pipeline->say_stopped();
		_exit(CHILD_STOPPED);
	}
	PTHREAD_OK(pthread_mutex_unlock(&pipeline->opening));
}

static void *stop_main(void *argument)
{
	struct pipeline *pipeline = argument;
	uint64_t count;
	while (read(stop_event, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	stop_while_opening(pipeline);
	gate_close(&pipeline->engine.gate);
	source_stop(pipeline->source);
	return NULL;
}

static void pipeline_stop(void *self, int status)
{
	struct pipeline *pipeline = self;
	atomic_store(&pipeline->stop_status, status);
	pipeline_request_stop();
}

/* ---- health ---- */

/* Ready: the group has answered, and PostgreSQL works. */
static void pipeline_tell_health(struct pipeline *pipeline)
{
	bool is_joined = atomic_load(&pipeline->is_joined), is_down = atomic_load(&pipeline->is_database_down);
	metrics_set_ready(pipeline->engine.metrics, is_joined && !is_down,
	                  is_down ? "postgresql does not work" : "joining the consumer group");
}

static void pipeline_database_changed(void *self, bool down)
{
	struct pipeline *pipeline = self;
	log_write(down ? LOG_database_lost : LOG_database_back, "%s",
	          down ? "nothing is fetched until postgresql works again" : "going on");
	atomic_store(&pipeline->is_database_down, down);
	pipeline_tell_health(pipeline);
	if (pipeline->source)
		source_set_paused(pipeline->source, down);
}

static void pipeline_joined(void *self)
{
	struct pipeline *pipeline = self;
	atomic_store(&pipeline->is_joined, true);
	pipeline_tell_health(pipeline);
}

/* ---- the progress, between source and side ---- */

static void pipeline_progress(void *self, const struct dedup_progress *rows, size_t count)
{
	side_progress(((struct pipeline *)self)->side, rows, count);
}

static bool pipeline_progress_wait(void *self, const struct dedup_progress *rows, size_t count, int timeout_ms)
{
	return side_progress_wait(((struct pipeline *)self)->side, rows, count, timeout_ms);
}

static void pipeline_progress_written(void *self, bool written, const struct dedup_progress *rows, size_t count)
{
	source_progress_written(((struct pipeline *)self)->source, written, rows, count);
}

/* ---- parked events, between the same two ---- */

static void pipeline_parked(void *self, struct parked_take *take)
{
	side_take_parked(((struct pipeline *)self)->side, take);
}

static void pipeline_parked_taken(void *self, struct parked_take *take)
{
	source_parked_taken(((struct pipeline *)self)->source, take);
}

/* ---- retry and dead letter records ---- */

static void pipeline_finish_routed(struct pipeline *pipeline, enum metric_id counter, void *opaque)
{
	metrics_add(pipeline->engine.metrics, counter, 1);
	record_finish(opaque);
	router_settle(pipeline->engine.router, 1);
}

/* A dead letter that is not in the index yet would be sent again if its record came again. */
static void pipeline_acknowledged(void *self, void *opaque, enum route route, const struct letter *letter)
{
	struct pipeline *pipeline = self;
	if (route == ROUTE_RETRY)
		pipeline_finish_routed(pipeline, METRIC_events_retried, opaque);
	else if (pipeline->side)
		side_index(pipeline->side, letter, opaque);
	else
		record_drop(opaque); /* at the end of a drain that was too short */
}

static void pipeline_indexed(void *self, void *opaque)
{
	struct pipeline *pipeline = self;
	struct record *record = opaque;
	if (record->released) {
		metrics_add(pipeline->engine.metrics, METRIC_parked_dead, 1);
		source_bury(pipeline->source, record);
		router_settle(pipeline->engine.router, 1);
		return;
	}
	pipeline_finish_routed(pipeline, METRIC_events_dead, record);
}

static void pipeline_route_trouble(void *self, void *opaque, const struct error *error)
{
	const struct record *record = opaque;
	metrics_add(((struct pipeline *)self)->engine.metrics, METRIC_route_errors, 1);
	if (record->released)
		log_write_limited(LOG_route_failed, "parked event %s is held: %s", record->released->event_id,
		                  error->text);
	else
		log_write_limited(LOG_route_failed, "offset %lld of %s/%d is held: %s",
		                  (long long)record->message->offset, partition_topic(record->partition),
		                  partition_number(record->partition), error->text);
}

/* ---- opening, in order; each fills *out_status when it fails ---- */

static bool pipeline_failed(enum log_event_id event, const struct error *error, int status, int *out_status)
{
	log_write(event, "%s", error->text);
	*out_status = status;
	return false;
}

static bool pipeline_open_plugin(struct pipeline *pipeline, const char *path, int *out_status)
{
	struct engine *engine = &pipeline->engine;
	struct error error;
	engine->plugin = plugin_open(path, &engine->pipeline->plugin, engine->pipeline->name, &error);
	if (!engine->plugin)
		return pipeline_failed(LOG_plugin_refused, &error, CHILD_PLUGIN_REFUSED, out_status);
	if (!plugin_fits(engine->plugin, &pipeline->config, &error))
		return pipeline_failed(LOG_plugin_refused, &error, CHILD_PLUGIN_REFUSED, out_status);
	if (pipeline->config.isolation == CONFIG_ISOLATION_EVENT)
		pipeline->config.batch.max = 1;
	if (!plugin_create(engine->plugin, &error) || !plugin_start(engine->plugin, &error))
		return pipeline_failed(LOG_plugin_refused, &error, CHILD_PLUGIN_REFUSED, out_status);
	engine->has_batch = plugin_descriptor(engine->plugin)->handle_batch != NULL;
	log_write(LOG_plugin_opened, "%s %s", plugin_descriptor(engine->plugin)->name,
	          plugin_descriptor(engine->plugin)->version);
	return true;
}

/* With another retry.mode what is parked is still released, and what comes for its key parked behind it. */
static bool pipeline_open_parked(struct pipeline *pipeline, struct pg *pg, struct error *error)
{
	struct engine *engine = &pipeline->engine;
	struct parking *parking = &engine->parking;
	const char *schema = engine->config->database.schema;
	atomic_store(&parking->next_due_ms, INT64_MAX);
	parking->parks = engine->pipeline->retry.mode == CONFIG_RETRY_PARKED;
	if (!parked_any(pg, schema, engine->pipeline->name, &parking->is_on, error))
		return false;
	parking->is_on |= parking->parks;
	engine->parked = parked_statements_create(pg, schema);
	return true;
}

static bool pipeline_open_database(struct pipeline *pipeline, struct pg **out_pg, int *out_status)
{
	struct engine *engine = &pipeline->engine;
	const struct dedup_options options = {
	        .schema = engine->config->database.schema,
	        .group = engine->pipeline->name,
	        .retention_ms = engine->pipeline->dedup.retention_ms,
	        .day_ms = engine->pipeline->dedup.day_ms,
	        .max_future_ms = engine->pipeline->event.max_future_ms,
	};
	struct error error;
	char name[128];
	snprintf(name, sizeof(name), "idem %.40s side", engine->pipeline->name);
	struct pg *pg = pg_open(&engine->config->database, name, engine_idle_in_transaction_ms(engine), &error);
	if (pg && schema_check(pg, options.schema, &error))
		engine->dedup = dedup_open(pg, &options, &error);
	if (!engine->dedup) {
		pg_close(pg);
		return pipeline_failed(LOG_database_lost, &error, CHILD_SERVICE_MISSING, out_status);
	}
	if (!pipeline_open_parked(pipeline, pg, &error)) {
		pg_close(pg);
		return pipeline_failed(LOG_database_lost, &error, CHILD_SERVICE_MISSING, out_status);
	}
	engine->attempts = attempts_create(pg, options.schema);
	engine->letters = letters_create(pg, options.schema, options.group);
	metrics_set(engine->metrics, METRIC_dedup_days, (int64_t)dedup_day_count(engine->dedup));
	*out_pg = pg;
	return true;
}

/* Counts the death of the process before, if it died while it handled events. */
static bool pipeline_open_blame(struct pipeline *pipeline, struct pg *pg, int *out_status)
{
	struct engine *engine = &pipeline->engine;
	const struct blame_options options = {
	        .state_dir = engine->config->state_dir,
	        .pipeline = engine->pipeline->name,
	        .workers = (size_t)engine->pipeline->workers,
	        .batch_max = (size_t)engine->pipeline->batch.max,
	};
	struct error error;
	bool is_broken;
	engine->blame = blame_open(&options, &error);
	if (!engine->blame)
		return pipeline_failed(LOG_stopped, &error, CHILD_INTERNAL, out_status);
	if (!blame_begin(engine->blame, pg, engine->config->database.schema, &is_broken, &error))
		return pipeline_failed(LOG_database_lost, &error, CHILD_SERVICE_MISSING, out_status);
	if (is_broken) {
		error_set(&error, ERROR_PLUGIN,
		          "%d deaths while events were handled, and nothing succeeded between: the plugin is broken",
		          BLAME_BREAKER_DEATHS);
		return pipeline_failed(LOG_crash_breaker, &error, CHILD_BREAKER, out_status);
	}
	crash_catch_signals(blame_cause(engine->blame));
	return true;
}

static bool pipeline_open_envelope(struct pipeline *pipeline, int *out_status)
{
	struct engine *engine = &pipeline->engine;
	const struct config_event *event = &engine->pipeline->event;
	struct error error;
	pipeline->types = event_types_create(event->schemas, plugin_descriptor(engine->plugin)->event_types, &error);
	if (!pipeline->types ||
	    !envelope_init(&engine->envelope, event, engine->pipeline->name, pipeline->types, &error))
		return pipeline_failed(LOG_stopped, &error, CHILD_CONFIG, out_status);
	return true;
}

static bool pipeline_open_router(struct pipeline *pipeline, int *out_status)
{
	struct engine *engine = &pipeline->engine;
	struct error error;
	config_consumer_properties(engine->config, engine->pipeline, &pipeline->consumer_source);
	config_producer_properties(engine->config, engine->pipeline, &pipeline->producer_source);
	pipeline->consumer_properties = kafka_properties_create(&pipeline->consumer_source);
	pipeline->producer_properties = kafka_properties_create(&pipeline->producer_source);
	const struct router_options router = {
	        .pipeline = engine->pipeline,
	        .properties = pipeline->producer_properties,
	        .property_count = pipeline->producer_source.count,
	        .plugin_name = plugin_descriptor(engine->plugin)->name,
	        .plugin_version = plugin_descriptor(engine->plugin)->version,
	        .self = pipeline,
	        .on_acknowledged = pipeline_acknowledged,
	        .on_trouble = pipeline_route_trouble,
	};
	engine->router = router_create(&router, &error);
	return engine->router || pipeline_failed(LOG_kafka_error, &error, CHILD_SERVICE_MISSING, out_status);
}

/* Joining begins here; from here on a stop leaves the group. */
static bool pipeline_open_source(struct pipeline *pipeline, int *out_status)
{
	struct engine *engine = &pipeline->engine;
	struct error error;
	const struct source_options source = {
	        .pipeline = engine->pipeline,
	        .properties = pipeline->consumer_properties,
	        .property_count = pipeline->consumer_source.count,
	        .lanes = engine->lanes,
	        .router = engine->router,
	        .metrics = engine->metrics,
	        .on_progress = pipeline_progress,
	        .on_progress_wait = pipeline_progress_wait,
	        .on_parked = engine->parking.is_on ? pipeline_parked : NULL,
	        .parking = &engine->parking,
	        .on_joined = pipeline_joined,
	        .self = pipeline,
	};
	PTHREAD_OK(pthread_mutex_lock(&pipeline->opening));
	pipeline->source = source_create(&source, &error);
	pipeline->is_open = pipeline->source != NULL;
	PTHREAD_OK(pthread_mutex_unlock(&pipeline->opening));
	return pipeline->source || pipeline_failed(LOG_kafka_error, &error, CHILD_SERVICE_MISSING, out_status);
}

static bool pipeline_open(struct pipeline *pipeline, const char *plugin_path, struct pg **out_side_pg, int *out_status)
{
	return pipeline_open_plugin(pipeline, plugin_path, out_status) &&
	       pipeline_open_database(pipeline, out_side_pg, out_status) &&
	       pipeline_open_blame(pipeline, *out_side_pg, out_status) &&
	       pipeline_open_envelope(pipeline, out_status) && pipeline_open_router(pipeline, out_status) &&
	       pipeline_open_source(pipeline, out_status);
}

static void pipeline_start_threads(struct pipeline *pipeline, struct pg *side_pg)
{
	size_t count = (size_t)pipeline->config.workers;
	pipeline->workers = calloc(count, sizeof(struct worker *));
	pipeline->watches = calloc(count, sizeof(struct watch *));
	ASSERT(pipeline->workers && pipeline->watches);
	for (size_t i = 0; i < count; i++) {
		pipeline->workers[i] = worker_create(&pipeline->engine, (uint32_t)i);
		pipeline->watches[i] = worker_watch(pipeline->workers[i]);
	}
	const struct side_answers answers = {
	        .on_written = pipeline_progress_written,
	        .on_parked = pipeline_parked_taken,
	        .on_indexed = pipeline_indexed,
	        .self = pipeline,
	};
	pipeline->side = side_start(&pipeline->engine, side_pg, &answers);
	pipeline->watchdog = watchdog_start(pipeline->watches, count, &pipeline->engine);
	for (size_t i = 0; i < count; i++)
		worker_start(pipeline->workers[i]);
}

/* ---- closing ---- */

static void pipeline_join(struct pipeline *pipeline)
{
	pipeline_request_stop();
	PTHREAD_OK(pthread_join(pipeline->stop_thread, NULL));
	for (size_t i = 0; i < (size_t)pipeline->config.workers; i++)
		worker_join(pipeline->workers[i]);
	side_stop(pipeline->side);
	pipeline->side = NULL;
	watchdog_stop(pipeline->watchdog);
}

static void pipeline_close(struct pipeline *pipeline)
{
	struct engine *engine = &pipeline->engine;
	plugin_stop(engine->plugin);
	plugin_destroy(engine->plugin);
	for (size_t i = 0; i < (size_t)pipeline->config.workers; i++)
		worker_destroy(pipeline->workers[i]);
	free(pipeline->workers);
	free(pipeline->watches);
	lanes_destroy(engine->lanes);
	source_destroy(pipeline->source);
	router_destroy(engine->router, 0);
	envelope_done(&engine->envelope);
	event_types_destroy(pipeline->types);
	attempts_destroy(engine->attempts);
	parked_statements_destroy(engine->parked);
	letters_destroy(engine->letters);
	dedup_close(engine->dedup);
	blame_close(engine->blame);
	solo_done(&engine->solo);
	gate_done(&engine->gate);
	free(pipeline->consumer_properties);
	free(pipeline->producer_properties);
	config_properties_done(&pipeline->consumer_source);
	config_properties_done(&pipeline->producer_source);
}

/* A handler may still run, and nothing can be taken from under it: its thread is nobody's, and the process ends without
 * destructors.  The log is written line by line, so nothing of it is lost. */
static _Noreturn void pipeline_abandon(struct pipeline *pipeline)
{
	pipeline_request_stop();
	PTHREAD_OK(pthread_join(pipeline->stop_thread, NULL));
	for (size_t i = 0; i < (size_t)pipeline->config.workers; i++)
		worker_detach(pipeline->workers[i]);
	_exit(CHILD_INTERNAL);
}

/* Everything is committed; only memory is left to give back, and librdkafka may hang over it. */
static int pipeline_finish(struct pipeline *pipeline, int status)
{
	blame_end(pipeline->engine.blame);
	if (status == CHILD_STOPPED)
		pipeline->say_stopped();
	watchdog_end_after(CLOSE_MS, status);
	pipeline_close(pipeline);
	log_write(LOG_stopped, "status %d", status);
	return status;
}

static void pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options)
{
	struct engine *engine = &pipeline->engine;
	pipeline->config = *options->pipeline;
	pipeline->say_stopped = options->say_stopped;
	engine->config = options->config;
	engine->pipeline = &pipeline->config;
	engine->metrics = options->metrics;
	engine->stop = pipeline_stop;
	engine->self = pipeline;
	engine->keeps_order =
	        pipeline->config.ordering != CONFIG_ORDERING_NONE && pipeline->config.retry.mode != CONFIG_RETRY_TOPICS;
	engine->lanes = lanes_create(pipeline->config.ordering);
	gate_init(&engine->gate, pipeline_database_changed, pipeline);
	PTHREAD_OK(pthread_mutex_init(&pipeline->opening, NULL));
	solo_init(&engine->solo);
}

int pipeline_run(const struct pipeline_options *options)
{
	static struct pipeline pipeline;
	struct pg *side_pg = NULL;
	struct error error;
	int status = CHILD_INTERNAL;
	stop_event_open();
	pipeline_init(&pipeline, options);
	PTHREAD_OK(pthread_create(&pipeline.stop_thread, NULL, stop_main, &pipeline));
	if (!pipeline_open(&pipeline, options->plugin_path, &side_pg, &status)) {
		pg_close(side_pg);
		return status; /* the process ends with everything else in it */
	}
	pipeline_start_threads(&pipeline, side_pg);
	log_write(LOG_started, "pipeline %s", pipeline.config.name);
	bool is_clean = source_run(pipeline.source, &error);
	metrics_set_ready(pipeline.engine.metrics, false, "stopping");
	if (!is_clean) {
		log_write(LOG_drain_overrun, "%s", error.text);
		blame_end(pipeline.engine.blame); /* a handler that still runs is not to blame */
		pipeline_abandon(&pipeline);
	}
	pipeline_join(&pipeline);
	return pipeline_finish(&pipeline, atomic_load(&pipeline.stop_status));
}
