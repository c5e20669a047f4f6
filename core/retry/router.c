#include "core/retry/router.h"
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/kafka/admin.h"
#include "core/retry/outgoing.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY_INTERVAL_MS 1000
#define START_TIMEOUT_MS 30000
#define RETENTION_DELAYS 10                      /* a retry topic keeps records this many times its delay, … */
#define RETENTION_MIN_MS (INT64_C(7) * 86400000) /* … and as long as a broker keeps the source topic by default */
#define HEADER_ROOM_BYTES 65536
#define MESSAGE_MIN_BYTES (INT64_C(16) << 20) /* the source's limit is on compressed batches */
#define TOPIC_NAME_BYTES 250

struct queue { /* records that wait for another try, in order of due_ms */
	struct outgoing *first, **tail;
};

struct router {
	struct router_options options; /* without the properties */
	struct kafka_producer *producer;
	char (*retry_topics)[TOPIC_NAME_BYTES]; /* one per delay; none unless retry.mode is topics */
	size_t tier_count;
	_Atomic size_t pending;
	bool closing;           /* what fails now was not tried [poll] */
	struct outgoing *alone; /* of kept_alone, in flight [poll] */
	pthread_mutex_t lock;   /* of the queues */
	struct queue kept, kept_alone;
};

void router_retry_topic(const struct config_pipeline *pipeline, size_t tier, char *out, size_t size)
{
	char delay[32];
	ASSERT(tier < pipeline->retry.delays.count);
	config_duration_text(pipeline->retry.delays.ms[tier], delay, sizeof(delay));
	snprintf(out, size, "%s.retry.%s", pipeline->name, delay);
}

static void keep(struct router *router, struct outgoing *outgoing)
{
	struct queue *queue = outgoing->alone ? &router->kept_alone : &router->kept;
	outgoing->due_ms = clock_monotonic_ms() + TRY_INTERVAL_MS;
	outgoing->next = NULL;
	PTHREAD_OK(pthread_mutex_lock(&router->lock));
	*queue->tail = outgoing;
	queue->tail = &outgoing->next;
	PTHREAD_OK(pthread_mutex_unlock(&router->lock));
}

/* The broker refuses a whole batch for one record in it that is too large: each of them goes again alone.  What is then
 * still too large goes without the text for people; then, of a dead letter, a record that points to its row of the
 * index, which has the value; if that doesn't help, it waits for somebody who raises max.message.bytes. */
static void failed(struct router *router, struct outgoing *outgoing, const struct error *error)
{
	if (!router->closing)
		router->options.on_trouble(router->options.self, outgoing->opaque, error);
	if (error->code == ERROR_LIMIT && outgoing->alone)
		(void)outgoing_shrink(outgoing);
	if (error->code == ERROR_LIMIT)
		outgoing->alone = true;
	keep(router, outgoing);
}

static void try_send(struct router *router, struct outgoing *outgoing)
{
	struct error error;
	if (!kafka_producer_send(router->producer, &outgoing->record, outgoing, &error))
		failed(router, outgoing, &error);
}

static void delivered(void *self, void *opaque, const struct kafka_place *place, const struct error *error)
{
	struct router *router = self;
	struct outgoing *outgoing = opaque;
	if (outgoing == router->alone)
		router->alone = NULL;
	if (!place) {
		failed(router, outgoing, error);
		return;
	}
	outgoing->letter.partition = place->partition;
	outgoing->letter.offset = place->offset;
	outgoing->letter.died_ms = place->timestamp_ms;
	router->options.on_acknowledged(router->options.self, outgoing->opaque, outgoing->route,
	                                outgoing->route == ROUTE_DEAD ? &outgoing->letter : NULL);
	outgoing_destroy(outgoing);
}

void router_settle(struct router *router, size_t count)
{
	atomic_fetch_sub(&router->pending, count);
}

void router_replay_topic(const struct config_pipeline *pipeline, char *out, size_t size)
{
	snprintf(out, size, "%s.retry.replay", pipeline->name);
}

/* Larger than any record of the sources, by the headers of ours. */
static int64_t max_message_bytes(const struct kafka_topics_size *sources)
{
	int64_t bytes = sources->max_message_bytes + HEADER_ROOM_BYTES;
	return bytes > MESSAGE_MIN_BYTES ? bytes : MESSAGE_MIN_BYTES;
}

static void fill_specs(const struct router *router, const struct kafka_topics_size *sources, const char *replay_topic,
                       struct kafka_topic_spec *out_specs)
{
	const struct config_pipeline *pipeline = router->options.pipeline;
	struct kafka_topic_spec spec = {
	        .partitions = sources->partitions > 0 ? sources->partitions : 1,
	        .max_message_bytes = max_message_bytes(sources),
	};
	for (size_t i = 0; i < router->tier_count; i++) {
		int64_t retention_ms = pipeline->retry.delays.ms[i] * RETENTION_DELAYS;
		spec.name = router->retry_topics[i];
		spec.retention_least_ms = pipeline->retry.delays.ms[i];
		spec.retention_ms = retention_ms > RETENTION_MIN_MS ? retention_ms : RETENTION_MIN_MS;
		*out_specs++ = spec;
	}
	spec.name = pipeline->dlq_topic;
	spec.retention_ms = -1;
	spec.retention_least_ms = 0;
	*out_specs++ = spec;
	/* One partition: it is rarely used, lies in the group of every pipeline, and keeps the order of what is
	 * replayed. */
	spec.name = replay_topic;
	spec.partitions = 1;
	spec.retention_ms = RETENTION_MIN_MS; /* the DLQ still has what somebody fetches too late */
	*out_specs = spec;
}

static bool ensure_topics(struct router *router, const struct router_options *options, struct error *error)
{
	struct kafka_topics_size size;
	char replay_topic[TOPIC_NAME_BYTES];
	if (!kafka_topics_measure(options->properties, options->property_count, &options->pipeline->topics,
	                          START_TIMEOUT_MS, &size, error))
		return false;
	if (size.missing)
		log_write(LOG_topic_missing, "topic %s does not exist; it is consumed once it does", size.missing);
	size_t count = router->tier_count + 2;
	struct kafka_topic_spec *specs = calloc(count, sizeof(*specs));
	ASSERT(specs);
	router_replay_topic(options->pipeline, replay_topic, sizeof(replay_topic));
	fill_specs(router, &size, replay_topic, specs);
	bool ok = kafka_topics_ensure(options->properties, options->property_count, specs, count, START_TIMEOUT_MS,
	                              error);
	free(specs);
	return ok;
}

static void name_retry_topics(struct router *router)
{
	const struct config_retry *retry = &router->options.pipeline->retry;
	router->tier_count = retry->mode == CONFIG_RETRY_TOPICS ? retry->delays.count : 0;
	router->retry_topics = calloc(router->tier_count + 1, sizeof(*router->retry_topics));
	ASSERT(router->retry_topics);
	for (size_t i = 0; i < router->tier_count; i++)
		router_retry_topic(router->options.pipeline, i, router->retry_topics[i], TOPIC_NAME_BYTES);
}

static void router_free(struct router *router)
{
	PTHREAD_OK(pthread_mutex_destroy(&router->lock));
	free(router->retry_topics);
	free(router);
}

struct router *router_create(const struct router_options *options, struct error *error)
{
	struct router *router = calloc(1, sizeof(*router));
	ASSERT(router);
	router->options = *options;
	router->options.properties = NULL;
	router->options.property_count = 0;
	router->kept.tail = &router->kept.first;
	router->kept_alone.tail = &router->kept_alone.first;
	PTHREAD_OK(pthread_mutex_init(&router->lock, NULL));
	name_retry_topics(router);
	struct kafka_producer_options producer = {
	        .properties = options->properties,
	        .property_count = options->property_count,
	        .self = router,
	        .on_delivered = delivered,
	};
	if (!ensure_topics(router, options, error) || !(router->producer = kafka_producer_create(&producer, error))) {
		router_free(router);
		return NULL;
	}
	return router;
}

static const char *topic_of(const struct router *router, const struct event *event, enum route route)
{
	if (route == ROUTE_DEAD)
		return router->options.pipeline->dlq_topic;
	ASSERT(event->attempt > 0 && event->attempt <= router->tier_count);
	return router->retry_topics[event->attempt - 1];
}

void router_send(struct router *router, const struct event *event, enum route route, const char *reason,
                 struct bytes error_text, void *opaque)
{
	struct outgoing *outgoing =
	        outgoing_create(&router->options, topic_of(router, event, route), event, route, reason, error_text);
	outgoing->opaque = opaque;
	atomic_fetch_add(&router->pending, 1);
	try_send(router, outgoing);
}

/* Takes out those whose time has come, at most max of them, as a list. */
static struct outgoing *take_due(struct router *router, struct queue *queue, size_t max)
{
	int64_t now_ms = clock_monotonic_ms();
	PTHREAD_OK(pthread_mutex_lock(&router->lock));
	struct outgoing *due = queue->first, **end = &queue->first;
	for (; max > 0 && *end && (*end)->due_ms <= now_ms; max--)
		end = &(*end)->next;
	if (end == &queue->first) {
		due = NULL;
	} else {
		queue->first = *end;
		*end = NULL;
		if (!queue->first)
			queue->tail = &queue->first;
	}
	PTHREAD_OK(pthread_mutex_unlock(&router->lock));
	return due;
}

static void try_alone(struct router *router)
{
	if (router->alone)
		return;
	struct outgoing *outgoing = take_due(router, &router->kept_alone, 1);
	if (!outgoing)
		return;
	struct error error;
	if (kafka_producer_send(router->producer, &outgoing->record, outgoing, &error))
		router->alone = outgoing;
	else
		failed(router, outgoing, &error);
}

void router_poll(struct router *router, int timeout_ms)
{
	kafka_producer_poll(router->producer, timeout_ms);
	struct outgoing *due = take_due(router, &router->kept, SIZE_MAX);
	while (due) {
		struct outgoing *outgoing = due;
		due = due->next;
		try_send(router, outgoing);
	}
	try_alone(router);
}

size_t router_pending(struct router *router)
{
	return atomic_load(&router->pending);
}

static void destroy_all(struct outgoing *outgoing)
{
	while (outgoing) {
		struct outgoing *next = outgoing->next;
		outgoing_destroy(outgoing);
		outgoing = next;
	}
}

void router_destroy(struct router *router, int timeout_ms)
{
	if (!router)
		return;
	int64_t deadline_ms = clock_monotonic_ms() + timeout_ms, left_ms;
	while (router_pending(router) > 0 && (left_ms = deadline_ms - clock_monotonic_ms()) > 0)
		router_poll(router, left_ms < 100 ? (int)left_ms : 100);
	router->closing = true;
	kafka_producer_destroy(router->producer, 0); /* what is in flight is reported and kept */
	destroy_all(router->kept.first);
	destroy_all(router->kept_alone.first);
	router_free(router);
}
