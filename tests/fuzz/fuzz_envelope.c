/* A record: one byte of settings, headers as "name=value\n" lines, an empty line, the value.  Whatever comes, the event
 * is ready, ignored, or says why it is broken. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/event/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_HEADERS 16

static struct config_event config_of(uint8_t settings)
{
	static struct config_source ids[] = {{CONFIG_PLACE_PAYLOAD, "eventId"}, {CONFIG_PLACE_HEADER, "eventId"}};
	struct config_event config = {.ids = ids,
	                              .id_count = 2,
	                              .type = {settings & 1 ? CONFIG_PLACE_HEADER : CONFIG_PLACE_PAYLOAD, "eventType"},
	                              .key = settings & 2 ? "orderId" : NULL,
	                              .business_key = settings & 4 ? "{eventType}:{orderId}" : NULL,
	                              .id_version = settings & 8 ? CONFIG_ID_ANY : CONFIG_ID_V7,
	                              .max_bytes = 1 << 20,
	                              .max_depth = 32};

	config.tombstone = settings & 16   ? CONFIG_TOMBSTONE_DELIVER
	                   : settings & 32 ? CONFIG_TOMBSTONE_DLQ
	                                   : CONFIG_TOMBSTONE_SKIP;
	return config;
}

/* Moves *rest behind the headers. */
static size_t read_headers(struct bytes *rest, struct kafka_header *headers)
{
	size_t count = 0;

	while (rest->len && count < MAX_HEADERS) {
		const char *newline = memchr(rest->ptr, '\n', rest->len);
		size_t line = newline ? (size_t)(newline - rest->ptr) : rest->len;
		const char *equals = memchr(rest->ptr, '=', line);
		const char *start = rest->ptr;
		size_t taken = newline ? line + 1 : line;
		rest->ptr += taken;
		rest->len -= taken;
		if (line == 0)
			break;
		headers[count].name = (struct bytes){start, equals ? (size_t)(equals - start) : line};
		headers[count].value =
		        equals ? (struct bytes){equals + 1, (size_t)(start + line - equals - 1)} : BYTES_NONE;
		count++;
	}
	return count;
}

static void check_event(const struct event *event, const struct config_event *config)
{
	char text[UUID_TEXT_BYTES];

	ASSERT((event->state == EVENT_BROKEN) == (event->reason != NULL));
	ASSERT(!event->reason == !event->detail);
	ASSERT(event->state != EVENT_READY || event->has_id);
	ASSERT(event->state != EVENT_READY || event->document || !event->payload.ptr);
	ASSERT(event->state != EVENT_READY || event->type.len > 0);
	ASSERT(event->attempt >= 1 && event->origin_topic);
	ASSERT(event->has_id == (config->business_key ? event->business_key.ptr != NULL : event->has_uuid));
	ASSERT(event->has_uuid == (event->id_text.ptr != NULL));
	if (event->has_uuid) {
		uuid_to_text(&event->id, text);
		ASSERT(bytes_equal_string(event->id_text, text));
		ASSERT(config->id_version == CONFIG_ID_ANY || uuid_version(&event->id) == 7);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes rest = {(const char *)data + 1, size - 1};
	struct kafka_header headers[MAX_HEADERS];
	struct envelope envelope;
	struct error error;
	struct event event;
	struct arena arena;

	if (size == 0)
		return 0;
	struct config_event config = config_of(data[0]);
	struct kafka_record record = {.topic = "t", .offset = 1, .timestamp_ms = -1, .headers = headers};
	record.header_count = read_headers(&rest, headers);
	record.value = data[0] & 64 ? BYTES_NONE : rest;
	struct event_types *types = event_types_create(NULL, NULL, &error);
	ASSERT(types && envelope_init(&envelope, &config, "g", types, &error));
	arena_init(&arena, 4096);
	envelope_open(&envelope, &record, &arena, &event);
	check_event(&event, &config);
	arena_done(&arena);
	envelope_done(&envelope);
	event_types_destroy(types);
	return 0;
}
