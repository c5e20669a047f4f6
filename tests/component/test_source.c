#include <check.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/pipeline/source_parts.h"
#include "tests/component/source_bench.h"
#include "tests/unit/run_suite.h"

static struct broker broker;
static struct host host, other;

static void set_up(void)
{
	broker_start(&broker);
	broker_topic(&broker, TOPIC, 3);
	host_init(&host);
}

static void tear_down(void)
{
	broker_stop(&broker);
}

/* Each offset of the partition once, in order. */
static void expect_all(struct host *seen_by, int partition, size_t count)
{
	ck_assert_uint_eq(seen_by->seen[partition].count, count);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(seen_by->seen[partition].offsets[i], (int64_t)i);
}

START_TEST(consumes_everything_in_order_and_commits_it)
{
	broker_produce_many(&broker, 3, 500, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 1500);
	host_wait_metric(&host, METRIC_records_consumed, 1500);
	host_stop(&host);
	ck_assert_msg(host.result, "%s", host.error.text);
	for (int i = 0; i < 3; i++) {
		expect_all(&host, i, 500);
		ck_assert_int_eq(broker_committed(&broker, TOPIC, i), 500);
	}
	ck_assert_int_eq(metrics_get(&host.metrics, METRIC_records_consumed), 1500);
	ck_assert_int_ge(metrics_get(&host.metrics, METRIC_offset_commits), 1);
	ck_assert_int_eq(metrics_get(&host.metrics, METRIC_partitions_assigned), 0);
}
END_TEST

START_TEST(goes_on_where_the_group_is)
{
	broker_produce_many(&broker, 3, 10, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 30);
	host_stop(&host);
	broker_produce(&broker, TOPIC, 1, "k", "v", 0);
	broker_flush(&broker);
	host_init(&other);
	host_start(&other, &broker, NULL);
	host_wait_total(&other, 1);
	host_stop(&other);
	ck_assert_uint_eq(other.total, 1);
	ck_assert_int_eq(other.seen[1].offsets[0], 10);
}
END_TEST

/* K11 */
START_TEST(a_slow_partition_holds_back_no_other)
{
	host.pipeline.queue.depth = 50;
	host.held_back = 20;
	host.batch_max = 1; /* what shares a batch with a slow record waits with it */
	broker_produce_many(&broker, 3, 1000, 10);
	host_start(&host, &broker, NULL);
	host_wait_seen(&host, 1, 1000);
	host_wait_seen(&host, 2, 1000);
	ck_assert_uint_le(host_seen(&host, 0), 20);
	host_hold_back(&host, -1);
	host_wait_seen(&host, 0, 1000);
	host_stop(&host);
	expect_all(&host, 0, 1000); /* nothing skipped and nothing twice over all the pauses */
	expect_all(&host, 1, 1000);
	ck_assert_int_eq(broker_committed(&broker, TOPIC, 0), 1000);
}
END_TEST

START_TEST(too_far_past_the_first_unfinished_record_is_paused)
{
	host.pipeline.ordering = CONFIG_ORDERING_NONE;
	host.pipeline.queue.max_ahead = 200;
	host.batch_max = 1;
	host.held_back = 0;
	broker_produce_many(&broker, 1, 3000, 10);
	host_start(&host, &broker, NULL);
	host_wait_metric(&host, METRIC_queue_records, 200);
	host_wait_metric(&host, METRIC_offset_commits, 0);
	ck_assert_int_le(metrics_get(&host.metrics, METRIC_queue_records), 200 + SOURCE_POLL_MAX);
	host_hold_back(&host, -1);
	host_wait_total(&host, 3000);
	host_stop(&host);
	ck_assert_uint_eq(host.total, 3000);
	ck_assert_int_eq(broker_committed(&broker, TOPIC, 0), 3000);
}
END_TEST

START_TEST(bytes_stay_under_their_cap_and_a_small_partition_flows)
{
	host.pipeline.queue.max_bytes = 1 << 20;
	host.held_back = 0;
	host.batch_max = 1;
	char *value = calloc(1, 20001);
	memset(value, 'v', 20000);
	for (int i = 0; i < 150; i++)
		broker_produce(&broker, TOPIC, 0, "k", value, 0);
	free(value);
	for (int i = 0; i < 2000; i++)
		broker_produce(&broker, TOPIC, 1, "k", "small", 0);
	broker_flush(&broker);
	host_start(&host, &broker, NULL);
	host_wait_seen(&host, 1, 2000);
	host_wait_metric(&host, METRIC_queue_bytes, 300000);
	ck_assert_int_le(metrics_get(&host.metrics, METRIC_queue_bytes), 1 << 20);
	host_hold_back(&host, -1);
	host_wait_seen(&host, 0, 150);
	host_stop(&host);
	expect_all(&host, 0, 150);
	expect_all(&host, 1, 2000);
}
END_TEST

START_TEST(a_record_larger_than_the_cap_still_comes)
{
	host.pipeline.queue.max_bytes = 64 << 10;
	broker_produce_many(&broker, 3, 3, 100 << 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 9);
	host_stop(&host);
	for (int i = 0; i < 3; i++)
		expect_all(&host, i, 3);
}
END_TEST

START_TEST(nothing_is_fetched_while_paused_and_nothing_is_lost)
{
	host.pipeline.queue.depth = 50;
	broker_produce_many(&broker, 3, 3000, 10);
	host_start(&host, &broker, NULL);
	for (size_t total = 100; total < 4000; total += 1000) {
		host_wait_total(&host, total);
		source_set_paused(host.source, true);
		host_wait_idle(&host);
		source_set_paused(host.source, false);
	}
	host_wait_total(&host, 9000);
	host_stop(&host);
	for (int i = 0; i < 3; i++)
		expect_all(&host, i, 3000);
}
END_TEST

START_TEST(a_source_that_starts_paused_gives_out_nothing)
{
	broker_produce_many(&broker, 3, 100, 10);
	host_create(&host, &broker, NULL);
	source_set_paused(host.source, true);
	host_run(&host);
	host_wait_metric(&host, METRIC_partitions_assigned, 3);
	host_wait_idle(&host);
	ck_assert_uint_eq(host.total, 0);
	source_set_paused(host.source, false);
	host_wait_total(&host, 300);
	host_stop(&host);
	for (int i = 0; i < 3; i++)
		expect_all(&host, i, 100);
}
END_TEST

/* CONS-X2, Y7 */
START_TEST(a_retry_record_comes_when_it_is_due_and_blocks_nothing)
{
	broker_topic(&broker, GROUP ".retry.1s", 1);
	broker_topic(&broker, "billingXretry.1s", 1); /* another group's: the dot is no wildcard */
	broker_produce(&broker, "billingXretry.1s", 0, "k", "v", 0);
	broker_flush(&broker);
	host_start(&host, &broker, NULL);
	host_wait_metric(&host, METRIC_partitions_assigned, 4);
	int64_t due_ms = clock_wall_ms() + 3000;
	broker_produce(&broker, GROUP ".retry.1s", 0, "k", "v", due_ms);
	broker_produce_many(&broker, 3, 100, 10);
	host_wait_total(&host, 300);
	ck_assert_int_lt(clock_wall_ms(), due_ms);
	host_wait_total(&host, 301);
	ck_assert_int_ge(host.retry_seen_ms, due_ms);
	ck_assert_int_le(host.retry_seen_ms, due_ms + 1000);
	host_stop(&host);
	ck_assert_uint_eq(host.total, 301);
	ck_assert_int_eq(broker_committed(&broker, GROUP ".retry.1s", 0), 1);
}
END_TEST

START_TEST(a_retry_record_without_a_readable_time_is_due)
{
	broker_topic(&broker, GROUP ".retry.1s", 1);
	broker_produce(&broker, GROUP ".retry.1s", 0, "k", "v", 0);
	broker_produce(&broker, GROUP ".retry.1s", 0, "k", "v", -5);
	broker_flush(&broker);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 2);
	host_stop(&host);
}
END_TEST

#define YEAR_9999_MS 253402300799000

/* A configured tier; one that is no more and tells by its name; one that is nobody's; replays. */
static const struct {
	const char *topic;
	int64_t delay_ms;
} retry_topics[] = {{GROUP ".retry.1s", 1000},
                    {GROUP ".retry.7m", 420000},
                    {GROUP ".retry.99d", INT64_C(7) * 86400000},
                    {GROUP ".retry.replay", 0}};

START_TEST(a_retry_record_of_the_year_9999_waits_no_longer_than_its_tier)
{
	static int64_t delays_ms[] = {500, 1000};
	host.pipeline.retry.delays = (struct config_durations){delays_ms, 2};
	broker_topic(&broker, retry_topics[_i].topic, 1);
	host_start(&host, &broker, NULL);
	host_wait_metric(&host, METRIC_partitions_assigned, 1);
	int64_t now_ms = clock_wall_ms();
	/* It has three seconds left of its delay, and of the minute for clocks that differ. */
	broker_produce_at(&broker, (struct broker_record){.topic = retry_topics[_i].topic,
	                                                  .value = "v",
	                                                  .due_ms = YEAR_9999_MS,
	                                                  .written_ms = now_ms - 57000 - retry_topics[_i].delay_ms});
	broker_flush(&broker);
	host_wait_total(&host, 1);
	ck_assert_int_ge(host.retry_seen_ms, now_ms + 3000);
	ck_assert_int_le(host.retry_seen_ms, now_ms + 13000);
	host_stop(&host);
}
END_TEST

START_TEST(a_retry_record_that_was_written_in_the_year_9999_is_due)
{
	broker_topic(&broker, GROUP ".retry.1s", 1);
	broker_produce_at(&broker, (struct broker_record){.topic = GROUP ".retry.1s",
	                                                  .value = "v",
	                                                  .due_ms = YEAR_9999_MS,
	                                                  .written_ms = YEAR_9999_MS});
	broker_flush(&broker);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 1);
	host_stop(&host);
}
END_TEST

static bool never(struct host *asked)
{
	(void)asked;
	return false;
}

START_TEST(offsets_are_not_committed_before_the_database_was_told)
{
	host.answer = never;
	broker_produce_many(&broker, 3, 10, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 30);
	ck_assert_int_eq(pthread_mutex_lock(&host.lock), 0);
	while (host.unanswered == 0)
		ck_assert_int_eq(pthread_cond_wait(&host.changed, &host.lock), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&host.lock), 0);
	ck_assert_int_eq(metrics_get(&host.metrics, METRIC_offset_commits), 0);
	ck_assert_int_eq(pthread_mutex_lock(&host.lock), 0);
	host.answer = NULL;
	ck_assert_int_eq(pthread_mutex_unlock(&host.lock), 0);
	source_progress_written(host.source, false, NULL, 0); /* it is handed over again */
	host_wait_metric(&host, METRIC_offset_commits, 1);
	ck_assert_int_eq(host.unanswered, 1);
	host_stop(&host);
	ck_assert_int_eq(broker_committed(&broker, TOPIC, 0), 10);
}
END_TEST

START_TEST(what_the_database_was_not_told_is_not_committed_when_leaving)
{
	host.answer = never;
	host.is_refused = true;
	broker_produce_many(&broker, 3, 10, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 30);
	host_stop(&host);
	ck_assert(!host.result);
	ck_assert_int_eq(broker_committed(&broker, TOPIC, 0), -1);
}
END_TEST

/* The database lost what it had of the first partition behind offset 3, until it was told once. */
static int64_t lost(struct host *asked, const struct dedup_progress *row)
{
	if (row->partition != 0 || strcmp(row->topic, TOPIC) != 0 || row->known_offset <= 3)
		return -1;
	asked->went_back = NULL;
	return 3;
}

START_TEST(what_a_database_that_went_back_lost_is_read_again)
{
	broker_produce_many(&broker, 3, 10, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 30);
	for (int i = 0; i < 3; i++)
		broker_wait_committed(&broker, TOPIC, i, 10);
	ck_assert_int_eq(pthread_mutex_lock(&host.lock), 0);
	host.went_back = lost;
	ck_assert_int_eq(pthread_mutex_unlock(&host.lock), 0);
	broker_produce_many(&broker, 3, 1, 10);
	host_wait_total(&host, 33 + 8);
	for (int i = 0; i < 3; i++)
		broker_wait_committed(&broker, TOPIC, i, 11);
	host_stop(&host);
	ck_assert_msg(host.result, "%s", host.error.text);
	ck_assert_int_eq(metrics_get(&host.metrics, METRIC_database_went_back), 1);
	ck_assert_uint_eq(host.seen[0].count, 11 + 8);
	for (size_t i = 11; i < host.seen[0].count; i++)
		ck_assert_int_eq(host.seen[0].offsets[i], (int64_t)i - 8);
	ck_assert_uint_eq(host.total, 33 + 8);
}
END_TEST

/* L1 */
START_TEST(stopping_finishes_what_was_begun_and_leaves_the_rest)
{
	host.batch_max = 10;
	host.held_back = 10;
	broker_produce_many(&broker, 1, 1000, 10);
	host_start(&host, &broker, NULL);
	host_wait_seen(&host, 0, 10);
	host_stop(&host);
	ck_assert_msg(host.result, "%s", host.error.text);
	ck_assert_uint_eq(host.total, 10);
	ck_assert_int_eq(broker_committed(&broker, TOPIC, 0), 10);
}
END_TEST

/* R1 */
START_TEST(a_second_member_goes_on_where_the_first_committed)
{
	broker_produce_many(&broker, 3, 200, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 600);
	for (int i = 0; i < 3; i++) /* the mock cluster takes no commit while the group rebalances */
		broker_wait_committed(&broker, TOPIC, i, 200);
	host_init(&other);
	host_start(&other, &broker, NULL);
	host_wait_metric(&other, METRIC_partitions_assigned, 1);
	broker_produce_many(&broker, 3, 200, 10);
	while (atomic_load(&host.metrics.value[METRIC_records_consumed]) +
	               atomic_load(&other.metrics.value[METRIC_records_consumed]) <
	       1200)
		host_wait_metric(&host, METRIC_records_consumed, 600);
	for (int i = 0; i < 3; i++)
		broker_wait_committed(&broker, TOPIC, i, 400);
	host_stop(&other);
	host_stop(&host);
	ck_assert_uint_eq(host.total + other.total, 1200); /* nothing twice */
	ck_assert_uint_ge(other.total, 200);
}
END_TEST

START_TEST(a_commit_that_failed_in_a_rebalance_long_ago_does_not_spoil_the_stop)
{
	enum { API_OFFSET_COMMIT = 8, MANY = 1000 };
	broker_produce_many(&broker, 3, 10, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 30);
	rd_kafka_resp_err_t refused[MANY];
	for (int i = 0; i < MANY; i++)
		refused[i] = RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE;
	rd_kafka_mock_push_request_errors_array(broker.cluster, API_OFFSET_COMMIT, MANY, refused);
	broker_produce_many(&broker, 3, 10, 10);
	host_wait_total(&host, 60);
	int64_t rebalances = metrics_get(&host.metrics, METRIC_rebalances);
	host_init(&other);
	host_start(&other, &broker, NULL);
	host_wait_metric(&host, METRIC_rebalances, rebalances + 1);
	rd_kafka_mock_clear_request_errors(broker.cluster, API_OFFSET_COMMIT);
	for (int i = 0; i < 3; i++)
		broker_wait_committed(&broker, TOPIC, i, 20);
	host_stop(&other);
	host_stop(&host);
	ck_assert_msg(host.result, "%s", host.error.text);
}
END_TEST

START_TEST(a_handler_that_does_not_come_back_holds_a_revoke_up_no_longer_than_allowed)
{
	host.batch_max = 1; /* else the others would stand behind it in one batch */
	host.pipeline.revoke_max_ms = 200;
	host.held_back = 0;
	host.is_stuck = true;
	broker_produce_many(&broker, 3, 1, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 2);
	int64_t rebalances = metrics_get(&host.metrics, METRIC_rebalances);
	host_init(&other);
	host_start(&other, &broker, NULL);
	host_wait_metric(&host, METRIC_rebalances, rebalances + 1); /* it gave up all, and the handler still runs */
	host_hold_back(&host, -1);
	broker_wait_committed(&broker, TOPIC, 0, 1);
	host_stop(&other);
	host_stop(&host);
	ck_assert_uint_ge(host.seen[0].count + other.seen[0].count, 1);
}
END_TEST

/* U1 */
START_TEST(lag_rows_go_with_their_partitions)
{
	broker_produce_many(&broker, 3, 10, 10);
	host_start(&host, &broker, NULL);
	host_wait_total(&host, 30);
	size_t used = 0;
	for (int i = 0; i < METRICS_PARTITIONS; i++) /* the topic for replays has rows too */
		used += host.metrics.lag[i].used && strcmp(host.metrics.lag[i].topic, TOPIC) == 0;
	ck_assert_uint_eq(used, 3);
	host_stop(&host);
	for (int i = 0; i < METRICS_PARTITIONS; i++)
		ck_assert_uint_eq(host.metrics.lag[i].used, 0);
}
END_TEST

/* R13 */
START_TEST(a_fatal_error_ends_the_source_and_names_the_instance)
{
	struct kafka_property extra[] = {{"group.instance.id", "host-7"}, {NULL, NULL}};
	host.metrics.ready = 1;
	host_start(&host, &broker, extra);
	host_wait_metric(&host, METRIC_partitions_assigned, 3);
	rd_kafka_test_fatal_error(kafka_consumer_handle(host.source->consumer), RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
	                          "fenced");
	host_join(&host);
	ck_assert(!host.result);
	ck_assert(host.error.fatal);
	ck_assert_ptr_nonnull(strstr(host.error.text, "host-7"));
	ck_assert_ptr_nonnull(strstr(host.metrics.not_ready_reason, "host-7"));
	ck_assert_int_eq(host.metrics.ready, 0);
}
END_TEST

static struct config_source id_places[] = {{CONFIG_PLACE_PAYLOAD, "eventId"}};

START_TEST(the_key_of_a_lane_is_the_payload_field)
{
	host.pipeline.ordering = CONFIG_ORDERING_KEY;
	host.pipeline.event.key = "orderId";
	host.pipeline.event.ids = id_places;
	host.pipeline.event.id_count = 1;
	host.pipeline.workers = 3;
	host.held_back = 0;
	host.batch_max = 1;
	broker_produce(&broker, TOPIC, 0, "same", "{\"orderId\": 1}", 0);
	broker_produce(&broker, TOPIC, 0, "same", "{\"orderId\": 1}", 0);
	broker_produce(&broker, TOPIC, 0, "same", "{\"orderId\": 2}", 0);
	broker_flush(&broker);
	host_start(&host, &broker, NULL);
	host_wait_metric(&host, METRIC_queue_records, 3);
	/* Two workers hold one each, and the third finds nothing: the second of order 1 waits for the first. */
	while (lanes_taken(host.lanes) != 2 || lanes_waiting(host.lanes) != 1)
		;
	host_hold_back(&host, -1);
	host_wait_total(&host, 3);
	host_stop(&host);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("source");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, consumes_everything_in_order_and_commits_it);
	tcase_add_test(tests, goes_on_where_the_group_is);
	tcase_add_test(tests, a_slow_partition_holds_back_no_other);
	tcase_add_test(tests, too_far_past_the_first_unfinished_record_is_paused);
	tcase_add_test(tests, bytes_stay_under_their_cap_and_a_small_partition_flows);
	tcase_add_test(tests, a_record_larger_than_the_cap_still_comes);
	tcase_add_test(tests, nothing_is_fetched_while_paused_and_nothing_is_lost);
	tcase_add_test(tests, a_source_that_starts_paused_gives_out_nothing);
	tcase_add_test(tests, a_retry_record_comes_when_it_is_due_and_blocks_nothing);
	tcase_add_test(tests, a_retry_record_without_a_readable_time_is_due);
	tcase_add_loop_test(tests, a_retry_record_of_the_year_9999_waits_no_longer_than_its_tier, 0,
	                    sizeof(retry_topics) / sizeof(*retry_topics));
	tcase_add_test(tests, a_retry_record_that_was_written_in_the_year_9999_is_due);
	tcase_add_test(tests, offsets_are_not_committed_before_the_database_was_told);
	tcase_add_test(tests, what_the_database_was_not_told_is_not_committed_when_leaving);
	tcase_add_test(tests, what_a_database_that_went_back_lost_is_read_again);
	tcase_add_test(tests, stopping_finishes_what_was_begun_and_leaves_the_rest);
	tcase_add_test(tests, a_second_member_goes_on_where_the_first_committed);
	tcase_add_test(tests, a_commit_that_failed_in_a_rebalance_long_ago_does_not_spoil_the_stop);
	tcase_add_test(tests, a_handler_that_does_not_come_back_holds_a_revoke_up_no_longer_than_allowed);
	tcase_add_test(tests, lag_rows_go_with_their_partitions);
	tcase_add_test(tests, a_fatal_error_ends_the_source_and_names_the_instance);
	tcase_add_test(tests, the_key_of_a_lane_is_the_payload_field);
	Suite *suite = suite_create("source");
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
