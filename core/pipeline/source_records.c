#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/config/value.h"
#include "core/event/event.h"
#include "core/event/json.h"
#include "core/pipeline/source_parts.h"

/* By how much the clocks of those who write retry records and of the broker may differ. */
#define CLOCKS_DIFFER_MS 60000
#define LONGEST_DELAY_MS (INT64_C(7) * 86400000) /* that retry.delays takes */

static struct bytes payload_of(const rd_kafka_message_t *message)
{
	return (struct bytes){message->payload, message->payload ? message->len : 0};
}

/* The last header of that name; absent: none. */
static struct bytes header_of(const rd_kafka_message_t *message, const char *name)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t len;
	if (rd_kafka_message_headers(message, &headers) || rd_kafka_header_get_last(headers, name, &value, &len))
		return BYTES_NONE;
	return (struct bytes){value, len};
}

static struct bytes payload_field(struct bytes payload, const char *field, size_t max_depth, struct arena *scratch)
{
	struct json_value value;
	if (!payload.ptr || json_scan_field(scratch, payload, field, max_depth, &value) != JSON_OK)
		return BYTES_NONE;
	return json_scalar_text(&value);
}

struct bytes source_ordering_key(struct source *source, struct bytes key, struct bytes payload)
{
	const struct config_pipeline *pipeline = source->options.pipeline;
	if (pipeline->ordering != CONFIG_ORDERING_KEY)
		return BYTES_NONE;
	if (pipeline->event.key)
		return payload_field(payload, pipeline->event.key, (size_t)pipeline->event.max_depth, &source->scratch);
	return key;
}

static struct bytes ordering_key(struct source *source, const rd_kafka_message_t *message)
{
	return source_ordering_key(source, (struct bytes){message->key, message->key ? message->key_len : 0},
	                           payload_of(message));
}

/* What that retry topic waits: its name tells, also when the tier is not configured any more.  0: none waits in it (the
 * one for replays). */
static int64_t delay_ms_of(const struct source *source, const char *topic)
{
	int64_t delay_ms;
	if (!value_parse_duration(topic + strlen(source->retry_prefix), false, &delay_ms, NULL))
		return 0;
	return delay_ms < LONGEST_DELAY_MS ? delay_ms : LONGEST_DELAY_MS;
}

/* Wall time; 0: now.  What can't be read is due. */
static int64_t due_ms_told_by(const rd_kafka_message_t *message)
{
	struct bytes text = header_of(message, HEADER_DUE);
	int64_t due_ms = 0;
	if (text.len == 0 || text.len > 15)
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return 0;
		due_ms = due_ms * 10 + (text.ptr[i] - '0');
	}
	return due_ms;
}

/* Anybody may write to a retry topic: a record of the year 9999 must not hold its partition until then. */
static int64_t due_ms_of(const struct source *source, const rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	const char *topic = rd_kafka_topic_name(message->rkt);
	int64_t written_ms = rd_kafka_message_timestamp(message, &type), due_ms = due_ms_told_by(message);
	int64_t latest_ms = written_ms + delay_ms_of(source, topic) + CLOCKS_DIFFER_MS;
	if (written_ms > clock_shared_ms() + CLOCKS_DIFFER_MS)
		latest_ms = clock_shared_ms(); /* the time it was written at is no better */
	if (due_ms <= latest_ms)
		return due_ms;
	log_write_limited(LOG_due_too_late,
	                  "offset %lld of %s/%d: x-due-ms is %lld, no record of that topic waits so long; it is tried "
	                  "at %lld",
	                  (long long)message->offset, topic, (int)message->partition, (long long)due_ms,
	                  (long long)latest_ms);
	return latest_ms;
}

/* It will be fetched again when the partition is resumed. */
static void discard(struct source_partition *partition, rd_kafka_message_t *message)
{
	if (!partition->discarded && partition->next_offset < message->offset)
		partition->next_offset = message->offset; /* what lies between is a hole */
	partition->discarded = true;
	rd_kafka_message_destroy(message);
}

/* False: paused, or paused now because it holds enough or this record is not due yet. */
static bool may_push(const struct source *source, struct source_partition *partition, const rd_kafka_message_t *message)
{
	if (partition->wanted)
		return false;
	if (!source_has_room(source, partition, message->len + message->key_len)) {
		partition->wanted |= PAUSE_BYTES;
		return false;
	}
	if (!partition->is_retry)
		return true;
	int64_t due_ms = due_ms_of(source, message);
	if (due_ms <= clock_shared_ms())
		return true;
	partition->due_ms = due_ms;
	partition->wanted |= PAUSE_NOT_DUE;
	return false;
}

static void make_record(struct source *source, struct source_partition *partition, rd_kafka_message_t *message,
                        int64_t now_ms)
{
	if (message->offset < partition->next_offset)
		source_replace_tracker(source, partition, -1);
	partition->next_offset = message->offset + 1;
	struct record *record = record_create(message, partition->tracker);
	record_begin(record, now_ms);
	source->total_bytes += record->bytes;
	source->average_bytes = (15 * source->average_bytes + record->bytes) / 16;
	source->items[source->item_count++] = (struct lanes_item){record, ordering_key(source, message)};
}

void source_push(struct source *source, size_t message_count)
{
	int64_t now_ms = clock_monotonic_ms();
	source->item_count = 0;
	source->total_bytes = source_total_bytes(source);
	for (size_t i = 0; i < message_count; i++) {
		rd_kafka_message_t *message = source->messages[i];
		struct source_partition *partition =
		        source_find(source, rd_kafka_topic_name(message->rkt), message->partition);
		if (!partition)
			rd_kafka_message_destroy(message); /* its next owner reads it */
		else if (may_push(source, partition, message))
			make_record(source, partition, message, now_ms);
		else
			discard(partition, message);
	}
	if (source->item_count > 0)
		lanes_push(source->options.lanes, source->items, source->item_count);
	arena_reset(&source->scratch);
}
