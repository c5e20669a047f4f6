#include "core/pipeline/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/source_parts.h"

enum {
	FIRST_AVERAGE_BYTES = 16384, /* of a record, before the first one is seen */
	GIVE_UP_PART = 10            /* the part of drain_max in which handlers are told to give up */
};

/* ---- create ---- */

static void reset(void *self, const char *topic, int32_t partition, const char *text)
{
	struct source *source = self;
	metrics_add(source->options.metrics, METRIC_offset_resets, 1);
	log_write(LOG_offset_reset, "topic %s, partition %d: %s", topic, partition, text);
}

/* Only the first fatal one counts: what follows comes of it. */
static void fail(struct source *source, const char *text)
{
	if (source->failed)
		return;
	source->failed = true;
	if (source->instance_id)
		error_set(&source->error, ERROR_KAFKA, "kafka client with group.instance.id %s: %s",
		          source->instance_id, text);
	else
		error_set(&source->error, ERROR_KAFKA, "kafka client: %s", text);
	source->error.fatal = true;
	metrics_set_ready(source->options.metrics, false, source->error.text);
	log_write(LOG_kafka_fatal, "%s", source->error.text);
}

static void kafka_error(void *self, rd_kafka_resp_err_t code, const char *text, bool fatal)
{
	struct source *source = self;
	bool no_retry_topic = code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && strstr(text, source->retry_topics);
	if (fatal)
		fail(source, text);
	else if (!no_retry_topic)
		log_write_limited(LOG_kafka_error, "%s", text);
}

static const char *find_property(const struct source_options *options, const char *name)
{
	const char *value = NULL;
	for (size_t i = 0; i < options->property_count; i++)
		if (strcmp(options->properties[i].name, name) == 0)
			value = options->properties[i].value;
	return value;
}

/* What librdkafka fetches ahead comes on top of queue.max_bytes and may be half of it; the user's own setting wins. */
static bool create_consumer(struct source *source, const struct source_options *options, struct error *error)
{
	char kbytes[32];
	int64_t limit = options->pipeline->queue.max_bytes / 2 / 1024;
	snprintf(kbytes, sizeof(kbytes), "%lld", (long long)(limit < 1024 ? 1024 : limit > 65536 ? 65536 : limit));
	struct kafka_property *properties = calloc(options->property_count + 1, sizeof(*properties));
	ASSERT(properties);
	properties[0] = (struct kafka_property){"queued.max.messages.kbytes", kbytes};
	for (size_t i = 0; i < options->property_count; i++)
		properties[i + 1] = options->properties[i];
	struct kafka_consumer_options consumer_options = {
	        .properties = properties,
	        .property_count = options->property_count + 1,
	        .group = options->pipeline->name,
	        .start_latest = options->pipeline->start == CONFIG_START_LATEST,
	        .self = source,
	        .on_assign = source_assigned,
	        .on_revoke = source_revoked,
	        .on_statistics = source_statistics,
	        .on_error = kafka_error,
	        .on_committed = source_committed,
	        .on_reset = reset,
	};
	source->consumer = kafka_consumer_create(&consumer_options, error);
	free(properties);
	return source->consumer;
}

/* "^<group>\.retry\.": the group's name taken literally. */
static char *retry_expression(const char *group)
{
	char *text = malloc(2 * strlen(group) + sizeof("^\\.retry\\."));
	ASSERT(text);
	char *end = text;
	*end++ = '^';
	for (; *group; group++) {
		if (strchr(".[]{}()*+?^$|\\", *group))
			*end++ = '\\';
		*end++ = *group;
	}
	memcpy(end, "\\.retry\\.", sizeof("\\.retry\\."));
	return text;
}

/* Beside its topics every retry topic of the group: those that are not configured any more may still hold records. */
static bool subscribe(struct source *source, struct error *error)
{
	const struct config_strings *topics = &source->options.pipeline->topics;
	const char **names = arena_alloc(&source->scratch, (topics->count + 1) * sizeof(*names));
	for (size_t i = 0; i < topics->count; i++)
		names[i] = topics->items[i];
	names[topics->count] = source->retry_topics;
	bool subscribed = kafka_consumer_subscribe(source->consumer, names, topics->count + 1, error);
	arena_reset(&source->scratch);
	return subscribed;
}

struct source *source_create(const struct source_options *options, struct error *error)
{
	struct source *source = calloc(1, sizeof(*source));
	ASSERT(source);
	source->options = *options;
	source->options.properties = NULL;
	source->options.property_count = 0;
	arena_init(&source->scratch, 64 * 1024);
	const char *instance_id = find_property(options, "group.instance.id");
	source->instance_id = instance_id ? strdup(instance_id) : NULL;
	source->retry_topics = retry_expression(options->pipeline->name);
	source->average_bytes = FIRST_AVERAGE_BYTES;
	ASSERT(asprintf(&source->retry_prefix, "%s.retry.", options->pipeline->name) > 0);
	if (create_consumer(source, options, error) && subscribe(source, error))
		return source;
	source_destroy(source);
	return NULL;
}

/* ---- run ---- */

static int poll_timeout_ms(const struct source *source)
{
	int64_t timeout_ms = SOURCE_POLL_MS;
	if (source->item_count > 0 || router_pending(source->options.router) > 0 || source_is_releasing(source))
		timeout_ms = SOURCE_POLL_BUSY_MS;
	if (source->next_due_ms > 0 && source->next_due_ms - clock_shared_ms() < timeout_ms)
		timeout_ms = source->next_due_ms - clock_shared_ms();
	return timeout_ms < 0 ? 0 : (int)timeout_ms;
}

static void turn(struct source *source)
{
	size_t count = kafka_consumer_poll(source->consumer, poll_timeout_ms(source), source->messages,
	                                   source_poll_room(source));
	source_push(source, count);
	source_parked_step(source);
	source_pause_step(source);
	router_poll(source->options.router, 0);
	source_commit_step(source);
	source_measure(source);
}

static bool is_work_in_flight(struct source *source)
{
	return lanes_taken(source->options.lanes) > 0 || router_pending(source->options.router) > 0;
}

/* The rest of the time is for handlers that look: what they give up is undone in good order, and the end is clean. */
static void give_up(struct source *source)
{
	for (size_t i = 0; i < source->count; i++)
		partition_give_up(source->partitions[i].tracker);
}

/* What was begun is finished and committed; what waits in the lanes is left to the next owner.  Polling goes on, so
 * that the group does not throw this member out meanwhile. */
static bool leave(struct source *source)
{
	source->leaving = true;
	source->leave_by_ms = clock_monotonic_ms() + (source->failed ? 0 : source->options.pipeline->drain_max_ms);
	lanes_close(source->options.lanes);
	int64_t give_up_ms = source->leave_by_ms - source->options.pipeline->drain_max_ms / GIVE_UP_PART, now_ms;
	while (!source->failed && is_work_in_flight(source) && (now_ms = clock_monotonic_ms()) < source->leave_by_ms) {
		if (now_ms >= give_up_ms)
			give_up(source);
		turn(source);
	}
	if (is_work_in_flight(source)) {
		source->left_behind = true;
		log_write(LOG_drain_overrun,
		          "%zu records are still worked on and %zu not acknowledged; they will come again",
		          lanes_taken(source->options.lanes), router_pending(source->options.router));
	}
	kafka_consumer_close(source->consumer);
	source_measure(source);
	return !source->left_behind;
}

bool source_run(struct source *source, struct error *error)
{
	source->last_progress_ms = clock_monotonic_ms();
	while (!atomic_load_explicit(&source->stopping, memory_order_acquire) && !source->failed)
		turn(source);
	bool all_committed = leave(source);
	if (source->failed) {
		if (error)
			*error = source->error;
		return false;
	}
	return all_committed ||
	       error_set(error, ERROR_TIMEOUT, "not everything that was begun could be committed in time");
}

void source_stop(struct source *source)
{
	atomic_store_explicit(&source->stopping, true, memory_order_release);
	kafka_consumer_wake(source->consumer);
}

void source_set_paused(struct source *source, bool paused)
{
	atomic_store_explicit(&source->paused, paused, memory_order_release);
	kafka_consumer_wake(source->consumer);
}

void source_destroy(struct source *source)
{
	if (!source)
		return;
	source_group_check_done(source);
	source_commit_done(source);
	source_parked_done(source);
	source_partitions_done(source);
	kafka_consumer_destroy(source->consumer);
	arena_done(&source->scratch);
	free(source->retry_prefix);
	free(source->retry_topics);
	free(source->instance_id);
	free(source);
}
