#include "core/base/clock.h"
#include "core/kafka/rebalance.h"
#include "tests/component/broker.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 4, WAIT_MS = 60000, BATCH = 300000 };

struct member_options;

/* One member of a group and all it was told. */
struct member {
	struct kafka_consumer *consumer;
	const char *topic;
	bool owned[PARTITIONS], commit_on_revoke;
	int64_t start[PARTITIONS];   /* as committed, when assigned */
	int64_t first[PARTITIONS];   /* offset given out first since then, -1 none */
	int64_t next[PARTITIONS];    /* after the last one given out */
	int64_t rewrite[PARTITIONS]; /* >= 0: written into the assignment */
	int assigned, revoked, lost, commits, fatal, resets, statistics;
	rd_kafka_resp_err_t fatal_code, commit_code;
	int64_t committed;
	char reset_text[256];
	/* Called from the middle of a poll that holds messages already, when it meets the answer to a commit. */
	void (*inside)(struct member *member);
	struct member *second;
	const struct member_options *second_options;
	sem_t *in_poll; /* posted from inside the poll; NULL: nobody waits for that */
};

static void on_assign(void *self, struct kafka_position *positions, size_t count)
{
	struct member *member = self;
	for (size_t i = 0; i < count; i++) {
		int32_t partition = positions[i].partition;
		ck_assert(!member->owned[partition]);
		member->owned[partition] = true;
		member->assigned++;
		member->start[partition] = positions[i].offset;
		member->first[partition] = -1;
		member->next[partition] = -1;
		if (member->rewrite[partition] >= 0)
			positions[i].offset = member->rewrite[partition];
	}
}

static void on_revoke(void *self, const struct kafka_position *positions, size_t count, bool lost)
{
	struct member *member = self;
	for (size_t i = 0; i < count; i++) {
		int32_t partition = positions[i].partition;
		ck_assert(member->owned[partition]);
		member->owned[partition] = false;
		member->revoked++;
		member->lost += lost;
		struct kafka_position position = {member->topic, partition, member->next[partition]};
		struct error error;
		if (member->commit_on_revoke && position.offset > 0)
			ck_assert_msg(kafka_consumer_commit_wait(member->consumer, &position, 1, 5000, &error), "%s",
			              error.text);
	}
}

static void on_error(void *self, rd_kafka_resp_err_t code, const char *text, bool fatal)
{
	struct member *member = self;
	ck_assert_ptr_nonnull(text);
	member->fatal += fatal;
	if (fatal)
		member->fatal_code = code;
}

static void on_committed(void *self, rd_kafka_resp_err_t code, const struct kafka_position *positions, size_t count)
{
	struct member *member = self;
	ck_assert_uint_eq(count, 1);
	member->commits++;
	member->commit_code = code;
	member->committed = positions[0].offset;
	if (member->inside && member->consumer->batch_count > 0)
		member->inside(member);
}

static void on_reset(void *self, const char *topic, int32_t partition, const char *text)
{
	struct member *member = self;
	ck_assert_str_eq(topic, member->topic);
	ck_assert(member->owned[partition]);
	member->resets++;
	snprintf(member->reset_text, sizeof(member->reset_text), "%s", text);
}

static void on_statistics(void *self, const char *json, size_t len)
{
	struct member *member = self;
	ck_assert_uint_gt(len, 2);
	ck_assert_int_eq(json[0], '{');
	member->statistics++;
	if (member->in_poll)
		ck_assert_int_eq(sem_post(member->in_poll), 0);
}

struct member_options {
	struct kafka_property bootstrap;
	const char *group, *topic, *assignor, *instance;
	bool start_latest;
};

static void member_join(struct member *member, const struct member_options *options)
{
	struct error error;
	struct kafka_property properties[] = {
	        options->bootstrap,
	        {"partition.assignment.strategy", options->assignor ? options->assignor : "range"},
	        {"session.timeout.ms", "6000"},
	        {"heartbeat.interval.ms", "200"},
	        {"topic.metadata.refresh.interval.ms", "500"},
	        {"group.instance.id", options->instance},
	};
	struct kafka_consumer_options consumer = {
	        .properties = properties,
	        .property_count = options->instance ? 6 : 5,
	        .group = options->group,
	        .start_latest = options->start_latest,
	        .self = member,
	        .on_assign = on_assign,
	        .on_revoke = on_revoke,
	        .on_error = on_error,
	        .on_committed = on_committed,
	        .on_reset = on_reset,
	        .on_statistics = on_statistics,
	};
	*member = (struct member){.topic = options->topic, .rewrite = {-1, -1, -1, -1}};
	member->consumer = kafka_consumer_create(&consumer, &error);
	ck_assert_msg(member->consumer != NULL, "%s", error.text);
	ck_assert_msg(kafka_consumer_subscribe(member->consumer, &options->topic, 1, &error), "%s", error.text);
}

static void member_leave(struct member *member)
{
	kafka_consumer_close(member->consumer);
	kafka_consumer_destroy(member->consumer);
}

/* Every message is of an owned partition and the one that follows the last. */
static size_t member_poll(struct member *member, int timeout_ms, size_t max)
{
	static rd_kafka_message_t *messages[BATCH];
	size_t count = kafka_consumer_poll(member->consumer, timeout_ms, messages, max);
	for (size_t i = 0; i < count; i++) {
		int32_t partition = messages[i]->partition;
		ck_assert_msg(member->owned[partition], "a record of a partition that is not owned");
		if (member->next[partition] >= 0)
			ck_assert_int_eq(messages[i]->offset, member->next[partition]);
		else
			member->first[partition] = messages[i]->offset;
		member->next[partition] = messages[i]->offset + 1;
		rd_kafka_message_destroy(messages[i]);
	}
	return count;
}

#define UNTIL(condition, ...)                                                                                          \
	do {                                                                                                           \
		int64_t deadline_ms = clock_monotonic_ms() + WAIT_MS;                                                  \
		while (!(condition)) {                                                                                 \
			ck_assert_msg(clock_monotonic_ms() < deadline_ms, "not reached: " #condition);                 \
			__VA_ARGS__;                                                                                   \
		}                                                                                                      \
	} while (0)

static int owned_count(const struct member *member)
{
	int count = 0;
	for (int i = 0; i < PARTITIONS; i++)
		count += member->owned[i];
	return count;
}

static int64_t next_sum(const struct member *member)
{
	int64_t sum = 0;
	for (int i = 0; i < PARTITIONS; i++)
		sum += member->next[i] > 0 ? member->next[i] : 0;
	return sum;
}

static struct member_options new_topic(int partitions, int records)
{
	struct member_options options = {
	        .bootstrap = broker_property(), .group = unique_name("group"), .topic = unique_name("topic")};
	topic_create(options.bootstrap, options.topic, partitions, NULL);
	for (int i = 0; records > 0 && i < partitions; i++)
		records_produce(options.bootstrap, options.topic, i, records);
	return options;
}

static void commit_and_wait(struct member *member, int32_t partition, int64_t offset)
{
	struct kafka_position position = {member->topic, partition, offset};
	struct error error;
	ck_assert_msg(kafka_consumer_commit_wait(member->consumer, &position, 1, 10000, &error), "%s", error.text);
}

START_TEST(a_new_group_reads_from_the_beginning_and_goes_on_where_it_committed)
{
	struct member member;
	struct member_options options = new_topic(1, 10);
	member_join(&member, &options);
	UNTIL(member.next[0] == 10, member_poll(&member, 100, BATCH));
	ck_assert_int_eq(member.start[0], RD_KAFKA_OFFSET_INVALID);
	ck_assert_int_eq(member.first[0], 0);
	commit_and_wait(&member, 0, 7);
	member_leave(&member);
	ck_assert_int_eq(member.revoked, 1);

	member_join(&member, &options);
	UNTIL(member.next[0] == 10, member_poll(&member, 100, BATCH));
	ck_assert_int_eq(member.start[0], 7);
	ck_assert_int_eq(member.first[0], 7);
	member_leave(&member);
}
END_TEST

START_TEST(the_offsets_written_into_the_assignment_are_where_reading_starts)
{
	struct member member;
	struct member_options options = new_topic(1, 10);
	member_join(&member, &options);
	member.rewrite[0] = 4;
	UNTIL(member.next[0] == 10, member_poll(&member, 100, BATCH));
	ck_assert_int_eq(member.first[0], 4);
	UNTIL(member.statistics > 0, member_poll(&member, 100, BATCH));
	member_leave(&member);
}
END_TEST

START_TEST(what_comes_after_a_start_at_the_end_is_not_skipped_by_the_next_member) /* R11 */
{
	struct member member;
	struct member_options options = new_topic(1, 5);
	options.start_latest = true;
	member_join(&member, &options);
	UNTIL(member.assigned == 1, member_poll(&member, 100, BATCH));
	member_leave(&member);
	records_produce(options.bootstrap, options.topic, 0, 3);

	member_join(&member, &options);
	UNTIL(member.next[0] == 8, member_poll(&member, 100, BATCH));
	ck_assert_int_eq(member.first[0], 5);
	member_leave(&member);
}
END_TEST

START_TEST(a_commit_is_answered_once_and_one_is_in_flight)
{
	struct member member;
	struct error error;
	struct member_options options = new_topic(1, 5);
	member_join(&member, &options);
	UNTIL(member.next[0] == 5, member_poll(&member, 100, BATCH));
	struct kafka_position position = {options.topic, 0, 5};
	ck_assert(kafka_consumer_commit(member.consumer, &position, 1, &error));
	ck_assert(!kafka_consumer_commit(member.consumer, &position, 1, &error));
	ck_assert(error.retriable);
	UNTIL(member.commits == 1, member_poll(&member, 100, BATCH));
	ck_assert_int_eq(member.commit_code, 0);
	ck_assert_int_eq(member.committed, 5);
	ck_assert(kafka_consumer_commit(member.consumer, &position, 1, &error));
	member_leave(&member);
	ck_assert_int_eq(member.commits, 2);
}
END_TEST

START_TEST(pausing_and_resuming_leaves_no_gap_and_no_duplicate)
{
	enum { RECORDS = 5000 };
	struct member member;
	struct error error;
	struct member_options options = new_topic(2, RECORDS);
	member_join(&member, &options);
	bool paused[2] = {false, false};
	int cycles = 0;
	/* Each round flips one partition, so that pauses fall into full and into empty queues. */
	UNTIL(member.next[0] == RECORDS && member.next[1] == RECORDS, {
		member_poll(&member, 50, (size_t)(1 + cycles * 37 % 500));
		int32_t partition = cycles++ % 3 == 0;
		if (!member.owned[partition] || member.next[partition] < 0)
			continue;
		if (paused[partition])
			ck_assert(kafka_consumer_resume(member.consumer, options.topic, partition,
			                                member.next[partition], &error));
		else
			ck_assert(kafka_consumer_pause(member.consumer, options.topic, partition, &error));
		paused[partition] = !paused[partition];
	});
	ck_assert_int_gt(cycles, 20);
	member_leave(&member);
}
END_TEST

START_TEST(a_paused_partition_gives_nothing_and_resumes_at_the_offset_given)
{
	struct member member;
	struct error error;
	struct member_options options = new_topic(1, 1000);
	member_join(&member, &options);
	UNTIL(member.next[0] >= 10, member_poll(&member, 100, 10));
	ck_assert(kafka_consumer_pause(member.consumer, options.topic, 0, &error));
	for (int i = 0; i < 5; i++)
		ck_assert_uint_eq(member_poll(&member, 50, BATCH), 0);
	ck_assert(kafka_consumer_resume(member.consumer, options.topic, 0, 5, &error));
	member.next[0] = 5;
	UNTIL(member.next[0] == 1000, member_poll(&member, 100, BATCH));
	ck_assert(!kafka_consumer_pause(member.consumer, options.topic, 3, &error));
	ck_assert_int_eq(error.code, ERROR_NOT_FOUND);
	member_leave(&member);
}
END_TEST

static void *wake_in_poll(void *self)
{
	struct member *member = self;
	while (sem_wait(member->in_poll) != 0)
		;
	kafka_consumer_wake(member->consumer);
	return NULL;
}

START_TEST(a_wake_ends_the_poll_that_waits_and_the_next_one_when_none_does)
{
	struct member member;
	struct member_options options = new_topic(1, 0);
	member_join(&member, &options);
	UNTIL(member.assigned == 1, member_poll(&member, 100, BATCH));
	pthread_t thread;
	sem_t in_poll;
	ck_assert_int_eq(sem_init(&in_poll, 0, 0), 0);
	member.in_poll = &in_poll;
	ck_assert_int_eq(pthread_create(&thread, NULL, wake_in_poll, &member), 0);
	int64_t begin_ms = clock_monotonic_ms();
	member_poll(&member, 20000, BATCH);
	ck_assert_int_lt(clock_monotonic_ms() - begin_ms, 10000);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);

	kafka_consumer_wake(member.consumer);
	begin_ms = clock_monotonic_ms();
	member_poll(&member, 20000, BATCH);
	ck_assert_int_lt(clock_monotonic_ms() - begin_ms, 10000);
	member_leave(&member);
}
END_TEST

static const char *const assignors[] = {"range", "cooperative-sticky"};

START_TEST(a_second_member_goes_on_where_the_first_committed_in_its_revoke)
{
	enum { RECORDS = 30000 };
	struct member one, two;
	struct member_options options = new_topic(PARTITIONS, RECORDS);
	options.assignor = assignors[_i];
	member_join(&one, &options);
	one.commit_on_revoke = true;
	UNTIL(next_sum(&one) > 1000, member_poll(&one, 100, 50));
	ck_assert_int_eq(owned_count(&one), PARTITIONS);

	member_join(&two, &options);
	UNTIL(owned_count(&one) == 2 && owned_count(&two) == 2, member_poll(&one, 20, 50), member_poll(&two, 20, 1));
	for (int i = 0; i < PARTITIONS; i++)
		ck_assert_int_ne(one.owned[i], two.owned[i]);
	bool is_cooperative = _i == 1;
	ck_assert_int_eq(one.revoked, is_cooperative ? 2 : PARTITIONS);
	ck_assert_int_eq(one.lost, 0);
	UNTIL(next_sum(&two) == 2 * RECORDS, member_poll(&one, 0, 50), member_poll(&two, 20, BATCH));
	for (int i = 0; i < PARTITIONS; i++)
		if (two.owned[i])
			ck_assert_int_eq(two.first[i], one.next[i] > 0 ? one.next[i] : 0);

	size_t members;
	struct error error;
	ck_assert_msg(kafka_consumer_group_size(two.consumer, 10000, &members, &error), "%s", error.text);
	ck_assert_uint_eq(members, 2);
	member_leave(&two);
	UNTIL(owned_count(&one) == PARTITIONS, member_poll(&one, 20, 50));
	member_leave(&one);
}
END_TEST

static size_t queue_length(const struct member *member)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(kafka_consumer_handle(member->consumer));
	size_t length = rd_kafka_queue_length(queue);
	rd_kafka_queue_destroy(queue);
	return length;
}

/* In the middle of a poll of one: the group is rebalanced, so that the revoke is the next thing that poll meets. */
static void let_second_join(struct member *one)
{
	one->inside = NULL;
	member_join(one->second, one->second_options);
	int64_t deadline_ms = clock_monotonic_ms() + 1500; /* some heartbeats */
	while (clock_monotonic_ms() < deadline_ms)
		member_poll(one->second, 20, BATCH);
}

/* The answer comes while a long poll runs, if the machine is not too slow. */
static void commit_and_poll(struct member *member)
{
	struct kafka_position position = {member->topic, 0, 0};
	struct error error;
	UNTIL(queue_length(member) > 50000, sched_yield());
	ck_assert(kafka_consumer_commit(member->consumer, &position, 1, &error));
	int commits = member->commits;
	UNTIL(member->commits > commits, member_poll(member, 100, BATCH));
}

START_TEST(a_revoke_in_the_middle_of_a_poll_takes_out_what_was_not_given_out)
{
	enum { RECORDS = 200000 };
	struct member one, two;
	struct member_options options = new_topic(PARTITIONS, RECORDS);
	options.assignor = assignors[_i];
	member_join(&one, &options);
	one.commit_on_revoke = true;
	one.second = &two;
	one.second_options = &options;
	one.inside = let_second_join;
	UNTIL(next_sum(&one) > 0, member_poll(&one, 100, 1));
	UNTIL(!one.inside, commit_and_poll(&one));
	UNTIL(one.revoked > 0, member_poll(&one, 100, BATCH));
	UNTIL(owned_count(&two) == 2, member_poll(&one, 20, BATCH), member_poll(&two, 20, BATCH));
	UNTIL(next_sum(&two) == 2 * RECORDS, member_poll(&one, 0, BATCH), member_poll(&two, 20, BATCH));
	for (int i = 0; i < PARTITIONS; i++)
		if (two.owned[i])
			ck_assert_int_eq(two.first[i], one.next[i] > 0 ? one.next[i] : 0);
	member_leave(&one);
	member_leave(&two);
}
END_TEST

START_TEST(a_paused_partition_that_went_away_comes_back_running) /* R9 */
{
	struct member one, two;
	struct error error;
	struct member_options options = new_topic(2, 100);
	options.assignor = assignors[_i];
	member_join(&one, &options);
	UNTIL(next_sum(&one) == 200, member_poll(&one, 100, BATCH));
	for (int32_t i = 0; i < 2; i++)
		ck_assert(kafka_consumer_pause(one.consumer, options.topic, i, &error));
	member_join(&two, &options);
	UNTIL(owned_count(&two) == 1, member_poll(&one, 20, BATCH), member_poll(&two, 20, BATCH));
	int32_t moved = two.owned[1];
	commit_and_wait(&two, moved, 80);
	member_leave(&two);
	UNTIL(owned_count(&one) == 2 && one.next[moved] == 100, member_poll(&one, 20, BATCH));
	ck_assert_int_eq(one.first[moved], 80);
	member_leave(&one);
}
END_TEST

START_TEST(an_offset_out_of_range_follows_the_policy_and_is_reported)
{
	struct member member;
	struct member_options options = new_topic(2, 100);
	bool latest = _i & 1;
	options.assignor = assignors[_i >> 1];
	member_join(&member, &options);
	UNTIL(next_sum(&member) == 200, member_poll(&member, 100, BATCH));
	commit_and_wait(&member, 0, 5000);
	commit_and_wait(&member, 1, 50);
	member_leave(&member);

	options.start_latest = latest;
	member_join(&member, &options);
	UNTIL(member.resets == 1 && member.next[1] == 100, member_poll(&member, 20, 7));
	ck_assert_int_eq(member.start[0], 5000);
	ck_assert_int_eq(member.first[1], 50);
	ck_assert_msg(strstr(member.reset_text, "offset 5000 is out of range"), "%s", member.reset_text);
	ck_assert_msg(strstr(member.reset_text, latest ? "latest record, 100" : "earliest record, 0"), "%s",
	              member.reset_text);
	records_produce(options.bootstrap, options.topic, 0, 10);
	UNTIL(member.next[0] == 110, member_poll(&member, 20, BATCH));
	ck_assert_int_eq(member.first[0], latest ? 100 : 0);
	ck_assert_int_eq(member.resets, 1);
	member_leave(&member);
}
END_TEST

START_TEST(a_second_holder_of_an_instance_id_makes_the_first_one_end)
{
	struct member one, two;
	struct member_options options = new_topic(2, 10);
	options.instance = "host-1";
	member_join(&one, &options);
	UNTIL(one.assigned == 2, member_poll(&one, 100, BATCH));
	member_join(&two, &options);
	UNTIL(one.fatal > 0, member_poll(&one, 20, BATCH), member_poll(&two, 20, BATCH));
	ck_assert_int_eq(one.fatal, 1);
	ck_assert_int_eq(one.fatal_code, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
	UNTIL(two.assigned == 2, member_poll(&two, 20, BATCH));
	ck_assert_int_eq(two.fatal, 0);
	member_leave(&one);
	member_leave(&two);
}
END_TEST

START_TEST(an_assignment_that_was_lost_is_revoked_as_lost_and_given_again)
{
	struct member member;
	struct mock mock = mock_create();
	struct member_options options = {.bootstrap = mock.property, .group = "group", .topic = "topic"};
	options.assignor = assignors[_i];
	ck_assert_int_eq(rd_kafka_mock_topic_create(mock.cluster, "topic", 1, 1), 0);
	records_produce(mock.property, "topic", 0, 10);
	member_join(&member, &options);
	UNTIL(member.next[0] == 10, member_poll(&member, 100, BATCH));
	rd_kafka_mock_push_request_errors(mock.cluster, API_HEARTBEAT, 1, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
	UNTIL(member.lost >= 1, member_poll(&member, 20, BATCH));
	UNTIL(member.assigned >= 2 && member.next[0] == 10, member_poll(&member, 20, BATCH));
	member_leave(&member);
	mock_destroy(&mock);
}
END_TEST

START_TEST(a_property_that_is_refused_is_named)
{
	struct error error;
	struct kafka_property wrong = {"fetch.wait.maxms", "5"};
	struct kafka_consumer_options options = {.properties = &wrong, .property_count = 1, .group = "g"};
	ck_assert_ptr_null(kafka_consumer_create(&options, &error));
	ck_assert_msg(strstr(error.text, "fetch.wait.maxms"), "%s", error.text);
	ck_assert_int_eq(error.code, ERROR_CONFIG);
}
END_TEST

int main(int argc, char **argv)
{
	(void)argc;
	broker_need(argv);
	TCase *tests = tcase_create("consumer");
	tcase_set_timeout(tests, 240);
	tcase_add_test(tests, a_new_group_reads_from_the_beginning_and_goes_on_where_it_committed);
	tcase_add_test(tests, the_offsets_written_into_the_assignment_are_where_reading_starts);
	tcase_add_test(tests, what_comes_after_a_start_at_the_end_is_not_skipped_by_the_next_member);
	tcase_add_test(tests, a_commit_is_answered_once_and_one_is_in_flight);
	tcase_add_test(tests, pausing_and_resuming_leaves_no_gap_and_no_duplicate);
	tcase_add_test(tests, a_paused_partition_gives_nothing_and_resumes_at_the_offset_given);
	tcase_add_test(tests, a_wake_ends_the_poll_that_waits_and_the_next_one_when_none_does);
	tcase_add_loop_test(tests, a_second_member_goes_on_where_the_first_committed_in_its_revoke, 0, 2);
	tcase_add_loop_test(tests, a_revoke_in_the_middle_of_a_poll_takes_out_what_was_not_given_out, 0, 2);
	tcase_add_loop_test(tests, a_paused_partition_that_went_away_comes_back_running, 0, 2);
	tcase_add_loop_test(tests, an_offset_out_of_range_follows_the_policy_and_is_reported, 0, 4);
	tcase_add_test(tests, a_second_holder_of_an_instance_id_makes_the_first_one_end);
	tcase_add_loop_test(tests, an_assignment_that_was_lost_is_revoked_as_lost_and_given_again, 0, 2);
	tcase_add_test(tests, a_property_that_is_refused_is_named);
	Suite *suite = suite_create("consumer");
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
