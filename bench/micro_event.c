/* What making an event of a record costs, on the event of the measured comparison.
 *   bench/micro_event [ROUNDS]                                 nanoseconds per event
 *   valgrind --tool=callgrind bench/micro_event 10000          instructions, which other load does not change */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <yajl/yajl_parse.h>

#include "core/base/clock.h"
#include "core/event/content_hash.h"
#include "core/event/event.h"

#define ID "01890a5d-ac96-774b-bcce-b302099a8057"
#define TYPE "order.confirmed.v1"
#define EVENT                                                                                                          \
	"{\"eventId\":\"" ID "\",\"eventType\":\"" TYPE "\",\"occurredAt\":\"2026-11-30T21:00:00.000Z\","              \
	"\"aggregateType\":\"Order\",\"orderId\":4711,\"customerId\":815,\"totalAmount\":99999,\"currency\":\"EUR\","  \
	"\"note\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}"
#define ARENA_BATCH 500 /* events between two resets */

static struct bytes text = {EVENT, sizeof(EVENT) - 1};
static struct envelope envelope;

static void run_yajl(struct arena *arena)
{
	static const yajl_callbacks none;
	yajl_handle yajl = yajl_alloc(&none, NULL, NULL);

	(void)arena;
	yajl_parse(yajl, (const unsigned char *)text.ptr, text.len);
	yajl_complete_parse(yajl);
	yajl_free(yajl);
}

static void run_json_parse(struct arena *arena)
{
	static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
	const char *reason, *detail;

	if (!json_parse(arena, text, &limits, &reason, &detail))
		abort();
}

static void run_scan(struct arena *arena)
{
	struct json_value value;

	if (json_scan_field(arena, text, "orderId", 64, &value) != JSON_OK)
		abort();
}

static void run_hash(struct arena *arena)
{
	(void)arena;
	(void)content_hash(text);
}

static void run_uuid(struct arena *arena)
{
	struct uuid uuid;
	char out[UUID_TEXT_BYTES];

	(void)arena;
	if (!uuid_from_text(BYTES_LITERAL(ID), &uuid))
		abort();
	uuid_to_text(&uuid, out);
}

static void run_make_v7(struct arena *arena)
{
	struct uuid uuid;

	(void)arena;
	uuid_make_v7(INT64_C(1800000000000), &uuid);
}

static void run_envelope_open(struct arena *arena)
{
	const struct kafka_record record = {.topic = "orders", .value = text, .key = BYTES_LITERAL("4711")};
	struct event event;

	envelope_open(&envelope, &record, arena, &event);
	if (event.state != EVENT_READY)
		abort();
}

static void measure(const char *name, void (*run)(struct arena *), long rounds)
{
	struct arena arena;

	arena_init(&arena, 1 << 20);
	int64_t begun_us = clock_monotonic_us();
	for (long i = 0; i < rounds; i++) {
		run(&arena);
		if (i % ARENA_BATCH == ARENA_BATCH - 1)
			arena_reset(&arena);
	}
	int64_t took_us = clock_monotonic_us() - begun_us;
	printf("%-16s %8.0f ns/event\n", name, (double)took_us * 1000 / (double)rounds);
	arena_done(&arena);
}

int main(int argc, char **argv)
{
	static struct config_source ids[] = {{CONFIG_PLACE_PAYLOAD, "eventId"}, {CONFIG_PLACE_HEADER, "eventId"}};
	static const struct config_event config = {.ids = ids,
	                                           .id_count = 2,
	                                           .type = {CONFIG_PLACE_PAYLOAD, "eventType"},
	                                           .key = "orderId",
	                                           .max_bytes = 1 << 20,
	                                           .max_depth = 64};
	static const char *const handled[] = {TYPE, NULL};
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 500000;
	struct event_types *types = event_types_create(NULL, handled, NULL);
	struct error error;

	if (rounds <= 0 || !types || !envelope_init(&envelope, &config, "bench", types, &error)) {
		fprintf(stderr, "usage: micro_event [ROUNDS]\n");
		return EXIT_FAILURE;
	}
	printf("event of %zu bytes, %ld rounds\n", text.len, rounds);
	measure("yajl alone", run_yajl, rounds);
	measure("json_parse", run_json_parse, rounds);
	measure("json_scan_field", run_scan, rounds);
	measure("content_hash", run_hash, rounds);
	measure("uuid text", run_uuid, rounds);
	measure("uuid_make_v7", run_make_v7, rounds);
	measure("envelope_open", run_envelope_open, rounds);
	envelope_done(&envelope);
	event_types_destroy(types);
	return EXIT_SUCCESS;
}
