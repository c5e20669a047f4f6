#include "core/retry/replay.h"
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/kafka/admin.h"
#include "core/kafka/producer.h"
#include "core/retry/outgoing.h"
#include "core/retry/router.h"
#include <stdlib.h>

#define IN_FLIGHT_MAX 1000
#define START_TIMEOUT_MS 10000
#define FINISH_TIMEOUT_MS 60000 /* message.timeout.ms ends it before, unless it was raised */

struct replay {
	struct replay_options options; /* without the properties */
	char topic[256];
	struct kafka_producer *producer;
	struct replay_count count;
	int64_t begun_us;
	size_t sent;
};

/* What the delivery report gets. */
struct place {
	int32_t partition;
	int64_t offset;
};

static void failed(struct replay *replay, const struct place *place, const struct error *error)
{
	replay->count.failed++;
	replay->options.on_failed(replay->options.self, place->partition, place->offset, error);
}

static void delivered(void *self, void *opaque, const struct kafka_place *sent, const struct error *error)
{
	struct replay *replay = self;
	struct place *place = opaque;
	if (sent) {
		replay->count.done++;
		replay->options.on_done(replay->options.self, place->partition, place->offset);
	} else {
		failed(replay, place, error);
	}
	free(place);
}

static bool find_topic(const struct replay *replay, const struct replay_options *options, struct error *error)
{
	const char *topic = replay->topic;
	struct kafka_topics_size size;
	if (!kafka_topics_measure(options->properties, options->property_count, &(struct config_strings){&topic, 1},
	                          START_TIMEOUT_MS, &size, error))
		return false;
	return size.partitions > 0 ||
	       error_set(error, ERROR_NOT_FOUND,
	                 "topic %s does not exist: idemd makes it when it starts, or create it with one partition",
	                 topic);
}

/* One record a request: brokers refuse whole batches, and one that is too large would take its neighbours down. */
static struct kafka_producer *create_producer(struct replay *replay, const struct replay_options *options,
                                              struct error *error)
{
	size_t count = options->property_count;
	struct kafka_property *properties = calloc(count + 1, sizeof(*properties));
	ASSERT(properties);
	for (size_t i = 0; i < count; i++)
		properties[i] = options->properties[i];
	properties[count] = (struct kafka_property){"batch.num.messages", "1"};
	const struct kafka_producer_options producer = {
	        .properties = properties,
	        .property_count = count + 1,
	        .self = replay,
	        .on_delivered = delivered,
	};
	struct kafka_producer *created = kafka_producer_create(&producer, error);
	free(properties);
	return created;
}

struct replay *replay_create(const struct replay_options *options, struct error *error)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	ASSERT(replay);
	replay->options = *options;
	replay->options.properties = NULL;
	replay->options.property_count = 0;
	router_replay_topic(options->pipeline, replay->topic, sizeof(replay->topic));
	if (find_topic(replay, options, error))
		replay->producer = create_producer(replay, options, error);
	if (!replay->producer) {
		free(replay);
		return NULL;
	}
	replay->begun_us = clock_monotonic_us();
	return replay;
}

/* Until the n-th's turn, at n/rate after the beginning; 0: it has come. */
static int left_ms(const struct replay *replay)
{
	int64_t rate = replay->options.per_second;
	if (rate == 0)
		return 0;
	int64_t left_us = replay->begun_us + (int64_t)replay->sent * 1000000 / rate - clock_monotonic_us();
	return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

static void wait_for_turn(struct replay *replay)
{
	int wait_ms;
	kafka_producer_poll(replay->producer, 0);
	while (kafka_producer_in_flight(replay->producer) >= IN_FLIGHT_MAX)
		kafka_producer_poll(replay->producer, 100);
	while ((wait_ms = left_ms(replay)) > 0)
		kafka_producer_poll(replay->producer, wait_ms);
}

void replay_send(struct replay *replay, const struct dead_letter *letter)
{
	const struct event *event = letter->event;
	struct outgoing *outgoing = outgoing_create_replay(replay->options.pipeline->name, replay->topic, event);
	struct place *place = malloc(sizeof(*place));
	struct error error;
	ASSERT(place);
	*place = (struct place){event->record.partition, event->record.offset};
	wait_for_turn(replay);
	replay->sent++;
	if (!kafka_producer_send(replay->producer, &outgoing->record, place, &error)) {
		failed(replay, place, &error);
		free(place);
	}
	outgoing_destroy(outgoing);
}

struct replay_count replay_finish(struct replay *replay)
{
	int64_t deadline_ms = clock_monotonic_ms() + FINISH_TIMEOUT_MS;
	while (kafka_producer_in_flight(replay->producer) > 0 && clock_monotonic_ms() < deadline_ms)
		kafka_producer_poll(replay->producer, 100);
	kafka_producer_destroy(replay->producer, 0); /* what is left is told as failed */
	struct replay_count count = replay->count;
	free(replay);
	return count;
}
