#include "core/retry/outgoing.h"
#include "core/base/assert.h"
#include "core/base/clock.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OWN_MAX 16 /* at least as many as there are headers of ours */

static const char *const own_names[] = {
        HEADER_ATTEMPT,
        HEADER_ROUND,
        HEADER_DUE,
        HEADER_REASON,
        HEADER_ERROR,
        HEADER_ORIGIN_TOPIC,
        HEADER_ORIGIN_PARTITION,
        HEADER_ORIGIN_OFFSET,
        HEADER_ORIGIN_TIMESTAMP,
        HEADER_GROUP,
        HEADER_PAYLOAD,
        HEADER_PLUGIN,
        HEADER_PLUGIN_VERSION,
};

static bool is_own(struct bytes name)
{
	for (size_t i = 0; i < sizeof(own_names) / sizeof(own_names[0]); i++)
		if (bytes_equal_string(name, own_names[i]))
			return true;
	return false;
}

/* The headers of the new record, in its arena. */
struct header_list {
	struct arena *arena;
	struct kafka_header *items;
	size_t count;
};

static void add(struct header_list *list, const char *name, struct bytes value)
{
	list->items[list->count++] = (struct kafka_header){bytes_from_string(name), arena_copy(list->arena, value)};
}

static void add_number(struct header_list *list, const char *name, int64_t value)
{
	char *text = arena_printf(list->arena, "%" PRId64, value);
	list->items[list->count++] = (struct kafka_header){bytes_from_string(name), bytes_from_string(text)};
}

static void add_originals(struct header_list *list, const struct kafka_record *record)
{
	for (size_t i = 0; i < record->header_count; i++) {
		const struct kafka_header *header = &record->headers[i];
		if (!is_own(header->name))
			list->items[list->count++] = (struct kafka_header){arena_copy(list->arena, header->name),
			                                                   arena_copy(list->arena, header->value)};
	}
}

struct bytes outgoing_cut(struct bytes text, size_t max)
{
	if (text.len <= max)
		return text;
	while (max > 0 && ((unsigned char)text.ptr[max] & 0xC0) == 0x80)
		max--;
	return (struct bytes){text.ptr, max};
}

static void add_origin(struct header_list *list, const struct event *event)
{
	add(list, HEADER_ORIGIN_TOPIC, bytes_from_string(event->origin_topic));
	add_number(list, HEADER_ORIGIN_PARTITION, event->origin_partition);
	add_number(list, HEADER_ORIGIN_OFFSET, event->origin_offset);
	add_number(list, HEADER_ORIGIN_TIMESTAMP, event->origin_timestamp_ms);
}

static int64_t delay_ms(const struct config_retry *retry, uint32_t attempt)
{
	size_t tier = attempt > 0 ? attempt - 1 : 0;
	ASSERT(retry->delays.count > 0);
	return retry->delays.ms[tier < retry->delays.count ? tier : retry->delays.count - 1];
}

static void add_own(struct header_list *list, const struct router_options *options, const struct event *event,
                    enum route route, const char *reason)
{
	add_number(list, HEADER_ATTEMPT, route == ROUTE_RETRY ? (int64_t)event->attempt + 1 : (int64_t)event->attempt);
	if (event->round > 0)
		add_number(list, HEADER_ROUND, event->round);
	if (route == ROUTE_RETRY)
		add_number(list, HEADER_DUE, clock_shared_ms() + delay_ms(&options->pipeline->retry, event->attempt));
	add_origin(list, event);
	add(list, HEADER_GROUP, bytes_from_string(options->pipeline->name));
	add(list, HEADER_PLUGIN, bytes_from_string(options->plugin_name));
	add(list, HEADER_PLUGIN_VERSION, bytes_from_string(options->plugin_version));
	add(list, HEADER_REASON, outgoing_cut(bytes_from_string(reason), OUTGOING_REASON_MAX));
}

/* What the copy will take, so that the arena is one block. */
static size_t estimate(const struct kafka_record *record)
{
	size_t bytes = 2048 + OUTGOING_ERROR_MAX + record->key.len + record->value.len +
	               (record->header_count + OWN_MAX) * sizeof(struct kafka_header);
	for (size_t i = 0; i < record->header_count; i++)
		bytes += record->headers[i].name.len + record->headers[i].value.len + 64;
	return bytes;
}

/* With the headers that are not ours, and room for those that are. */
static struct outgoing *begin(const struct event *event, struct header_list *out_list)
{
	struct outgoing *outgoing = calloc(1, sizeof(*outgoing));
	ASSERT(outgoing);
	struct arena *arena = &outgoing->arena;
	arena_init(arena, estimate(&event->record));
	size_t max = event->record.header_count + OWN_MAX;
	*out_list = (struct header_list){arena, arena_alloc(arena, max * sizeof(struct kafka_header)), 0};
	add_originals(out_list, &event->record);
	return outgoing;
}

static void finish(struct outgoing *outgoing, const char *topic, const struct event *event,
                   const struct header_list *list)
{
	outgoing->record = (struct kafka_record){
	        .topic = topic,
	        .partition = -1,
	        /* Now: under an old timestamp the broker's retention would take it at once, and one an hour ahead it
	         * refuses, so the host's own clock is not asked. */
	        .timestamp_ms = clock_shared_ms(),
	        .key = arena_copy(&outgoing->arena, event->record.key),
	        .value = arena_copy(&outgoing->arena, event->record.value),
	        .headers = list->items,
	        .header_count = list->count,
	};
}

struct outgoing *outgoing_create(const struct router_options *options, const char *topic, const struct event *event,
                                 enum route route, const char *reason, struct bytes error_text)
{
	struct header_list list;
	struct outgoing *outgoing = begin(event, &list);
	outgoing->route = route;
	add_own(&list, options, event, route, reason);
	if (error_text.ptr) {
		add(&list, HEADER_ERROR, outgoing_cut(error_text, OUTGOING_ERROR_MAX));
		outgoing->has_error_header = true;
	}
	if (route == ROUTE_DEAD)
		outgoing->letter = letter_of_event(event, bytes_from_string(reason), error_text, &outgoing->arena);
	finish(outgoing, topic, event, &list);
	return outgoing;
}

struct outgoing *outgoing_create_replay(const char *group, const char *topic, const struct event *event)
{
	struct header_list list;
	struct outgoing *outgoing = begin(event, &list);
	add_number(&list, HEADER_ATTEMPT, 1);
	add_number(&list, HEADER_ROUND, (int64_t)event->round + 1);
	add_origin(&list, event);
	add(&list, HEADER_GROUP, bytes_from_string(group));
	finish(outgoing, topic, event, &list);
	return outgoing;
}

/* In place of the error's header, or where it would stand. */
static void point_to_index(struct outgoing *outgoing)
{
	struct kafka_record *record = &outgoing->record;
	struct kafka_header *headers = arena_alloc(&outgoing->arena, (record->header_count + 1) * sizeof(*headers));
	memcpy(headers, record->headers, record->header_count * sizeof(*headers));
	headers[record->header_count++] =
	        (struct kafka_header){bytes_from_string(HEADER_PAYLOAD), BYTES_LITERAL("database")};
	record->headers = headers;
	outgoing->letter.payload = record->value;
	record->value = BYTES_NONE;
}

bool outgoing_shrink(struct outgoing *outgoing)
{
	if (outgoing->has_error_header) {
		outgoing->has_error_header = false;
		outgoing->record.header_count--;
		return true;
	}
	if (outgoing->route != ROUTE_DEAD || outgoing->record.value.len == 0)
		return false;
	point_to_index(outgoing);
	return true;
}

void outgoing_destroy(struct outgoing *outgoing)
{
	if (!outgoing)
		return;
	arena_done(&outgoing->arena);
	free(outgoing);
}
