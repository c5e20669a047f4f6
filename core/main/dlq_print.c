#include "core/main/dlq_print.h"
#include "core/base/assert.h"
#include "core/base/escape.h"
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define ERROR_COLUMN_BYTES 100

struct time_text {
	char text[32];
};

static struct time_text time_of(int64_t ms)
{
	struct time_text out = {"-"};
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts;
	char date[24];

	if (ms >= 0 && gmtime_r(&seconds, &parts) && strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts))
		snprintf(out.text, sizeof(out.text), "%s.%03dZ", date, (int)(ms % 1000));
	return out;
}

/* What it is looked up and claimed by; else the header as it came. */
static struct bytes name_of(const struct event *event)
{
	const struct kafka_header *header = kafka_record_header(&event->record, HEADER_EVENT_ID);

	if (event->business_key.ptr)
		return event->business_key;
	if (event->has_uuid)
		return event->id_text;
	return header ? header->value : BYTES_NONE;
}

/* Escaped and filled up with spaces. */
static void print_column(struct bytes text, int width, FILE *out)
{
	char *escaped;
	size_t len;
	FILE *memory = open_memstream(&escaped, &len);

	ASSERT(memory);
	if (text.len)
		escape_text(text, memory);
	else
		putc('-', memory);
	ASSERT(fclose(memory) == 0);
	fprintf(out, "%-*s ", width, escaped);
	free(escaped);
}

void dlq_print_head(FILE *out)
{
	fprintf(out, "%-12s %-24s %-20s %-9s %-8s %7s %5s %6s  %-36s %-32s %s\n", "at", "died", "reason", "state",
	        "claimed", "attempt", "round", "copies", "event", "origin", "error");
}

void dlq_print_line(const struct dead_letter *letter, const char *claimed, FILE *out)
{
	const struct event *event = letter->event;
	char at[40], origin[320];

	snprintf(at, sizeof(at), "%d/%" PRId64, event->record.partition, event->record.offset);
	snprintf(origin, sizeof(origin), "%s/%d/%" PRId64, event->origin_topic, event->origin_partition,
	         event->origin_offset);
	fprintf(out, "%-12s %-24s ", at, time_of(event->record.timestamp_ms).text);
	print_column(letter->reason, 20, out);
	fprintf(out, "%-9s %-8s %7u %5u %6zu  ", letter->state ? letter->state : "-", claimed, event->attempt,
	        event->round, letter->copies);
	print_column(name_of(event), 36, out);
	print_column(bytes_from_string(origin), 32, out);
	escape_text_cut(letter->error_text, ERROR_COLUMN_BYTES, out);
	putc('\n', out);
}

static void print_field(const char *name, struct bytes text, FILE *out)
{
	if (!text.ptr)
		return;
	fprintf(out, "%-13s ", name);
	escape_text(text, out);
	putc('\n', out);
}

static void print_bytes(const char *name, struct bytes bytes, FILE *out)
{
	fprintf(out, "%s, ", name);
	if (!bytes.ptr) {
		fputs("null\n", out);
		return;
	}
	fprintf(out, "%zu bytes\n  ", bytes.len);
	escape_text(bytes, out);
	putc('\n', out);
}

static void print_headers(const struct kafka_record *record, FILE *out)
{
	fputs("headers\n", out);
	for (size_t i = 0; i < record->header_count; i++) {
		fputs("  ", out);
		escape_text(record->headers[i].name, out);
		fputs(record->headers[i].value.ptr ? ": " : " (null)", out);
		escape_text(record->headers[i].value, out);
		putc('\n', out);
	}
}

void dlq_print_whole(const struct dead_letter *letter, const char *claimed, FILE *out)
{
	const struct event *event = letter->event;
	const struct kafka_record *record = &event->record;

	fprintf(out, "%-13s %d/%" PRId64 " of topic %s, written %s\n", "dead letter", record->partition, record->offset,
	        record->topic, time_of(record->timestamp_ms).text);
	print_field("reason", letter->reason, out);
	print_field("error", letter->error_text, out);
	print_field("event id", event->has_uuid ? event->id_text : name_of(event), out);
	print_field("business key", event->business_key, out);
	print_field("type", event->type, out);
	fprintf(out, "%-13s %s/%d/%" PRId64 ", published %s\n", "origin", event->origin_topic, event->origin_partition,
	        event->origin_offset, time_of(event->origin_timestamp_ms).text);
	fprintf(out, "%-13s %u of round %u; %zu dead letter%s of this event\n", "attempt", event->attempt, event->round,
	        letter->copies, letter->copies == 1 ? "" : "s");
	fprintf(out, "%-13s %s\n", "state", letter->state ? letter->state : "not known");
	fprintf(out, "%-13s %s\n", "claimed", claimed);
	print_headers(record, out);
	print_bytes("key", record->key, out);
	print_bytes("payload", record->value, out);
}

/* ---- JSON ---- */

static void print_member(const char *name, struct bytes text, FILE *out)
{
	fprintf(out, ",\"%s\":", name);
	escape_json(text, out);
}

static void print_time_member(const char *name, int64_t ms, FILE *out)
{
	print_member(name, ms < 0 ? BYTES_NONE : bytes_from_string(time_of(ms).text), out);
}

/* Text as text; what is none in base64, so that nothing is lost. */
static void print_bytes_member(const char *name, struct bytes bytes, FILE *out)
{
	if (escape_is_utf8(bytes)) {
		print_member(name, bytes, out);
		return;
	}
	fprintf(out, ",\"%s_base64\":", name);
	escape_json_base64(bytes, out);
}

static void print_json_headers(const struct kafka_record *record, FILE *out)
{
	fputs(",\"headers\":[", out);
	for (size_t i = 0; i < record->header_count; i++) {
		fputs(i ? ",{\"name\":" : "{\"name\":", out);
		escape_json(record->headers[i].name, out);
		print_bytes_member("value", record->headers[i].value, out);
		putc('}', out);
	}
	putc(']', out);
}

void dlq_print_json(const struct dead_letter *letter, const char *claimed, bool whole, FILE *out)
{
	const struct event *event = letter->event;
	const struct kafka_record *record = &event->record;

	fprintf(out, "{\"partition\":%d,\"offset\":%" PRId64, record->partition, record->offset);
	print_time_member("died", record->timestamp_ms, out);
	print_member("reason", letter->reason, out);
	print_member("error", letter->error_text, out);
	print_member("event_id", event->has_uuid ? event->id_text : BYTES_NONE, out);
	print_member("business_key", event->business_key, out);
	print_member("type", event->type, out);
	fputs(",\"origin\":{\"topic\":", out);
	escape_json(bytes_from_string(event->origin_topic), out);
	fprintf(out, ",\"partition\":%d,\"offset\":%" PRId64, event->origin_partition, event->origin_offset);
	print_time_member("published", event->origin_timestamp_ms, out);
	fprintf(out, "},\"attempt\":%u,\"round\":%u,\"copies\":%zu", event->attempt, event->round, letter->copies);
	print_member("state", bytes_from_string(letter->state), out);
	print_member("claimed", bytes_from_string(claimed), out);
	if (whole) {
		print_json_headers(record, out);
		print_bytes_member("key", record->key, out);
		print_bytes_member("payload", record->value, out);
	}
	putc('}', out);
}
