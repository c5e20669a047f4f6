/* topics create NAME:PARTITIONS[:SETTING=VALUE[,…]]…   makes topics (replication as the broker likes)
 * topics delete NAME…
 * topics grow NAME PARTITIONS                            raises a topic's partitions
 * against the broker in $KAFKA_BOOTSTRAP.  Kafka's own command line tools do the same and take 2 s each. */
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 30000

static rd_kafka_t *client_create(void)
{
	char text[256];
	const char *bootstrap = getenv("KAFKA_BOOTSTRAP");
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	if (!bootstrap ||
	    rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, text, sizeof(text)) != RD_KAFKA_CONF_OK) {
		fprintf(stderr, "topics: KAFKA_BOOTSTRAP is not set or wrong\n");
		exit(2);
	}
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	if (!client) {
		fprintf(stderr, "topics: %s\n", text);
		exit(1);
	}
	return client;
}

static bool check_results(const rd_kafka_topic_result_t **results, size_t count)
{
	bool ok = true;
	for (size_t i = 0; i < count; i++) {
		if (!rd_kafka_topic_result_error(results[i]))
			continue;
		const char *text = rd_kafka_topic_result_error_string(results[i]);
		fprintf(stderr, "topics: %s: %s\n", rd_kafka_topic_result_name(results[i]), text ? text : "failed");
		ok = false;
	}
	return ok;
}

static const rd_kafka_topic_result_t **results_of(rd_kafka_event_t *event, size_t *out_count)
{
	switch (rd_kafka_event_type(event)) {
	case RD_KAFKA_EVENT_CREATETOPICS_RESULT:
		return rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), out_count);
	case RD_KAFKA_EVENT_DELETETOPICS_RESULT:
		return rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), out_count);
	default:
		return rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event),
		                                               out_count);
	}
}

static bool wait_answer(rd_kafka_queue_t *answers)
{
	size_t count;
	rd_kafka_event_t *event = rd_kafka_queue_poll(answers, TIMEOUT_MS);
	if (!event || rd_kafka_event_error(event)) {
		fprintf(stderr, "topics: %s\n", event ? rd_kafka_event_error_string(event) : "no answer");
		if (event)
			rd_kafka_event_destroy(event);
		return false;
	}
	const rd_kafka_topic_result_t **results = results_of(event, &count);
	bool ok = check_results(results, count);
	rd_kafka_event_destroy(event);
	return ok;
}

/* text is changed. */
static rd_kafka_NewTopic_t *parse_topic(char *text)
{
	char *rest = text, error[256] = "not NAME:PARTITIONS[:SETTING=VALUE[,…]]";
	char *name = strsep(&rest, ":"), *partitions = strsep(&rest, ":"), *setting;
	int count = partitions ? (int)strtol(partitions, NULL, 10) : 0;
	rd_kafka_NewTopic_t *topic = count > 0 ? rd_kafka_NewTopic_new(name, count, -1, error, sizeof(error)) : NULL;
	if (!topic) {
		fprintf(stderr, "topics: %s: %s\n", name, error);
		exit(2);
	}
	while ((setting = strsep(&rest, ","))) {
		char *value = setting;
		setting = strsep(&value, "=");
		if (!value || rd_kafka_NewTopic_set_config(topic, setting, value)) {
			fprintf(stderr, "topics: %s is not SETTING=VALUE\n", setting);
			exit(2);
		}
	}
	return topic;
}

static bool create_topics(rd_kafka_t *client, rd_kafka_queue_t *answers, char **arguments, size_t count)
{
	rd_kafka_NewTopic_t **topics = calloc(count, sizeof(*topics));
	if (!topics)
		abort();
	for (size_t i = 0; i < count; i++)
		topics[i] = parse_topic(arguments[i]);
	rd_kafka_CreateTopics(client, topics, count, NULL, answers);
	rd_kafka_NewTopic_destroy_array(topics, count);
	free(topics);
	return wait_answer(answers);
}

static bool delete_topics(rd_kafka_t *client, rd_kafka_queue_t *answers, char **arguments, size_t count)
{
	bool ok = true;
	for (size_t i = 0; i < count; i++) {
		rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(arguments[i]);
		rd_kafka_DeleteTopics(client, &topic, 1, NULL, answers);
		rd_kafka_DeleteTopic_destroy(topic);
		ok = wait_answer(answers) && ok;
	}
	return ok;
}

static bool grow_topic(rd_kafka_t *client, rd_kafka_queue_t *answers, const char *name, const char *partitions)
{
	char error[256];
	rd_kafka_NewPartitions_t *request =
	        rd_kafka_NewPartitions_new(name, (size_t)strtol(partitions, NULL, 10), error, sizeof(error));
	if (!request) {
		fprintf(stderr, "topics: %s: %s\n", name, error);
		return false;
	}
	rd_kafka_CreatePartitions(client, &request, 1, NULL, answers);
	rd_kafka_NewPartitions_destroy(request);
	return wait_answer(answers);
}

int main(int argc, char **argv)
{
	rd_kafka_t *client = client_create();
	rd_kafka_queue_t *answers = rd_kafka_queue_new(client);
	int status = 2;
	if (argc > 2 && strcmp(argv[1], "create") == 0)
		status = !create_topics(client, answers, argv + 2, (size_t)argc - 2);
	else if (argc > 2 && strcmp(argv[1], "delete") == 0)
		status = !delete_topics(client, answers, argv + 2, (size_t)argc - 2);
	else if (argc == 4 && strcmp(argv[1], "grow") == 0)
		status = !grow_topic(client, answers, argv[2], argv[3]);
	else
		fprintf(stderr, "usage: topics create NAME:PARTITIONS[:SETTING=VALUE[,…]]… | delete NAME… | grow NAME "
		                "PARTITIONS\n");
	rd_kafka_queue_destroy(answers);
	rd_kafka_destroy(client);
	return status;
}
