#include "core/base/clock.h"
#include "core/event/event.h"
#include "core/kafka/admin.h"
#include "core/retry/outgoing.h"
#include "core/retry/router.h"
#include "tests/component/broker.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 30000, TIERS = 5, PARTITIONS = 3 };

static const int64_t delays_ms[TIERS] = {500, 5000, 60000, 5400000, 86400000};
static const char *const delay_names[TIERS] = {"500ms", "5s", "1m", "90m", "1d"};

/* A pipeline, its router, and what the router said. */
struct fixture {
	struct config_pipeline pipeline;
	const char *source;
	char dlq[250];
	int64_t delays_ms[TIERS];
	struct kafka_property broker;
	struct router *router;
	int finished, troubles, finished_of[32];
	enum route route;
	struct kafka_place letter;      /* where the last dead letter stands */
	size_t payloads, payload_bytes; /* of dead letters that did not fit */
	struct error trouble;
	struct arena arena;
};

static void on_acknowledged(void *self, void *opaque, enum route route, const struct letter *letter)
{
	struct fixture *fixture = self;
	int number = (int)(intptr_t)opaque;
	ck_assert_int_eq(fixture->finished_of[number]++, 0);
	fixture->finished++;
	fixture->route = route;
	ck_assert_int_eq(letter != NULL, route == ROUTE_DEAD);
	if (letter)
		fixture->letter = (struct kafka_place){letter->partition, letter->offset, letter->died_ms};
	if (letter && letter->payload.ptr) {
		fixture->payloads++;
		fixture->payload_bytes += letter->payload.len;
	}
	router_settle(fixture->router, 1);
}

static void on_trouble(void *self, void *opaque, const struct error *error)
{
	struct fixture *fixture = self;
	ck_assert_int_eq(fixture->finished_of[(intptr_t)opaque], 0);
	fixture->troubles++;
	fixture->trouble = *error;
}

static void fixture_init(struct fixture *fixture, struct kafka_property broker)
{
	*fixture = (struct fixture){.source = unique_name("source"), .broker = broker};
	struct config_pipeline *pipeline = &fixture->pipeline;
	pipeline->name = unique_name("group");
	snprintf(fixture->dlq, sizeof(fixture->dlq), "%s.dlq", pipeline->name);
	pipeline->dlq_topic = fixture->dlq;
	pipeline->topics.items = &fixture->source;
	pipeline->topics.count = 1;
	pipeline->retry.mode = CONFIG_RETRY_TOPICS;
	memcpy(fixture->delays_ms, delays_ms, sizeof(delays_ms));
	pipeline->retry.delays.ms = fixture->delays_ms;
	pipeline->retry.delays.count = TIERS;
	arena_init(&fixture->arena, 65536);
}

static struct router *try_create(struct fixture *fixture, struct error *error)
{
	struct router_options options = {
	        .pipeline = &fixture->pipeline,
	        .properties = &fixture->broker,
	        .property_count = 1,
	        .plugin_name = "billing",
	        .plugin_version = "1.2.3",
	        .self = fixture,
	        .on_acknowledged = on_acknowledged,
	        .on_trouble = on_trouble,
	};
	return router_create(&options, error);
}

static void fixture_open(struct fixture *fixture)
{
	struct error error;
	fixture->router = try_create(fixture, &error);
	ck_assert_msg(fixture->router != NULL, "%s", error.text);
}

static void fixture_done(struct fixture *fixture)
{
	router_destroy(fixture->router, 1000);
	arena_done(&fixture->arena);
}

/* The event a pipeline makes of a record. */
static struct event open_event(struct fixture *fixture, const struct kafka_record *record)
{
	struct error error;
	struct config_event config = {.max_bytes = 1 << 20, .max_depth = 64, .id_version = CONFIG_ID_ANY};
	struct config_source id = {CONFIG_PLACE_HEADER, "eventId"};
	config.ids = &id;
	config.id_count = 1;
	config.type = (struct config_source){CONFIG_PLACE_PAYLOAD, "eventType"};
	struct envelope envelope;
	struct event event;
	static const char *const none[] = {NULL};
	struct event_types *types = event_types_create(NULL, none, &error);
	ck_assert_ptr_nonnull(types);
	ck_assert(envelope_init(&envelope, &config, fixture->pipeline.name, types, &error));
	envelope_open(&envelope, record, &fixture->arena, &event);
	envelope_done(&envelope);
	event_types_destroy(types);
	return event;
}

static void poll_until_finished(struct fixture *fixture, int count)
{
	int64_t deadline_ms = clock_monotonic_ms() + WAIT_MS;
	while (fixture->finished < count) {
		ck_assert_msg(clock_monotonic_ms() < deadline_ms, "%d of %d finished", fixture->finished, count);
		router_poll(fixture->router, 50);
	}
	ck_assert_int_eq(fixture->finished, count);
}

static size_t count_headers(const struct kafka_record *record, const char *name)
{
	size_t count = 0;
	for (size_t i = 0; i < record->header_count; i++)
		count += bytes_equal_string(record->headers[i].name, name);
	return count;
}

static void check_header(const struct kafka_record *record, const char *name, const char *value)
{
	ck_assert_msg(count_headers(record, name) == 1, "%zu times %s", count_headers(record, name), name);
	struct bytes found = kafka_record_header(record, name)->value;
	ck_assert_msg(bytes_equal_string(found, value), "%s is '%.*s' instead of '%s'", name, BYTES_ARG(found), value);
}

static int64_t header_number(const struct kafka_record *record, const char *name)
{
	const struct kafka_header *header = kafka_record_header(record, name);
	ck_assert_ptr_nonnull(header);
	return strtoll(header->value.ptr, NULL, 10);
}

static void check_bytes(struct bytes found, struct bytes wanted)
{
	ck_assert_msg(bytes_equal(found, wanted), "'%.*s' (%s) instead of '%.*s' (%s)", BYTES_ARG(found),
	              found.ptr ? "not null" : "null", BYTES_ARG(wanted), wanted.ptr ? "not null" : "null");
}

/* The original's headers in their order, before ours. */
static void check_originals(const struct kafka_record *found, const struct kafka_record *original)
{
	ck_assert_uint_ge(found->header_count, original->header_count);
	for (size_t i = 0; i < original->header_count; i++) {
		check_bytes(found->headers[i].name, original->headers[i].name);
		check_bytes(found->headers[i].value, original->headers[i].value);
	}
	check_bytes(found->key, original->key);
	check_bytes(found->value, original->value);
}

static size_t header_bytes(const struct kafka_record *record)
{
	size_t bytes = 0;
	for (size_t i = 0; i < record->header_count; i++)
		bytes += record->headers[i].name.len + record->headers[i].value.len;
	return bytes;
}

#define TEXT(text)                                                                                                     \
	{                                                                                                              \
		(text), sizeof(text) - 1                                                                               \
	} /* of a static one */
static struct kafka_header original_headers[] = {
        {TEXT("eventId"), TEXT("01890a5d-ac96-774b-bcce-b302099a8057")},
        {TEXT("traceparent"), TEXT("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")},
        {TEXT("twice"), {"1", 1}},
        {TEXT("null"), {NULL, 0}},
        {TEXT("twice"), {"", 0}},
};

static struct kafka_record original_record(const struct fixture *fixture)
{
	return (struct kafka_record){
	        .topic = fixture->source,
	        .partition = 2,
	        .offset = 4711,
	        .timestamp_ms = 1600000000123, /* far older than any retention */
	        .key = BYTES_LITERAL("order-1"),
	        .value = BYTES_LITERAL("{\"eventType\":\"paid\"}"),
	        .headers = original_headers,
	        .header_count = sizeof(original_headers) / sizeof(original_headers[0]),
	};
}

static void check_origin(const struct kafka_record *record, const struct fixture *fixture)
{
	check_header(record, HEADER_ORIGIN_TOPIC, fixture->source);
	check_header(record, HEADER_ORIGIN_PARTITION, "2");
	check_header(record, HEADER_ORIGIN_OFFSET, "4711");
	check_header(record, HEADER_ORIGIN_TIMESTAMP, "1600000000123");
	check_header(record, HEADER_GROUP, fixture->pipeline.name);
	check_header(record, HEADER_PLUGIN, "billing");
	check_header(record, HEADER_PLUGIN_VERSION, "1.2.3");
}

START_TEST(our_headers_are_there_once_after_five_tiers_and_the_originals_untouched) /* Y1, DLQ-1 */
{
	static char long_text[8193];
	struct fixture fixture;
	fixture_init(&fixture, broker_property());
	topic_create(fixture.broker, fixture.source, PARTITIONS, NULL);
	fixture_open(&fixture);
	memset(long_text, 'e', sizeof(long_text) - 1);
	struct kafka_record original = original_record(&fixture), record = original;
	rd_kafka_message_t *message = NULL;
	for (uint32_t attempt = 1; attempt <= TIERS + 1; attempt++) {
		struct event event = open_event(&fixture, &record);
		ck_assert_uint_eq(event.attempt, attempt);
		enum route route = attempt <= TIERS ? ROUTE_RETRY : ROUTE_DEAD;
		int64_t before_ms = clock_wall_ms();
		router_send(fixture.router, &event, route, "handler_retry", bytes_from_string(long_text),
		            (void *)(intptr_t)attempt);
		poll_until_finished(&fixture, (int)attempt);
		ck_assert_int_eq(fixture.route, route);
		if (message)
			message_release(message);

		char topic[250];
		if (route == ROUTE_RETRY)
			router_retry_topic(&fixture.pipeline, attempt - 1, topic, sizeof(topic));
		else
			snprintf(topic, sizeof(topic), "%s", fixture.pipeline.dlq_topic);
		message = only_message_read(fixture.broker, topic, PARTITIONS);
		kafka_record_from_message(message, &fixture.arena, &record);
		check_originals(&record, &original);
		check_origin(&record, &fixture);
		check_header(&record, HEADER_REASON, "handler_retry");
		ck_assert_uint_eq(count_headers(&record, HEADER_ERROR), 1);
		ck_assert_uint_eq(kafka_record_header(&record, HEADER_ERROR)->value.len, OUTGOING_ERROR_MAX);
		ck_assert_uint_le(header_bytes(&record), header_bytes(&original) + 2048);
		ck_assert_int_eq(header_number(&record, HEADER_ATTEMPT), route == ROUTE_RETRY ? attempt + 1 : attempt);
		ck_assert_int_ge(record.timestamp_ms, before_ms);
		ck_assert_uint_eq(count_headers(&record, HEADER_DUE), route == ROUTE_RETRY);
		if (route == ROUTE_RETRY) {
			int64_t due_ms = header_number(&record, HEADER_DUE),
			        wanted_ms = before_ms + delays_ms[attempt - 1];
			ck_assert_int_ge(due_ms, wanted_ms);
			ck_assert_int_lt(due_ms, wanted_ms + 10000);
		}
	}
	message_release(message);
	ck_assert_int_eq(fixture.troubles, 0);
	fixture_done(&fixture);
}
END_TEST

START_TEST(null_and_empty_go_through_unchanged) /* P3 */
{
	static const struct bytes variants[] = {{NULL, 0}, {"", 0}, {"v", 1}};
	struct fixture fixture;
	fixture_init(&fixture, broker_property());
	topic_create(fixture.broker, fixture.source, PARTITIONS, NULL);
	fixture_open(&fixture);
	struct kafka_record original = original_record(&fixture), record;
	original.key = variants[_i / 3];
	original.value = variants[_i % 3];
	struct event event = open_event(&fixture, &original);
	router_send(fixture.router, &event, ROUTE_DEAD, "malformed", BYTES_NONE, NULL);
	poll_until_finished(&fixture, 1);
	rd_kafka_message_t *message = only_message_read(fixture.broker, fixture.pipeline.dlq_topic, PARTITIONS);
	kafka_record_from_message(message, &fixture.arena, &record);
	check_originals(&record, &original);
	ck_assert_uint_eq(count_headers(&record, HEADER_ERROR), 0);
	message_release(message);
	fixture_done(&fixture);
}
END_TEST

START_TEST(topics_have_the_names_of_their_delays_and_the_partitions_of_the_source)
{
	struct fixture fixture;
	struct error error;
	fixture_init(&fixture, broker_property());
	topic_create(fixture.broker, fixture.source, PARTITIONS, NULL);
	fixture_open(&fixture);
	for (size_t i = 0; i <= TIERS; i++) {
		char topic[250], wanted[250];
		snprintf(topic, sizeof(topic), "%s", fixture.pipeline.dlq_topic);
		if (i < TIERS) {
			router_retry_topic(&fixture.pipeline, i, topic, sizeof(topic));
			snprintf(wanted, sizeof(wanted), "%s.retry.%s", fixture.pipeline.name, delay_names[i]);
			ck_assert_str_eq(topic, wanted);
		}
		struct kafka_topics_size size;
		const char *name = topic;
		topic_wait(broker_property(), topic, PARTITIONS);
		ck_assert_msg(kafka_topics_measure(&fixture.broker, 1, &(struct config_strings){&name, 1}, 10000, &size,
		                                   &error),
		              "%s", error.text);
		ck_assert_int_eq(size.partitions, PARTITIONS);
		ck_assert_int_ge(size.max_message_bytes, 16 << 20);
	}
	fixture_done(&fixture);
}
END_TEST

START_TEST(a_compacted_dead_letter_topic_is_refused)
{
	static const char *const settings[] = {"cleanup.policy", "compact", NULL};
	struct fixture fixture;
	struct error error;
	fixture_init(&fixture, broker_property());
	topic_create(fixture.broker, fixture.pipeline.dlq_topic, 1, settings);
	ck_assert_ptr_null(try_create(&fixture, &error));
	ck_assert_msg(strstr(error.text, fixture.pipeline.dlq_topic) && strstr(error.text, "compacted"), "%s",
	              error.text);
}
END_TEST

START_TEST(a_topic_that_is_too_small_for_the_error_text_gets_the_record_without)
{
	static const char *const settings[] = {"max.message.bytes", "2400", NULL};
	static char text[1001], payload[1001];
	struct fixture fixture;
	fixture_init(&fixture, broker_property());
	topic_create(fixture.broker, fixture.source, PARTITIONS, NULL);
	topic_create(fixture.broker, fixture.pipeline.dlq_topic, PARTITIONS, settings);
	fixture_open(&fixture);
	memset(text, 'e', sizeof(text) - 1);
	memset(payload, 'p', sizeof(payload) - 1);
	struct kafka_record original = original_record(&fixture), record;
	original.value = bytes_from_string(payload);
	struct event event = open_event(&fixture, &original);
	router_send(fixture.router, &event, ROUTE_DEAD, "malformed", bytes_from_string(text), NULL);
	poll_until_finished(&fixture, 1);
	ck_assert_int_eq(fixture.troubles, 2); /* in company, alone */
	ck_assert_int_eq(fixture.trouble.code, ERROR_LIMIT);
	rd_kafka_message_t *message = only_message_read(fixture.broker, fixture.pipeline.dlq_topic, PARTITIONS);
	kafka_record_from_message(message, &fixture.arena, &record);
	check_originals(&record, &original);
	check_origin(&record, &fixture);
	ck_assert_uint_eq(count_headers(&record, HEADER_ERROR), 0);
	message_release(message);
	fixture_done(&fixture);
}
END_TEST

START_TEST(a_record_that_is_too_large_is_kept_in_the_index_and_its_neighbours_go) /* Y24 */
{
	enum { SMALL = 20 };
	static const char *const settings[] = {"max.message.bytes", "12000", NULL};
	static char large[20000];
	struct fixture fixture;
	fixture_init(&fixture, broker_property());
	topic_create(fixture.broker, fixture.source, 1, NULL);
	topic_create(fixture.broker, fixture.pipeline.dlq_topic, 1, settings);
	fixture_open(&fixture);
	memset(large, 'x', sizeof(large) - 1);
	struct kafka_record original = original_record(&fixture);
	struct event event = open_event(&fixture, &original);
	original.value = bytes_from_string(large);
	struct event oversize = open_event(&fixture, &original);
	for (intptr_t i = 0; i < SMALL; i++) {
		router_send(fixture.router, &event, ROUTE_DEAD, "rejected", BYTES_LITERAL("no"), (void *)i);
		if (i == SMALL / 2)
			router_send(fixture.router, &oversize, ROUTE_DEAD, "rejected", BYTES_LITERAL("no"), (void *)31);
	}
	poll_until_finished(&fixture, SMALL + 1);
	ck_assert_int_eq(fixture.finished_of[31], 1);
	ck_assert_uint_eq(router_pending(fixture.router), 0);
	ck_assert_uint_eq(fixture.payloads, 1);
	ck_assert_uint_eq(fixture.payload_bytes, sizeof(large) - 1);
	ck_assert_int_eq(topic_record_count(fixture.broker, fixture.pipeline.dlq_topic, 1), SMALL + 1);
	fixture_done(&fixture);
}
END_TEST

START_TEST(a_record_whose_pointer_is_too_large_is_held_and_a_retry_record_is_never_cut)
{
	static const char *const settings[] = {"max.message.bytes", "100", NULL};
	struct fixture fixture;
	fixture_init(&fixture, broker_property());
	fixture.pipeline.retry.delays.count = 1;
	topic_create(fixture.broker, fixture.source, 1, NULL);
	topic_create(fixture.broker, fixture.pipeline.dlq_topic, 1, settings);
	char retry[250];
	router_retry_topic(&fixture.pipeline, 0, retry, sizeof(retry));
	topic_create(fixture.broker, retry, 1, settings);
	fixture_open(&fixture);
	struct kafka_record original = original_record(&fixture);
	struct event event = open_event(&fixture, &original);
	router_send(fixture.router, &event, ROUTE_DEAD, "rejected", BYTES_LITERAL("no"), (void *)1);
	router_send(fixture.router, &event, ROUTE_RETRY, "later", BYTES_LITERAL("no"), (void *)2);
	while (fixture.troubles <
	       8) /* in company, alone, without the error, without the value; the other one as often */
		router_poll(fixture.router, 50);
	ck_assert_int_eq(fixture.finished, 0);
	ck_assert_uint_eq(router_pending(fixture.router), 2);
	fixture_done(&fixture);
}
END_TEST

START_TEST(what_the_broker_refuses_is_tried_again_once_a_second_until_it_is_written) /* Y3, Y5 */
{
	enum { EVENTS = 3, REFUSALS = 4 };
	struct mock mock = mock_create();
	struct fixture fixture;
	fixture_init(&fixture, mock.property);
	ck_assert_int_eq(rd_kafka_mock_topic_create(mock.cluster, fixture.source, PARTITIONS, 1), 0);
	ck_assert_int_eq(rd_kafka_mock_topic_create(mock.cluster, fixture.pipeline.dlq_topic, 1, 1), 0);
	fixture_open(&fixture);
	struct kafka_record original = original_record(&fixture);
	for (int i = 0; i < REFUSALS; i++)
		rd_kafka_mock_push_request_errors(mock.cluster, API_PRODUCE, 1, RD_KAFKA_RESP_ERR_POLICY_VIOLATION);
	int64_t begin_ms = clock_monotonic_ms();
	struct event event = open_event(&fixture, &original);
	for (intptr_t i = 0; i < EVENTS; i++)
		router_send(fixture.router, &event, ROUTE_DEAD, "rejected", BYTES_LITERAL("no"), (void *)i);
	ck_assert_uint_eq(router_pending(fixture.router), EVENTS);
	while (fixture.troubles == 0)
		router_poll(fixture.router, 50);
	ck_assert_int_eq(fixture.finished, 0);
	ck_assert_uint_eq(router_pending(fixture.router), EVENTS);
	poll_until_finished(&fixture, EVENTS);
	int64_t took_ms = clock_monotonic_ms() - begin_ms;
	ck_assert_int_ge(took_ms, 1000);
	ck_assert_int_le(fixture.troubles, EVENTS * (1 + took_ms / 1000));
	ck_assert_uint_eq(router_pending(fixture.router), 0);
	ck_assert_int_eq(topic_record_count(mock.property, fixture.pipeline.dlq_topic, 1), EVENTS);
	fixture_done(&fixture);
	mock_destroy(&mock);
}
END_TEST

START_TEST(a_producer_that_failed_for_good_does_not_stop_the_router)
{
	struct mock mock = mock_create();
	struct fixture fixture;
	fixture_init(&fixture, mock.property);
	ck_assert_int_eq(rd_kafka_mock_topic_create(mock.cluster, fixture.source, PARTITIONS, 1), 0);
	fixture_open(&fixture);
	struct kafka_record original = original_record(&fixture);
	struct event event = open_event(&fixture, &original);
	rd_kafka_mock_push_request_errors(mock.cluster, API_PRODUCE, 1, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
	router_send(fixture.router, &event, ROUTE_RETRY, "later", BYTES_NONE, NULL);
	poll_until_finished(&fixture, 1);
	ck_assert_int_ge(fixture.troubles, 1);
	ck_assert(fixture.trouble.retriable);
	fixture_done(&fixture);
	mock_destroy(&mock);
}
END_TEST

START_TEST(destroying_gives_up_what_is_not_written_and_says_nothing_of_it)
{
	struct mock mock = mock_create();
	struct fixture fixture;
	fixture_init(&fixture, mock.property);
	fixture_open(&fixture);
	struct kafka_record original = original_record(&fixture);
	struct event event = open_event(&fixture, &original);
	rd_kafka_mock_broker_set_down(mock.cluster, 1);
	for (intptr_t i = 0; i < 3; i++)
		router_send(fixture.router, &event, ROUTE_DEAD, "rejected", BYTES_NONE, (void *)i);
	fixture_done(&fixture);
	ck_assert_int_eq(fixture.finished, 0);
	mock_destroy(&mock);
}
END_TEST

START_TEST(an_error_text_is_cut_between_characters)
{
	char text[OUTGOING_ERROR_MAX + 2];
	struct fixture fixture;
	fixture_init(&fixture, broker_property());
	memset(text, 'e', sizeof(text));
	memcpy(text + OUTGOING_ERROR_MAX - 1, "\xC3\xA9", 2); /* the limit falls into it */
	struct kafka_record original = original_record(&fixture);
	struct event event = open_event(&fixture, &original);
	struct router_options options = {.pipeline = &fixture.pipeline, .plugin_name = "p", .plugin_version = "1"};
	struct outgoing *outgoing =
	        outgoing_create(&options, "t", &event, ROUTE_DEAD, "r", (struct bytes){text, sizeof(text)});
	ck_assert_uint_eq(kafka_record_header(&outgoing->record, HEADER_ERROR)->value.len, OUTGOING_ERROR_MAX - 1);
	ck_assert(outgoing_shrink(outgoing));
	ck_assert_ptr_null(kafka_record_header(&outgoing->record, HEADER_ERROR));
	ck_assert(bytes_equal(outgoing->record.value, original.value));
	ck_assert(outgoing_shrink(outgoing));
	ck_assert_ptr_null(outgoing->record.value.ptr);
	ck_assert(bytes_equal(outgoing->letter.payload, original.value));
	ck_assert(bytes_equal_string(kafka_record_header(&outgoing->record, HEADER_PAYLOAD)->value, "database"));
	ck_assert(!outgoing_shrink(outgoing));
	outgoing_destroy(outgoing);
	arena_done(&fixture.arena);
}
END_TEST

int main(int argc, char **argv)
{
	(void)argc;
	broker_need(argv);
	TCase *tests = tcase_create("router");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, our_headers_are_there_once_after_five_tiers_and_the_originals_untouched);
	tcase_add_loop_test(tests, null_and_empty_go_through_unchanged, 0, 9);
	tcase_add_test(tests, topics_have_the_names_of_their_delays_and_the_partitions_of_the_source);
	tcase_add_test(tests, a_compacted_dead_letter_topic_is_refused);
	tcase_add_test(tests, a_topic_that_is_too_small_for_the_error_text_gets_the_record_without);
	tcase_add_test(tests, a_record_that_is_too_large_is_kept_in_the_index_and_its_neighbours_go);
	tcase_add_test(tests, a_record_whose_pointer_is_too_large_is_held_and_a_retry_record_is_never_cut);
	tcase_add_test(tests, what_the_broker_refuses_is_tried_again_once_a_second_until_it_is_written);
	tcase_add_test(tests, a_producer_that_failed_for_good_does_not_stop_the_router);
	tcase_add_test(tests, destroying_gives_up_what_is_not_written_and_says_nothing_of_it);
	tcase_add_test(tests, an_error_text_is_cut_between_characters);
	Suite *suite = suite_create("router");
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
