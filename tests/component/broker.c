#include "tests/component/broker.h"
#include "core/base/clock.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 20000

void broker_need(char **argv)
{
	char script[4096];
	const char *source = getenv("srcdir");
	if (getenv("KAFKA_BOOTSTRAP"))
		return;
	snprintf(script, sizeof(script), "%s/tests/lib/with_kafka.sh", source ? source : ".");
	execl(script, script, argv[0], (char *)NULL);
	perror(script);
	exit(99);
}

struct kafka_property broker_property(void)
{
	return (struct kafka_property){"bootstrap.servers", getenv("KAFKA_BOOTSTRAP")};
}

static rd_kafka_t *client_create(rd_kafka_type_t type, const struct kafka_property *properties, size_t count)
{
	char text[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(rd_kafka_conf_set(conf, properties[i].name, properties[i].value, text, sizeof(text)) ==
		                      RD_KAFKA_CONF_OK,
		              "%s", text);
	rd_kafka_conf_set(conf, "log_level", "3", text, sizeof(text));
	rd_kafka_t *client = rd_kafka_new(type, conf, text, sizeof(text));
	ck_assert_msg(client != NULL, "%s", text);
	return client;
}

struct mock mock_create(void)
{
	struct mock mock = {.client = client_create(RD_KAFKA_PRODUCER, NULL, 0)};
	mock.cluster = rd_kafka_mock_cluster_new(mock.client, 1);
	ck_assert_ptr_nonnull(mock.cluster);
	mock.property = (struct kafka_property){"bootstrap.servers", rd_kafka_mock_cluster_bootstraps(mock.cluster)};
	return mock;
}

void mock_destroy(struct mock *mock)
{
	rd_kafka_mock_cluster_destroy(mock->cluster);
	rd_kafka_destroy(mock->client);
}

const char *unique_name(const char *prefix)
{
	static char names[64][200];
	static int number;
	ck_assert_int_lt(number, 64);
	snprintf(names[number], sizeof(names[number]), "%s-%d-%d", prefix, (int)getpid(), number);
	return names[number++];
}

static int partition_count(rd_kafka_t *client, const char *topic)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_topic_t *handle = rd_kafka_topic_new(client, topic, NULL);
	int count = 0;
	if (!rd_kafka_metadata(client, 0, handle, &metadata, TIMEOUT_MS)) {
		count = metadata->topics[0].err ? 0 : metadata->topics[0].partition_cnt;
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(handle);
	return count;
}

void topic_wait(struct kafka_property bootstrap, const char *topic, int partitions)
{
	int64_t deadline_ms = clock_monotonic_ms() + TIMEOUT_MS;
	rd_kafka_t *client = client_create(RD_KAFKA_PRODUCER, &bootstrap, 1);
	while (partition_count(client, topic) != partitions)
		ck_assert_msg(clock_monotonic_ms() < deadline_ms, "topic %s is not there", topic);
	rd_kafka_destroy(client);
}

void topic_create(struct kafka_property bootstrap, const char *topic, int partitions, const char *const *settings)
{
	rd_kafka_t *client = client_create(RD_KAFKA_PRODUCER, &bootstrap, 1);
	rd_kafka_NewTopic_t *request = rd_kafka_NewTopic_new(topic, partitions, 1, NULL, 0);
	for (; settings && settings[0]; settings += 2)
		ck_assert_int_eq(rd_kafka_NewTopic_set_config(request, settings[0], settings[1]), 0);
	rd_kafka_queue_t *answers = rd_kafka_queue_new(client);
	rd_kafka_CreateTopics(client, &request, 1, NULL, answers);
	rd_kafka_event_t *event = rd_kafka_queue_poll(answers, TIMEOUT_MS);
	ck_assert_ptr_nonnull(event);
	ck_assert_int_eq(rd_kafka_event_error(event), 0);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(answers);
	rd_kafka_NewTopic_destroy(request);
	rd_kafka_destroy(client);
	topic_wait(bootstrap, topic, partitions);
}

void records_produce(struct kafka_property bootstrap, const char *topic, int32_t partition, int count)
{
	struct kafka_property properties[] = {
	        bootstrap, {"linger.ms", "1"}, {"queue.buffering.max.messages", "1000000"}};
	rd_kafka_t *client = client_create(RD_KAFKA_PRODUCER, properties, 3);
	for (int i = 0; i < count; i++) {
		char text[16];
		int len = snprintf(text, sizeof(text), "%d", i);
		ck_assert_int_eq(rd_kafka_producev(client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
		                                   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		                                   RD_KAFKA_V_VALUE(text, (size_t)len), RD_KAFKA_V_END),
		                 0);
	}
	ck_assert_int_eq(rd_kafka_flush(client, TIMEOUT_MS), 0);
	rd_kafka_destroy(client);
}

/* A message keeps its client alive: both go together. */
static rd_kafka_t *reader;

rd_kafka_message_t *message_read(struct kafka_property bootstrap, const char *topic, int32_t partition, int64_t offset)
{
	struct kafka_property properties[] = {bootstrap, {"group.id", "reader"}};
	ck_assert_ptr_null(reader);
	reader = client_create(RD_KAFKA_CONSUMER, properties, 2);
	rd_kafka_poll_set_consumer(reader);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, topic, partition)->offset = offset;
	ck_assert_int_eq(rd_kafka_assign(reader, list), 0);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_message_t *message = rd_kafka_consumer_poll(reader, TIMEOUT_MS);
	ck_assert_msg(message && !message->err, "topic %s: %s", topic,
	              message ? rd_kafka_message_errstr(message) : "no record");
	return message;
}

void message_release(rd_kafka_message_t *message)
{
	rd_kafka_message_destroy(message);
	rd_kafka_consumer_close(reader);
	rd_kafka_destroy(reader);
	reader = NULL;
}

/* Right after a topic was made its leader may not know yet that it is. */
static int64_t partition_record_count(rd_kafka_t *client, const char *topic, int32_t partition)
{
	int64_t low, high, deadline_ms = clock_monotonic_ms() + TIMEOUT_MS;
	rd_kafka_resp_err_t code;
	while ((code = rd_kafka_query_watermark_offsets(client, topic, partition, &low, &high, TIMEOUT_MS)))
		ck_assert_msg(clock_monotonic_ms() < deadline_ms, "topic %s: %s", topic, rd_kafka_err2str(code));
	return high - low;
}

int64_t topic_record_count(struct kafka_property bootstrap, const char *topic, int partitions)
{
	rd_kafka_t *client = client_create(RD_KAFKA_CONSUMER, &bootstrap, 1);
	int64_t sum = 0;
	for (int32_t i = 0; i < partitions; i++)
		sum += partition_record_count(client, topic, i);
	rd_kafka_destroy(client);
	return sum;
}

rd_kafka_message_t *only_message_read(struct kafka_property bootstrap, const char *topic, int partitions)
{
	rd_kafka_t *client = client_create(RD_KAFKA_CONSUMER, &bootstrap, 1);
	int32_t found = -1;
	for (int32_t i = 0; i < partitions; i++) {
		int64_t count = partition_record_count(client, topic, i);
		ck_assert_int_le(count, found < 0 ? 1 : 0);
		if (count == 1)
			found = i;
	}
	rd_kafka_destroy(client);
	ck_assert_msg(found >= 0, "topic %s is empty", topic);
	return message_read(bootstrap, topic, found, 0);
}
