#include <stdlib.h>

#include "core/base/assert.h"
#include "core/event/content_hash.h"
#include "core/event/event.h"
#include "core/event/event_types.h"
#include "core/event/json_tape.h"
#include "core/event/trace.h"

bool envelope_init(struct envelope *envelope, const struct config_event *config, const char *group,
                   const struct event_types *types, struct error *error)
{
	*envelope = (struct envelope){.config = config, .group = group, .types = types};
	if (config->business_key) {
		envelope->key_template = key_template_create(config->business_key, error);
		return envelope->key_template != NULL;
	}
	if (config->id_count == 0)
		return error_set(error, ERROR_CONFIG, "event.id names no place where the id of an event stands");
	return true;
}

void envelope_done(struct envelope *envelope)
{
	key_template_destroy(envelope->key_template);
	envelope->key_template = NULL;
}

/* The first reason stands. */
static void mark_broken(struct event *event, const char *reason, const char *detail)
{
	if (event->state == EVENT_BROKEN)
		return;
	event->state = EVENT_BROKEN;
	event->reason = reason;
	event->detail = detail;
}

/* Decimal digits alone; false: absent, something else, or above max. */
static bool read_number(struct bytes text, int64_t max, int64_t *out_number)
{
	int64_t number = 0;

	if (text.len == 0)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		int digit = text.ptr[i] - '0';
		if (digit < 0 || digit > 9 || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*out_number = number;
	return true;
}

static struct bytes header_value(const struct kafka_record *record, const char *name)
{
	const struct kafka_header *header = kafka_record_header(record, name);

	return header ? header->value : BYTES_NONE;
}

static int64_t header_number(const struct kafka_record *record, const char *name, int64_t max, int64_t otherwise)
{
	read_number(header_value(record, name), max, &otherwise);
	return otherwise;
}

/* As Kafka allows it; a replay will write to that topic. */
static bool is_topic_name(struct bytes text)
{
	if (text.len == 0 || text.len > 249 || bytes_equal_string(text, ".") || bytes_equal_string(text, ".."))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool is_alphanumeric = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
		if (!is_alphanumeric && c != '.' && c != '_' && c != '-')
			return false;
	}
	return true;
}

/* Where a retried or replayed record came from, as its first router wrote it. */
static void read_origin(struct event *event, struct arena *arena)
{
	const struct kafka_record *record = &event->record;
	struct bytes topic = header_value(record, HEADER_ORIGIN_TOPIC);
	int64_t partition, offset;

	if (!is_topic_name(topic) ||
	    !read_number(header_value(record, HEADER_ORIGIN_PARTITION), INT32_MAX, &partition) ||
	    !read_number(header_value(record, HEADER_ORIGIN_OFFSET), INT64_MAX, &offset))
		return;
	event->origin_topic = arena_string(arena, topic);
	event->origin_partition = (int32_t)partition;
	event->origin_offset = offset;
	event->origin_timestamp_ms = header_number(record, HEADER_ORIGIN_TIMESTAMP, INT64_MAX, -1);
}

/* Headers of another group's retry are about that group's work, not ours. */
static void read_retry_headers(struct event *event, const char *group, struct arena *arena)
{
	const struct kafka_record *record = &event->record;

	if (record->header_count == 0 || !bytes_equal_string(header_value(record, HEADER_GROUP), group))
		return;
	/* PostgreSQL keeps both as integer: what would not fit there is garbage too. */
	event->attempt = (uint32_t)header_number(record, HEADER_ATTEMPT, INT32_MAX, 1);
	if (event->attempt == 0)
		event->attempt = 1;
	event->round = (uint32_t)header_number(record, HEADER_ROUND, INT32_MAX, 0);
	event->due_ms = header_number(record, HEADER_DUE, INT64_MAX, 0);
	event->retried = event->attempt > 1;
	event->replayed = event->round > 0;
	read_origin(event, arena);
}

static void read_record(struct event *event, const struct kafka_record *record)
{
	*event = (struct event){.state = EVENT_READY,
	                        .record = *record,
	                        .key = record->key,
	                        .payload = record->value,
	                        .attempt = 1,
	                        .origin_topic = record->topic,
	                        .origin_partition = record->partition,
	                        .origin_offset = record->offset,
	                        .origin_timestamp_ms = record->timestamp_ms};
	struct bytes traceparent = header_value(record, HEADER_TRACEPARENT);
	if (trace_is_parent(traceparent))
		event->traceparent = traceparent;
	event->content_hash = content_hash(record->value);
}

static void read_document(const struct envelope *envelope, struct event *event, struct arena *arena)
{
	const struct json_limits limits = {.max_bytes = (size_t)envelope->config->max_bytes,
	                                   .max_depth = (size_t)envelope->config->max_depth};
	const char *reason = NULL, *detail = NULL;

	if (!event->payload.ptr) {
		if (envelope->config->tombstone == CONFIG_TOMBSTONE_SKIP)
			event->state = EVENT_IGNORED;
		else if (envelope->config->tombstone == CONFIG_TOMBSTONE_DLQ)
			mark_broken(event, "tombstone", "a record without a value (event.tombstone = \"dlq\")");
		return;
	}
	event->document = json_parse(arena, event->payload, &limits, &reason, &detail);
	if (!event->document)
		mark_broken(event, reason, detail);
}

static void read_type(const struct envelope *envelope, struct event *event, const char **out_problem)
{
	const struct config_source *source = &envelope->config->type;
	const char *header = source->place == CONFIG_PLACE_HEADER ? source->name : HEADER_EVENT_TYPE;
	struct json_value value;

	*out_problem = NULL;
	if (source->place == CONFIG_PLACE_PAYLOAD && event->document &&
	    json_get_field(event->document, source->name, &value) == JSON_OK && value.type != JSON_NULL) {
		if (value.type == JSON_STRING && value.text.len > 0)
			event->type = value.text;
		else
			*out_problem = "the event type is not a text, or empty";
		return;
	}
	struct bytes text = header_value(&event->record, header);
	if (text.len > 0 && json_is_clean(text)) /* goes to keys, logs and PostgreSQL */
		event->type = text;
	else
		*out_problem = text.ptr ? "the event type in the header is empty or not UTF-8" : "no event type";
}

/* What is wrong with the ids found so far; the first problem stands. */
struct id_search {
	const struct envelope *envelope;
	struct event *event;
	const char *reason, *detail;
};

static void note_problem(struct id_search *search, const char *reason, const char *detail)
{
	if (search->reason)
		return;
	search->reason = reason;
	search->detail = detail;
}

/* What broken producers send for every event: all but the first would be dropped as duplicates. */
static bool is_nobodys(const struct uuid *id)
{
	for (size_t i = 1; i < sizeof(id->byte); i++) {
		if (id->byte[i] != id->byte[0])
			return false;
	}
	return id->byte[0] == 0 || id->byte[0] == 0xff;
}

static void consider_id(struct id_search *search, struct bytes text)
{
	struct event *event = search->event;
	struct uuid id;

	if (!uuid_from_text(text, &id))
		note_problem(search, "id_invalid", "the event id is not a UUID of the form 8-4-4-4-12");
	else if (is_nobodys(&id))
		note_problem(search, "id_invalid", "the event id is the nil or the max UUID, which is nobody's");
	else if (uuid_version(&id) != 7 && search->envelope->config->id_version != CONFIG_ID_ANY)
		note_problem(search, "id_invalid", "the event id is a UUID, but not version 7");
	else if (event->has_uuid && uuid_compare(&id, &event->id) != 0)
		note_problem(search, "id_mismatch", "the places that event.id names hold different ids");
	else {
		event->id = id;
		event->has_uuid = true;
	}
}

static void search_payload(struct id_search *search, const char *field)
{
	struct json_value value;

	if (!search->event->document || json_get_field(search->event->document, field, &value) != JSON_OK ||
	    value.type == JSON_NULL)
		return;
	if (value.type == JSON_STRING)
		consider_id(search, value.text);
	else
		note_problem(search, "id_invalid", "the event id is not a text");
}

/* Every header of that name: of two that differ neither can be trusted. */
static void search_headers(struct id_search *search, const char *name)
{
	const struct kafka_record *record = &search->event->record;

	for (size_t i = 0; i < record->header_count; i++) {
		if (record->headers[i].value.ptr && bytes_equal_string(record->headers[i].name, name))
			consider_id(search, record->headers[i].value);
	}
}

static void read_id(const struct envelope *envelope, struct event *event, struct arena *arena)
{
	struct id_search search = {.envelope = envelope, .event = event};
	char text[UUID_TEXT_BYTES];

	for (size_t i = 0; i < envelope->config->id_count; i++) {
		const struct config_source *source = &envelope->config->ids[i];
		if (source->place == CONFIG_PLACE_PAYLOAD)
			search_payload(&search, source->name);
		else
			search_headers(&search, source->name);
	}
	if (!search.reason && !event->has_uuid && !envelope->key_template)
		note_problem(&search, "id_missing", "no event id in the places that event.id names");
	if (search.reason) {
		event->has_uuid = false;
		event->id = (struct uuid){0};
		mark_broken(event, search.reason, search.detail);
		return;
	}
	if (!event->has_uuid)
		return;
	uuid_to_text(&event->id, text);
	event->id_text = arena_copy(arena, bytes_from_string(text));
}

/* What the event is looked up and claimed under. */
static void settle_dedup_key(const struct envelope *envelope, struct event *event, struct arena *arena)
{
	const char *reason = NULL, *detail = NULL;

	if (!envelope->key_template) {
		event->has_id = event->has_uuid;
		return;
	}
	event->business_key = key_template_apply(envelope->key_template, event, arena, &reason, &detail);
	event->has_id = event->business_key.ptr != NULL;
	if (!event->has_id)
		mark_broken(event, reason, detail);
}

static void read_order_key(const struct envelope *envelope, struct event *event)
{
	struct json_value value;

	if (!envelope->config->key)
		event->order_key = event->record.key;
	else if (event->document && json_get_field(event->document, envelope->config->key, &value) == JSON_OK)
		event->order_key = json_scalar_text(&value);
}

void envelope_open(const struct envelope *envelope, const struct kafka_record *record, struct arena *arena,
                   struct event *out_event)
{
	struct event *event = out_event;
	const char *type_problem;

	read_record(event, record);
	read_retry_headers(event, envelope->group, arena);
	read_document(envelope, event, arena);
	if (event->state == EVENT_IGNORED)
		return;
	read_order_key(envelope, event);
	read_type(envelope, event, &type_problem);
	enum event_type_status status =
	        type_problem ? EVENT_TYPE_UNKNOWN : event_types_look_up(envelope->types, event->type);
	if (status == EVENT_TYPE_KNOWN && event->state == EVENT_READY) {
		event->state = EVENT_IGNORED; /* somebody else's, whatever its id is like */
		return;
	}
	read_id(envelope, event, arena);
	if (type_problem)
		mark_broken(event, "type_missing", type_problem);
	else if (status == EVENT_TYPE_UNKNOWN)
		mark_broken(event, "type_unknown", "the event type is not in the registry (event.schemas)");
	settle_dedup_key(envelope, event, arena);
}
