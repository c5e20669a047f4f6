#include <check.h>
#include <stdlib.h>

#include "core/event/content_hash.h"
#include "core/event/event.h"
#include "core/event/trace.h"
#include "tests/unit/run_suite.h"

#define ID "01890a5d-ac96-774b-bcce-b302099a8057"
#define ID_UPPER "01890A5D-AC96-774B-BCCE-B302099A8057"
#define OTHER_ID "01890a5d-ac96-774b-bcce-b302099a8058"
#define V4_ID "9f1ce5b6-2d4f-4b6a-8a5e-1a2b3c4d5e6f"
#define NIL_ID "00000000-0000-0000-0000-000000000000"
#define MAX_ID "ffffffff-ffff-ffff-ffff-ffffffffffff"
#define TYPE "order.paid.v1"
#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static struct arena arena;
static struct config_source ids[] = {{CONFIG_PLACE_PAYLOAD, "eventId"}, {CONFIG_PLACE_HEADER, "eventId"}};
static struct config_event config;
static struct event_types *types;

static void begin(void)
{
	static const char *const handled[] = {TYPE, NULL};

	arena_init(&arena, 64 * 1024);
	config = (struct config_event){.ids = ids,
	                               .id_count = 2,
	                               .type = {CONFIG_PLACE_PAYLOAD, "eventType"},
	                               .max_bytes = 1 << 20,
	                               .max_depth = 64};
	types = event_types_create(NULL, handled, NULL);
	ck_assert_ptr_nonnull(types);
}

static void end(void)
{
	event_types_destroy(types);
	arena_done(&arena);
}

static struct event open_record(const struct kafka_record *record)
{
	struct envelope envelope;
	struct error error;
	struct event event;

	memset(&event, 0x5a, sizeof(event)); /* whatever the arena held before */
	ck_assert_msg(envelope_init(&envelope, &config, "billing-orders", types, &error), "%s", error.text);
	envelope_open(&envelope, record, &arena, &event);
	envelope_done(&envelope);
	return event;
}

#define MAX_HEADERS 10
struct header {
	const char *name, *value;
};

static struct event open_with(const char *value, const struct header *headers)
{
	struct kafka_record record = {.topic = "t.orders",
	                              .partition = 3,
	                              .offset = 77,
	                              .timestamp_ms = 1234,
	                              .key = BYTES_LITERAL("record key"),
	                              .value = bytes_from_string(value)};
	struct kafka_header *copies = arena_alloc(&arena, MAX_HEADERS * sizeof(*copies));

	for (; headers && headers[record.header_count].name; record.header_count++)
		copies[record.header_count] =
		        (struct kafka_header){bytes_from_string(headers[record.header_count].name),
		                              bytes_from_string(headers[record.header_count].value)};
	record.headers = copies;
	return open_record(&record);
}

#define WITH_ID(id) "{\"eventId\":\"" id "\",\"eventType\":\"" TYPE "\",\"orderId\":12.50}"
#define NO_ID "{\"eventType\":\"" TYPE "\",\"orderId\":12.50}"
#define NO_TYPE "{\"eventId\":\"" ID "\"}"

static const struct {
	const char *name, *value;
	struct header headers[4];
	enum event_state state;
	const char *reason;
	bool has_id;
	enum config_id_version version;
	enum config_tombstone tombstone;
} cases[] = {
        /* IDEM-1: where ids stand */
        {"id in the payload", WITH_ID(ID), {{0}}, EVENT_READY, NULL, true, 0, 0},
        {"id in the header", NO_ID, {{"eventId", ID}}, EVENT_READY, NULL, true, 0, 0},
        {"id in both", WITH_ID(ID), {{"eventId", ID}}, EVENT_READY, NULL, true, 0, 0},
        {"id in both, in other case", WITH_ID(ID), {{"eventId", ID_UPPER}}, EVENT_READY, NULL, true, 0, 0},
        {"different ids", WITH_ID(ID), {{"eventId", OTHER_ID}}, EVENT_BROKEN, "id_mismatch", false, 0, 0},
        {"different headers",
         NO_ID,
         {{"eventId", ID}, {"eventId", OTHER_ID}},
         EVENT_BROKEN,
         "id_mismatch",
         false,
         0,
         0},
        {"same header twice", NO_ID, {{"eventId", ID}, {"eventId", ID}}, EVENT_READY, NULL, true, 0, 0},
        {"null header", WITH_ID(ID), {{"eventId", NULL}}, EVENT_READY, NULL, true, 0, 0},
        {"null field",
         "{\"eventId\":null,\"eventType\":\"" TYPE "\"}",
         {{"eventId", ID}},
         EVENT_READY,
         NULL,
         true,
         0,
         0},
        {"empty header", WITH_ID(ID), {{"eventId", ""}}, EVENT_BROKEN, "id_invalid", false, 0, 0},
        {"header name in other case", NO_ID, {{"eventid", ID}}, EVENT_BROKEN, "id_missing", false, 0, 0},
        {"bad header beside a good field", WITH_ID(ID), {{"eventId", "x"}}, EVENT_BROKEN, "id_invalid", false, 0, 0},
        {"bad field beside a good header", WITH_ID("x"), {{"eventId", ID}}, EVENT_BROKEN, "id_invalid", false, 0, 0},
        {"bad header before a good one",
         NO_ID,
         {{"eventId", "x"}, {"eventId", ID}},
         EVENT_BROKEN,
         "id_invalid",
         false,
         0,
         0},
        /* IDEM-1: versions */
        {"version 4", WITH_ID(V4_ID), {{0}}, EVENT_BROKEN, "id_invalid", false, CONFIG_ID_V7, 0},
        {"version 4 is allowed", WITH_ID(V4_ID), {{0}}, EVENT_READY, NULL, true, CONFIG_ID_ANY, 0},
        {"version 7 among any", WITH_ID(ID), {{0}}, EVENT_READY, NULL, true, CONFIG_ID_ANY, 0},
        {"nil", WITH_ID(NIL_ID), {{0}}, EVENT_BROKEN, "id_invalid", false, CONFIG_ID_ANY, 0},
        {"max", WITH_ID(MAX_ID), {{0}}, EVENT_BROKEN, "id_invalid", false, CONFIG_ID_ANY, 0},
        /* P11 */
        {"upper case", WITH_ID(ID_UPPER), {{0}}, EVENT_READY, NULL, true, 0, 0},
        {"braces", WITH_ID("{" ID "}"), {{0}}, EVENT_BROKEN, "id_invalid", false, CONFIG_ID_ANY, 0},
        {"no hyphens",
         WITH_ID("01890a5dac96774bbcceb302099a8057"),
         {{0}},
         EVENT_BROKEN,
         "id_invalid",
         false,
         CONFIG_ID_ANY,
         0},
        {"urn", WITH_ID("urn:uuid:" ID), {{0}}, EVENT_BROKEN, "id_invalid", false, CONFIG_ID_ANY, 0},
        {"spaces", WITH_ID(" " ID " "), {{0}}, EVENT_BROKEN, "id_invalid", false, CONFIG_ID_ANY, 0},
        {"empty", WITH_ID(""), {{0}}, EVENT_BROKEN, "id_invalid", false, CONFIG_ID_ANY, 0},
        {"a number", "{\"eventId\":7,\"eventType\":\"" TYPE "\"}", {{0}}, EVENT_BROKEN, "id_invalid", false, 0, 0},
        {"an object", "{\"eventId\":{},\"eventType\":\"" TYPE "\"}", {{0}}, EVENT_BROKEN, "id_invalid", false, 0, 0},
        {"escaped",
         "{\"eventId\":\"\\u00301890a5d-ac96-774b-bcce-b302099a8057\",\"eventType\":\"" TYPE "\"}",
         {{0}},
         EVENT_READY,
         NULL,
         true,
         0,
         0},
        /* P13 */
        {"no id", NO_ID, {{0}}, EVENT_BROKEN, "id_missing", false, 0, 0},
        {"no type", NO_TYPE, {{0}}, EVENT_BROKEN, "type_missing", true, 0, 0},
        {"neither", "{}", {{0}}, EVENT_BROKEN, "id_missing", false, 0, 0},
        {"unknown type",
         "{\"eventId\":\"" ID "\",\"eventType\":\"order.lost.v1\"}",
         {{0}},
         EVENT_BROKEN,
         "type_unknown",
         true,
         0,
         0},
        {"type in the header", NO_TYPE, {{"eventType", TYPE}}, EVENT_READY, NULL, true, 0, 0},
        {"null type, header",
         "{\"eventId\":\"" ID "\",\"eventType\":null}",
         {{"eventType", TYPE}},
         EVENT_READY,
         NULL,
         true,
         0,
         0},
        {"the payload's type goes first", WITH_ID(ID), {{"eventType", "order.lost.v1"}}, EVENT_READY, NULL, true, 0, 0},
        {"type a number",
         "{\"eventId\":\"" ID "\",\"eventType\":1}",
         {{"eventType", TYPE}},
         EVENT_BROKEN,
         "type_missing",
         true,
         0,
         0},
        {"type empty", "{\"eventId\":\"" ID "\",\"eventType\":\"\"}", {{0}}, EVENT_BROKEN, "type_missing", true, 0, 0},
        {"header type empty", NO_TYPE, {{"eventType", ""}}, EVENT_BROKEN, "type_missing", true, 0, 0},
        {"header type null", NO_TYPE, {{"eventType", NULL}}, EVENT_BROKEN, "type_missing", true, 0, 0},
        {"header type not UTF-8", NO_TYPE, {{"eventType", "\xc3\x28"}}, EVENT_BROKEN, "type_missing", true, 0, 0},
        {"not an object", "[1]", {{"eventId", ID}, {"eventType", TYPE}}, EVENT_READY, NULL, true, 0, 0},
        /* malformed, with and without an id in the header: P5, P9, P15 */
        {"empty value", "", {{"eventId", ID}, {"eventType", TYPE}}, EVENT_BROKEN, "malformed", true, 0, 0},
        {"empty value, no header", "", {{0}}, EVENT_BROKEN, "malformed", false, 0, 0},
        {"cut", "{\"eventId\":\"" ID "\",", {{0}}, EVENT_BROKEN, "malformed", false, 0, 0},
        {"cut, id in the header", "{\"eventId\":\"" ID "\",", {{"eventId", ID}}, EVENT_BROKEN, "malformed", true, 0, 0},
        {"not JSON, header bad", "x", {{"eventId", "x"}}, EVENT_BROKEN, "malformed", false, 0, 0},
        {"bad UTF-8",
         "{\"eventId\":\"" ID "\",\"x\":\"\xc3\x28\"}",
         {{"eventId", ID}},
         EVENT_BROKEN,
         "malformed",
         true,
         0,
         0},
        {"id given twice",
         "{\"eventId\":\"" ID "\",\"eventId\":\"" OTHER_ID "\",\"eventType\":\"" TYPE "\"}",
         {{0}},
         EVENT_BROKEN,
         "duplicate_key",
         false,
         0,
         0},
        {"same id given twice",
         "{\"eventId\":\"" ID "\",\"eventId\":\"" ID "\",\"eventType\":\"" TYPE "\"}",
         {{0}},
         EVENT_BROKEN,
         "duplicate_key",
         false,
         0,
         0},
        {"id given twice, header",
         "{\"eventId\":\"" ID "\",\"eventId\":\"" OTHER_ID "\"}",
         {{"eventId", ID}},
         EVENT_BROKEN,
         "duplicate_key",
         true,
         0,
         0},
        {"amount given twice",
         "{\"eventId\":\"" ID "\",\"eventType\":\"" TYPE "\",\"amount\":1,\"amount\":1000000}",
         {{0}},
         EVENT_BROKEN,
         "duplicate_key",
         false,
         0,
         0},
        /* types of others */
        {"not handled", "{\"eventId\":\"" ID "\",\"eventType\":\"known.v1\"}", {{0}}, EVENT_IGNORED, NULL, false, 0, 0},
        {"not handled, id bad",
         "{\"eventId\":\"x\",\"eventType\":\"known.v1\"}",
         {{0}},
         EVENT_IGNORED,
         NULL,
         false,
         0,
         0},
        {"not handled, but malformed", "{", {{"eventType", "known.v1"}}, EVENT_BROKEN, "malformed", false, 0, 0},
        /* P1 */
        {"tombstone skipped", NULL, {{"eventId", ID}}, EVENT_IGNORED, NULL, false, 0, CONFIG_TOMBSTONE_SKIP},
        {"tombstone delivered",
         NULL,
         {{"eventId", ID}, {"eventType", TYPE}},
         EVENT_READY,
         NULL,
         true,
         0,
         CONFIG_TOMBSTONE_DELIVER},
        {"tombstone without id",
         NULL,
         {{"eventType", TYPE}},
         EVENT_BROKEN,
         "id_missing",
         false,
         0,
         CONFIG_TOMBSTONE_DELIVER},
        {"tombstone without type",
         NULL,
         {{"eventId", ID}},
         EVENT_BROKEN,
         "type_missing",
         true,
         0,
         CONFIG_TOMBSTONE_DELIVER},
        {"tombstone not handled",
         NULL,
         {{"eventType", "known.v1"}},
         EVENT_IGNORED,
         NULL,
         false,
         0,
         CONFIG_TOMBSTONE_DELIVER},
        {"tombstone refused", NULL, {{"eventId", ID}}, EVENT_BROKEN, "tombstone", true, 0, CONFIG_TOMBSTONE_DLQ},
        {"tombstone refused, no headers", NULL, {{0}}, EVENT_BROKEN, "tombstone", false, 0, CONFIG_TOMBSTONE_DLQ},
        {"empty is no tombstone", "", {{0}}, EVENT_BROKEN, "malformed", false, 0, CONFIG_TOMBSTONE_SKIP},
        {"JSON null is no tombstone",
         "null",
         {{"eventId", ID}, {"eventType", TYPE}},
         EVENT_READY,
         NULL,
         true,
         0,
         CONFIG_TOMBSTONE_SKIP},
};

/* known.v1 is known and not handled. */
static struct event_types *types_with_a_known_one(void)
{
	static const char *const handled[] = {TYPE, NULL};
	char folder[] = "types-XXXXXX", path[64];
	static const char *const names[] = {TYPE, "known.v1"};

	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s.json", folder, names[i]);
		FILE *file = fopen(path, "w");
		ck_assert_ptr_nonnull(file);
		ck_assert_int_eq(fclose(file), 0);
	}
	struct event_types *made = event_types_create(folder, handled, NULL);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s.json", folder, names[i]);
		remove(path);
	}
	remove(folder);
	return made;
}

START_TEST(a_record_is_an_event_or_says_why_not)
{
	event_types_destroy(types);
	types = types_with_a_known_one();
	config.id_version = cases[_i].version;
	config.tombstone = cases[_i].tombstone;
	struct event event = open_with(cases[_i].value, cases[_i].headers);

	ck_assert_msg(event.state == cases[_i].state, "%s: state %d, reason %s", cases[_i].name, event.state,
	              event.reason ? event.reason : "none");
	ck_assert_msg(event.has_id == cases[_i].has_id, "%s: has_id %d", cases[_i].name, event.has_id);
	ck_assert_int_eq(event.has_uuid, event.has_id);
	if (cases[_i].reason) {
		ck_assert_msg(strcmp(event.reason, cases[_i].reason) == 0, "%s: %s", cases[_i].name, event.reason);
		ck_assert_ptr_nonnull(event.detail);
	} else {
		ck_assert_ptr_null(event.reason);
	}
	if (event.has_id && cases[_i].version == CONFIG_ID_V7)
		ck_assert_msg(bytes_equal_string(event.id_text, ID), "%s", cases[_i].name);
	ck_assert_int_eq(event.payload.ptr == NULL, cases[_i].value == NULL);
}
END_TEST

START_TEST(a_reason_tells_the_rule)
{
	ck_assert_ptr_nonnull(strstr(open_with(WITH_ID(V4_ID), NULL).detail, "not version 7"));
	ck_assert_ptr_nonnull(strstr(open_with("{\"x\":[1,}", NULL).detail, "at byte"));
	ck_assert_ptr_nonnull(strstr(open_with(WITH_ID(NIL_ID), NULL).detail, "nil"));
}
END_TEST

/* P15 */
START_TEST(deep_and_big_values_are_refused_by_their_own_reasons)
{
	char *deep = arena_alloc(&arena, 100001), *big = arena_alloc(&arena, (1 << 20) + 2);

	memset(deep, '[', 100000);
	deep[100000] = '\0';
	memset(big, ' ', (1 << 20) + 1);
	big[(1 << 20) + 1] = '\0';
	ck_assert_str_eq(open_with(deep, NULL).reason, "too_deep");
	ck_assert_str_eq(open_with(big, NULL).reason, "too_big");
}
END_TEST

START_TEST(an_event_carries_what_the_record_says)
{
	struct header headers[] = {{"traceparent", TRACE}, {0}};
	struct event event = open_with(WITH_ID(ID_UPPER), headers);

	ck_assert_int_eq(event.state, EVENT_READY);
	ck_assert(bytes_equal_string(event.id_text, ID));
	ck_assert(bytes_equal_string(event.type, TYPE));
	ck_assert(bytes_equal_string(event.key, "record key"));
	ck_assert(bytes_equal_string(event.order_key, "record key"));
	ck_assert(bytes_equal_string(event.payload, WITH_ID(ID_UPPER)));
	ck_assert(bytes_equal_string(event.traceparent, TRACE));
	ck_assert_ptr_nonnull(event.document);
	ck_assert_ptr_null(event.business_key.ptr);
	ck_assert_uint_eq(event.attempt, 1);
	ck_assert_uint_eq(event.round, 0);
	ck_assert_int_eq(event.due_ms, 0);
	ck_assert(!event.retried && !event.replayed);
	ck_assert_str_eq(event.origin_topic, "t.orders");
	ck_assert_int_eq(event.origin_partition, 3);
	ck_assert_int_eq(event.origin_offset, 77);
	ck_assert_int_eq(event.origin_timestamp_ms, 1234);
	ck_assert_int_eq(event.record.offset, 77);
}
END_TEST

static const struct {
	const char *field, *json, *expected;
} order_keys[] = {
        {"orderId", "{\"orderId\":12.50}", "12.50"},
        {"orderId", "{\"orderId\":\"a\\u0062\"}", "ab"},
        {"orderId", "{\"orderId\":\"\"}", ""},
        {"orderId", "{\"orderId\":true}", "true"},
        {"/order/id", "{\"order\":{\"id\":7}}", "7"},
        {"orderId", "{\"orderId\":null}", NULL},
        {"orderId", "{\"orderId\":{}}", NULL},
        {"orderId", "{\"orderId\":[1]}", NULL},
        {"orderId", "{}", NULL},
        {"orderId", "{\"orderId\":", NULL},
        {"orderId", NULL, NULL},
};

START_TEST(the_ordering_key_is_a_field_when_one_is_named)
{
	config.key = order_keys[_i].field;
	config.tombstone = CONFIG_TOMBSTONE_DELIVER;
	struct event event = open_with(order_keys[_i].json, NULL);

	ck_assert(bytes_equal_string(event.order_key, order_keys[_i].expected));
}
END_TEST

#define GROUP                                                                                                          \
	{                                                                                                              \
		"x-consumer-group", "billing-orders"                                                                   \
	}
#define RETRY_HEADERS                                                                                                  \
	{"x-attempt", "3"}, {"x-round", "1"}, {"x-due-ms", "1800000000000"}, {"x-origin-topic", "t.first"},            \
	        {"x-origin-partition", "9"}, {"x-origin-offset", "123456789012"},                                      \
	{                                                                                                              \
		"x-origin-timestamp", "55"                                                                             \
	}

START_TEST(retry_headers_of_our_group_count)
{
	struct header headers[] = {GROUP, RETRY_HEADERS, {0}};
	struct event event = open_with(WITH_ID(ID), headers);

	ck_assert_int_eq(event.state, EVENT_READY);
	ck_assert_uint_eq(event.attempt, 3);
	ck_assert_uint_eq(event.round, 1);
	ck_assert_int_eq(event.due_ms, INT64_C(1800000000000));
	ck_assert(event.retried && event.replayed);
	ck_assert_str_eq(event.origin_topic, "t.first");
	ck_assert_int_eq(event.origin_partition, 9);
	ck_assert_int_eq(event.origin_offset, INT64_C(123456789012));
	ck_assert_int_eq(event.origin_timestamp_ms, 55);
	ck_assert_str_eq(event.record.topic, "t.orders");
}
END_TEST

START_TEST(retry_headers_of_another_group_do_not)
{
	struct header other[] = {{"x-consumer-group", "billing-order"}, RETRY_HEADERS, {0}};
	struct header none[] = {RETRY_HEADERS, {0}};
	const struct event events[] = {open_with(WITH_ID(ID), other), open_with(WITH_ID(ID), none)};

	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(events[i].attempt, 1);
		ck_assert_uint_eq(events[i].round, 0);
		ck_assert_int_eq(events[i].due_ms, 0);
		ck_assert(!events[i].retried && !events[i].replayed);
		ck_assert_str_eq(events[i].origin_topic, "t.orders");
	}
}
END_TEST

static const char *const garbage[] = {
        "",     "0",    "-1", "+1", " 2", "2 ", "0x2", "2.0", "4294967296", "2147483648", "18446744073709551617",
        "many", "\xff", NULL};

START_TEST(a_count_that_is_garbage_is_the_first)
{
	struct header headers[] = {GROUP, {"x-attempt", garbage[_i]}, {"x-round", garbage[_i]}, {0}};
	struct event event = open_with(WITH_ID(ID), headers);

	ck_assert_int_eq(event.state, EVENT_READY);
	ck_assert_uint_eq(event.attempt, 1);
	ck_assert_uint_eq(event.round, 0);
	ck_assert(!event.retried && !event.replayed);
}
END_TEST

START_TEST(an_origin_is_taken_whole_or_not)
{
	struct header half[] = {GROUP, {"x-origin-topic", "t.first"}, {"x-origin-partition", "9"}, {0}};
	struct header wide[] = {GROUP,
	                        {"x-origin-topic", "t.first"},
	                        {"x-origin-partition", "2147483648"},
	                        {"x-origin-offset", "1"},
	                        {0}};
	struct header untimed[] = {GROUP,
	                           {"x-origin-topic", "t.first"},
	                           {"x-origin-partition", "2147483647"},
	                           {"x-origin-offset", "9223372036854775807"},
	                           {"x-origin-timestamp", "-1"},
	                           {0}};

	ck_assert_str_eq(open_with(WITH_ID(ID), half).origin_topic, "t.orders");
	ck_assert_int_eq(open_with(WITH_ID(ID), half).origin_partition, 3);
	ck_assert_str_eq(open_with(WITH_ID(ID), wide).origin_topic, "t.orders");
	struct event event = open_with(WITH_ID(ID), untimed);
	ck_assert_int_eq(event.origin_partition, INT32_MAX);
	ck_assert_int_eq(event.origin_offset, INT64_MAX);
	ck_assert_int_eq(event.origin_timestamp_ms, -1);
}
END_TEST

static const char *const no_topics[] = {"", ".", "..", "a b", "a/b", "a:b", "\xc3\xa9", "a\n", NULL};

START_TEST(an_origin_that_is_no_topic_name_is_not_taken)
{
	struct header headers[] = {
	        GROUP, {"x-origin-topic", no_topics[_i]}, {"x-origin-partition", "9"}, {"x-origin-offset", "1"}, {0}};
	char long_name[251];

	ck_assert_str_eq(open_with(WITH_ID(ID), headers).origin_topic, "t.orders");
	memset(long_name, 'x', 250);
	long_name[250] = '\0';
	headers[1].value = long_name;
	ck_assert_str_eq(open_with(WITH_ID(ID), headers).origin_topic, "t.orders");
	headers[1].value = long_name + 1;
	ck_assert_str_eq(open_with(WITH_ID(ID), headers).origin_topic, long_name + 1);
}
END_TEST

START_TEST(the_last_of_several_headers_counts)
{
	struct header headers[] = {GROUP, {"x-attempt", "5"}, {"x-attempt", "2"}, {0}};

	ck_assert_uint_eq(open_with(WITH_ID(ID), headers).attempt, 2);
}
END_TEST

/* ---- business keys (B-1) ---- */

static const struct {
	const char *value;
	struct header headers[3];
	enum event_state state;
	const char *reason, *key;
	bool has_uuid;
} business[] = {
        {WITH_ID(ID), {{0}}, EVENT_READY, NULL, TYPE ":12.50", true},
        {NO_ID, {{0}}, EVENT_READY, NULL, TYPE ":12.50", false},
        {NO_ID, {{"eventId", ID}}, EVENT_READY, NULL, TYPE ":12.50", true},
        {"{\"eventType\":\"" TYPE "\"}", {{"eventId", ID}}, EVENT_BROKEN, "key_incomplete", NULL, true},
        {WITH_ID("x"), {{0}}, EVENT_BROKEN, "id_invalid", TYPE ":12.50", false},
        {WITH_ID(ID), {{"eventId", OTHER_ID}}, EVENT_BROKEN, "id_mismatch", TYPE ":12.50", false},
        {"{\"orderId\":1}", {{"eventId", ID}}, EVENT_BROKEN, "type_missing", NULL, true},
        {"{\"orderId\":1,\"eventType\":\"x\"}", {{0}}, EVENT_BROKEN, "type_unknown", "x:1", false},
        {"{\"orderId\":1,", {{"eventId", ID}}, EVENT_BROKEN, "malformed", NULL, true},
};

START_TEST(a_business_key_takes_the_place_of_the_id)
{
	config.business_key = "{eventType}:{orderId}";
	struct event event = open_with(business[_i].value, business[_i].headers);

	ck_assert_int_eq(event.state, business[_i].state);
	if (business[_i].reason)
		ck_assert_str_eq(event.reason, business[_i].reason);
	ck_assert(bytes_equal_string(event.business_key, business[_i].key));
	ck_assert_int_eq(event.has_id, business[_i].key != NULL);
	ck_assert_int_eq(event.has_uuid, business[_i].has_uuid);
}
END_TEST

START_TEST(a_business_key_that_is_too_long_is_refused)
{
	char *value = arena_printf(&arena, "{\"eventType\":\"" TYPE "\",\"orderId\":\"%0200d\"}", 1);

	config.business_key = "{eventType}:{orderId}";
	struct event event = open_with(value, NULL);
	ck_assert_str_eq(event.reason, "key_too_long");
	ck_assert(!event.has_id);
	ck_assert_ptr_nonnull(strstr(event.detail, "{orderId}"));
}
END_TEST

START_TEST(an_envelope_without_any_dedup_key_is_a_mistake)
{
	struct envelope envelope;
	struct error error;

	config.id_count = 0;
	ck_assert(!envelope_init(&envelope, &config, "billing-orders", types, &error));
	config.business_key = "{offset}";
	ck_assert(!envelope_init(&envelope, &config, "billing-orders", types, &error));
	config.business_key = "{orderId}";
	ck_assert(envelope_init(&envelope, &config, "billing-orders", types, &error));
	envelope_done(&envelope);
}
END_TEST

/* ---- content hash, traceparent ---- */

START_TEST(the_content_hash_is_the_start_of_sha_256)
{
	const int64_t of_nothing = (int64_t)UINT64_C(0xe3b0c44298fc1c14),
	              of_abc = (int64_t)UINT64_C(0xba7816bf8f01cfea);

	ck_assert_int_eq(content_hash(BYTES_LITERAL("abc")), of_abc);
	ck_assert_int_eq(content_hash(BYTES_LITERAL("")), of_nothing);
	ck_assert_int_eq(content_hash(BYTES_NONE), of_nothing);
	ck_assert_int_eq(content_hash(BYTES_LITERAL("abc")), of_abc);
	ck_assert_int_eq(open_with("abc", NULL).content_hash, of_abc);
	ck_assert_int_eq(open_with(NULL, NULL).content_hash, of_nothing);
}
END_TEST

static const struct {
	const char *text;
	bool good;
} traces[] = {
        {TRACE, true},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", true},
        {"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true},
        {NULL, false},
        {"", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false},
        {"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more", false},
        {"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-\r\nx: y", false},
        {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false},
        {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false},
        {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01", false},
        {"0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\n", false},
};

START_TEST(a_traceparent_is_passed_on_when_it_is_one)
{
	struct header headers[] = {{"traceparent", traces[_i].text}, {0}};

	ck_assert_int_eq(trace_is_parent(bytes_from_string(traces[_i].text)), traces[_i].good);
	ck_assert_int_eq(open_with(WITH_ID(ID), headers).traceparent.ptr != NULL, traces[_i].good);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(*(table)))

int main(void)
{
	Suite *suite = suite_create("envelope");
	TCase *tests = tcase_create("envelope");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, a_record_is_an_event_or_says_why_not, 0, COUNT(cases));
	tcase_add_test(tests, a_reason_tells_the_rule);
	tcase_add_test(tests, deep_and_big_values_are_refused_by_their_own_reasons);
	tcase_add_test(tests, an_event_carries_what_the_record_says);
	tcase_add_loop_test(tests, the_ordering_key_is_a_field_when_one_is_named, 0, COUNT(order_keys));
	tcase_add_test(tests, retry_headers_of_our_group_count);
	tcase_add_test(tests, retry_headers_of_another_group_do_not);
	tcase_add_loop_test(tests, a_count_that_is_garbage_is_the_first, 0, COUNT(garbage));
	tcase_add_test(tests, an_origin_is_taken_whole_or_not);
	tcase_add_loop_test(tests, an_origin_that_is_no_topic_name_is_not_taken, 0, COUNT(no_topics));
	tcase_add_test(tests, the_last_of_several_headers_counts);
	tcase_add_loop_test(tests, a_business_key_takes_the_place_of_the_id, 0, COUNT(business));
	tcase_add_test(tests, a_business_key_that_is_too_long_is_refused);
	tcase_add_test(tests, an_envelope_without_any_dedup_key_is_a_mistake);
	tcase_add_test(tests, the_content_hash_is_the_start_of_sha_256);
	tcase_add_loop_test(tests, a_traceparent_is_passed_on_when_it_is_one, 0, COUNT(traces));
	return run_suite(suite);
}
