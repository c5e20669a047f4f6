#include "core/base/clock.h"
#include "core/kafka/producer.h"
#include "tests/component/broker.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 30000 };

/* What became of each send; the opaque is its number. */
struct reports {
	int ok, failed, of[100];
	struct error last;
};

static void on_delivered(void *self, void *opaque, const struct kafka_place *place, const struct error *error)
{
	struct reports *reports = self;
	int number = (int)(intptr_t)opaque;
	ck_assert_int_eq(reports->of[number], 0);
	reports->of[number] = place ? 1 : -1;
	reports->ok += place != NULL;
	reports->failed += !place;
	if (!place)
		reports->last = *error;
}

static struct kafka_producer *producer_create(struct reports *reports, const struct kafka_property *properties,
                                              size_t count)
{
	struct error error;
	struct kafka_producer_options options = {
	        .properties = properties, .property_count = count, .self = reports, .on_delivered = on_delivered};
	*reports = (struct reports){0};
	struct kafka_producer *producer = kafka_producer_create(&options, &error);
	ck_assert_msg(producer != NULL, "%s", error.text);
	return producer;
}

static void send_ok(struct kafka_producer *producer, const struct kafka_record *record, int number)
{
	struct error error;
	ck_assert_msg(kafka_producer_send(producer, record, (void *)(intptr_t)number, &error), "%s", error.text);
}

static void poll_until_reported(struct kafka_producer *producer, const struct reports *reports, int count)
{
	int64_t deadline_ms = clock_monotonic_ms() + WAIT_MS;
	while (reports->ok + reports->failed < count) {
		ck_assert_msg(clock_monotonic_ms() < deadline_ms, "%d of %d reported", reports->ok + reports->failed,
		              count);
		kafka_producer_poll(producer, 100);
	}
}

static struct kafka_record record_of(const char *topic, struct bytes key, struct bytes value)
{
	return (struct kafka_record){
	        .topic = topic, .partition = 0, .offset = -1, .timestamp_ms = -1, .key = key, .value = value};
}

static void check_bytes(struct bytes found, struct bytes wanted)
{
	ck_assert_msg(bytes_equal(found, wanted), "'%.*s' (%s) instead of '%.*s' (%s)", BYTES_ARG(found),
	              found.ptr ? "not null" : "null", BYTES_ARG(wanted), wanted.ptr ? "not null" : "null");
}

START_TEST(null_and_empty_come_back_as_they_were) /* P3 */
{
	static const struct bytes variants[] = {{NULL, 0}, {"", 0}, {"a\0b", 3}};
	struct bytes key = variants[_i / 3], value = variants[_i % 3];
	struct kafka_header headers[] = {
	        {BYTES_LITERAL("null"), BYTES_NONE},       {BYTES_LITERAL("empty"), {"", 0}},
	        {BYTES_LITERAL("twice"), {"1", 1}},        {BYTES_LITERAL("twice"), {"2", 1}},
	        {BYTES_LITERAL("binary"), {"\0\xC3(", 3}},
	};
	struct reports reports;
	struct kafka_property broker = broker_property();
	struct kafka_producer *producer = producer_create(&reports, &broker, 1);
	const char *topic = unique_name("variants");
	topic_create(broker, topic, 1, NULL);
	struct kafka_record record = record_of(topic, key, value), found;
	record.headers = headers;
	record.header_count = 5;
	record.timestamp_ms = 1700000000123;
	send_ok(producer, &record, 1);
	poll_until_reported(producer, &reports, 1);
	ck_assert_int_eq(reports.ok, 1);
	kafka_producer_destroy(producer, 1000);

	struct arena arena;
	arena_init(&arena, 4096);
	rd_kafka_message_t *message = message_read(broker, topic, 0, 0);
	kafka_record_from_message(message, &arena, &found);
	check_bytes(found.key, key);
	check_bytes(found.value, value);
	ck_assert_int_eq(found.timestamp_ms, 1700000000123);
	ck_assert_int_eq(found.offset, 0);
	ck_assert_str_eq(found.topic, topic);
	ck_assert_uint_eq(found.header_count, 5);
	for (size_t i = 0; i < 5; i++) {
		check_bytes(found.headers[i].name, headers[i].name);
		check_bytes(found.headers[i].value, headers[i].value);
	}
	message_release(message);
	arena_done(&arena);
}
END_TEST

START_TEST(a_record_that_is_too_large_says_so)
{
	static char large[5000];
	static const char *const settings[] = {"max.message.bytes", "2000", NULL};
	struct reports reports;
	struct kafka_property broker = broker_property();
	const char *topic = unique_name("small");
	topic_create(broker, topic, 1, settings);
	struct kafka_producer *producer = producer_create(&reports, &broker, 1);
	memset(large, 'x', sizeof(large));
	struct kafka_record record = record_of(topic, BYTES_NONE, (struct bytes){large, sizeof(large)});
	send_ok(producer, &record, 1);
	poll_until_reported(producer, &reports, 1);
	ck_assert_int_eq(reports.failed, 1);
	ck_assert_int_eq(reports.last.code, ERROR_LIMIT);
	ck_assert(!reports.last.retriable);
	ck_assert_msg(strstr(reports.last.text, topic), "%s", reports.last.text);
	ck_assert_uint_eq(kafka_producer_in_flight(producer), 0);
	kafka_producer_destroy(producer, 1000);
}
END_TEST

START_TEST(what_the_broker_refuses_is_reported_with_whether_it_may_help_to_try_again)
{
	struct mock mock = mock_create();
	struct reports reports;
	struct kafka_producer *producer = producer_create(&reports, &mock.property, 1);
	struct kafka_record record = record_of("t", BYTES_NONE, BYTES_LITERAL("v"));
	rd_kafka_mock_push_request_errors(mock.cluster, API_PRODUCE, 1, RD_KAFKA_RESP_ERR_POLICY_VIOLATION);
	send_ok(producer, &record, 1);
	poll_until_reported(producer, &reports, 1);
	ck_assert_int_eq(reports.failed, 1);
	ck_assert_int_eq(reports.last.code, ERROR_KAFKA);
	ck_assert(!reports.last.retriable);
	send_ok(producer, &record, 2);
	poll_until_reported(producer, &reports, 2);
	ck_assert_int_eq(reports.ok, 1);
	kafka_producer_destroy(producer, 1000);
	mock_destroy(&mock);
}
END_TEST

START_TEST(a_client_that_failed_for_good_is_replaced)
{
	struct mock mock = mock_create();
	struct reports reports;
	struct kafka_producer *producer = producer_create(&reports, &mock.property, 1);
	struct kafka_record record = record_of("t", BYTES_NONE, BYTES_LITERAL("v"));
	send_ok(producer, &record, 0);
	poll_until_reported(producer, &reports, 1);
	rd_kafka_mock_push_request_errors(mock.cluster, API_PRODUCE, 1, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
	send_ok(producer, &record, 1);
	poll_until_reported(producer, &reports, 2);
	ck_assert_int_eq(reports.of[1], -1);
	ck_assert_msg(reports.last.retriable, "%s", reports.last.text);
	int number = 2;
	for (int64_t deadline_ms = clock_monotonic_ms() + WAIT_MS; reports.ok < 2; number++) {
		struct error error;
		ck_assert_msg(clock_monotonic_ms() < deadline_ms, "no client of it writes any more");
		if (kafka_producer_send(producer, &record, (void *)(intptr_t)number, &error))
			poll_until_reported(producer, &reports, reports.ok + reports.failed + 1);
		else
			ck_assert_msg(error.retriable, "%s", error.text);
		kafka_producer_poll(producer, 10);
		ck_assert_int_lt(number, 99);
	}
	ck_assert_uint_eq(kafka_producer_in_flight(producer), 0);
	kafka_producer_destroy(producer, 1000);
	mock_destroy(&mock);
}
END_TEST

START_TEST(a_full_queue_refuses_and_says_that_it_passes)
{
	struct mock mock = mock_create();
	struct reports reports;
	struct error error;
	struct kafka_property properties[] = {
	        mock.property, {"queue.buffering.max.messages", "10"}, {"linger.ms", "10000"}};
	struct kafka_producer *producer = producer_create(&reports, properties, 3);
	struct kafka_record record = record_of("t", BYTES_NONE, BYTES_LITERAL("v"));
	for (int i = 0; i < 10; i++)
		send_ok(producer, &record, i);
	ck_assert(!kafka_producer_send(producer, &record, NULL, &error));
	ck_assert(error.retriable);
	ck_assert_uint_eq(kafka_producer_in_flight(producer), 10);
	kafka_producer_destroy(producer, 10000); /* waits for what is in flight, linger or not */
	ck_assert_int_eq(reports.ok, 10);
	mock_destroy(&mock);
}
END_TEST

START_TEST(destroying_reports_what_could_not_be_sent_as_failed)
{
	struct reports reports;
	struct kafka_property nobody = {"bootstrap.servers", "127.0.0.1:1"};
	struct kafka_producer *producer = producer_create(&reports, &nobody, 1);
	struct kafka_record record = record_of("t", BYTES_NONE, BYTES_LITERAL("v"));
	for (int i = 0; i < 5; i++)
		send_ok(producer, &record, i);
	kafka_producer_destroy(producer, 100);
	ck_assert_int_eq(reports.failed, 5);
	ck_assert(reports.last.retriable);
}
END_TEST

int main(int argc, char **argv)
{
	(void)argc;
	broker_need(argv);
	TCase *tests = tcase_create("producer");
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, null_and_empty_come_back_as_they_were, 0, 9);
	tcase_add_test(tests, a_record_that_is_too_large_says_so);
	tcase_add_test(tests, what_the_broker_refuses_is_reported_with_whether_it_may_help_to_try_again);
	tcase_add_test(tests, a_client_that_failed_for_good_is_replaced);
	tcase_add_test(tests, a_full_queue_refuses_and_says_that_it_passes);
	tcase_add_test(tests, destroying_reports_what_could_not_be_sent_as_failed);
	Suite *suite = suite_create("producer");
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
