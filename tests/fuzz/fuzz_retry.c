/* A record as parked_event keeps it, which is then read, sent to a retry topic, to the DLQ and as a replay, and read
 * again: headers of ours are taken for what they say only if they can be, stand once in what is sent, and say the same
 * when they come back; the others, key and value are not touched. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/event/event.h"
#include "core/retry/outgoing.h"
#include "core/retry/parked_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GROUP "g"
#define OWN_BYTES_MAX 2048 /* doc/operator-guide.md: what the headers of ours take, at most */

static struct envelope envelope;
static struct router_options options;

static void set_up(void)
{
	static struct config_source id = {CONFIG_PLACE_HEADER, "eventId"};
	static struct config_event event = {.ids = &id,
	                                    .id_count = 1,
	                                    .type = {CONFIG_PLACE_HEADER, "eventType"},
	                                    .id_version = CONFIG_ID_ANY,
	                                    .max_bytes = 1 << 20,
	                                    .max_depth = 32};
	static int64_t delays_ms[] = {1000, 5000};
	static struct config_pipeline pipeline = {.name = GROUP, .dlq_topic = GROUP ".dlq"};
	struct error error;
	struct event_types *types = event_types_create(NULL, NULL, &error);

	pipeline.retry.delays = (struct config_durations){delays_ms, 2};
	options = (struct router_options){.pipeline = &pipeline, .plugin_name = "p", .plugin_version = "1"};
	ASSERT(types && envelope_init(&envelope, &event, GROUP, types, &error));
}

static bool is_own(struct bytes name)
{
	return name.len > 2 &&
	       (bytes_equal_string(name, HEADER_ATTEMPT) || bytes_equal_string(name, HEADER_ROUND) ||
	        bytes_equal_string(name, HEADER_DUE) || bytes_equal_string(name, HEADER_REASON) ||
	        bytes_equal_string(name, HEADER_ERROR) || bytes_equal_string(name, HEADER_GROUP) ||
	        bytes_equal_string(name, HEADER_ORIGIN_TOPIC) || bytes_equal_string(name, HEADER_ORIGIN_PARTITION) ||
	        bytes_equal_string(name, HEADER_ORIGIN_OFFSET) || bytes_equal_string(name, HEADER_ORIGIN_TIMESTAMP) ||
	        bytes_equal_string(name, HEADER_PLUGIN) || bytes_equal_string(name, HEADER_PLUGIN_VERSION));
}

static void check_same(struct bytes a, struct bytes b)
{
	ASSERT(!a.ptr == !b.ptr && bytes_equal(a, b));
}

/* The others in their order; ours once each, and no larger than documented. */
static void check_headers(const struct kafka_record *sent, const struct kafka_record *original)
{
	size_t at = 0, own_bytes = 0;

	for (size_t i = 0; i < original->header_count; i++) {
		if (is_own(original->headers[i].name))
			continue;
		ASSERT(at < sent->header_count);
		check_same(sent->headers[at].name, original->headers[i].name);
		check_same(sent->headers[at++].value, original->headers[i].value);
	}
	for (size_t i = at; i < sent->header_count; i++) {
		ASSERT(is_own(sent->headers[i].name) && sent->headers[i].value.ptr);
		own_bytes += sent->headers[i].name.len + sent->headers[i].value.len;
		for (size_t j = i + 1; j < sent->header_count; j++)
			ASSERT(!bytes_equal(sent->headers[i].name, sent->headers[j].name));
	}
	ASSERT(own_bytes <= OWN_BYTES_MAX);
	check_same(sent->key, original->key);
	check_same(sent->value, original->value);
}

static void check_comes_back(const struct outgoing *outgoing, const struct event *before, uint32_t attempt,
                             uint32_t round, struct arena *arena)
{
	struct event after;

	check_headers(&outgoing->record, &before->record);
	envelope_open(&envelope, &outgoing->record, arena, &after);
	ASSERT(after.attempt == attempt && after.round == round && after.state == before->state);
	ASSERT(strcmp(after.origin_topic, before->origin_topic) == 0);
	ASSERT(after.origin_partition == before->origin_partition && after.origin_offset == before->origin_offset);
	/* Below 0 there is no time. */
	ASSERT(after.origin_timestamp_ms == (before->origin_timestamp_ms < 0 ? -1 : before->origin_timestamp_ms));
	check_same(after.id_text, before->id_text);
}

static void check_routes(const struct event *event, struct arena *arena)
{
	struct bytes text = event->payload.ptr ? event->payload : BYTES_LITERAL("why");
	struct outgoing *sent;

	if (event->attempt < INT32_MAX) { /* the last attempt is far below */
		sent = outgoing_create(&options, GROUP ".retry.1s", event, ROUTE_RETRY, "handler_retry", text);
		check_comes_back(sent, event, event->attempt + 1, event->round, arena);
		outgoing_destroy(sent);
	}
	sent = outgoing_create(&options, GROUP ".dlq", event, ROUTE_DEAD, "rejected", text);
	check_comes_back(sent, event, event->attempt, event->round, arena);
	ASSERT(outgoing_shrink(sent)); /* the header that is only for people goes first */
	check_comes_back(sent, event, event->attempt, event->round, arena);
	outgoing_destroy(sent);
	if (event->round < INT32_MAX) {
		sent = outgoing_create_replay(GROUP, GROUP ".retry.replay", event);
		check_comes_back(sent, event, 1, event->round + 1, arena);
		outgoing_destroy(sent);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes packed = {(const char *)data, size};
	struct kafka_record record;
	struct event event;
	struct arena arena;

	if (!envelope.config)
		set_up();
	arena_init(&arena, 4096);
	if (parked_record_unpack(packed, &arena, &record)) {
		check_same(parked_record_pack(&arena, &record), packed);
		record.topic = "t";
		record.partition = 3;
		record.offset = 4711;
		envelope_open(&envelope, &record, &arena, &event);
		ASSERT(event.attempt >= 1 && event.attempt <= INT32_MAX && event.round <= INT32_MAX &&
		       event.due_ms >= 0);
		check_routes(&event, &arena);
	}
	arena_done(&arena);
	return 0;
}
