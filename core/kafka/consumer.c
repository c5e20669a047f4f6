#include "core/kafka/consumer.h"
#include "core/base/assert.h"
#include "core/kafka/client.h"
#include "core/kafka/rebalance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEK_TIMEOUT_MS 5000

static const struct kafka_property defaults[] = {
        {"client.id", "idem"},
        {"session.timeout.ms", "30000"},
        {"max.poll.interval.ms", "60000"},               /* librdkafka's rebalance time-out too */
        {"fetch.wait.max.ms", "100"},                    /* a resumed partition waits for the long poll of the others */
        {"topic.metadata.refresh.interval.ms", "10000"}, /* a topic or partitions made since are found */
        {"isolation.level", "read_committed"},
        {NULL, NULL},
};

static const struct kafka_property forced[] = {
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"enable.partition.eof", "false"},
        {"auto.offset.reset", "error"}, /* the policy is ours, so that it can be reported: rebalance.c */
        {NULL, NULL},
};

static void report_fatal(struct kafka_consumer *consumer)
{
	char text[512] = "unknown";
	rd_kafka_resp_err_t code = rd_kafka_fatal_error(consumer->client, text, sizeof(text));
	if (consumer->fatal_reported)
		return;
	consumer->fatal_reported = true;
	consumer->options.on_error(consumer->options.self, code, text, true);
}

static void client_error(rd_kafka_t *client, int code, const char *text, void *opaque)
{
	(void)client;
	struct kafka_consumer *consumer = opaque;
	if (code == RD_KAFKA_RESP_ERR__FATAL)
		report_fatal(consumer);
	else
		consumer->options.on_error(consumer->options.self, (rd_kafka_resp_err_t)code, text, false);
}

static int statistics(rd_kafka_t *client, char *json, size_t len, void *opaque)
{
	(void)client;
	struct kafka_consumer *consumer = opaque;
	consumer->options.on_statistics(consumer->options.self, json, len);
	return 0; /* librdkafka frees it */
}

static rd_kafka_conf_t *conf_create(struct kafka_consumer *consumer, const struct kafka_consumer_options *options,
                                    struct error *error)
{
	rd_kafka_conf_t *conf =
	        kafka_conf_create(defaults, options->properties, options->property_count, forced, error);
	if (!conf)
		return NULL;
	struct kafka_property own[] = {{"group.id", options->group}, {"statistics.interval.ms", "1000"}};
	char text[256];
	for (size_t i = 0; i < (options->on_statistics ? 2 : 1); i++) {
		if (rd_kafka_conf_set(conf, own[i].name, own[i].value, text, sizeof(text)) == RD_KAFKA_CONF_OK)
			continue;
		error_set(error, ERROR_CONFIG, "%s: %s", own[i].name, text);
		rd_kafka_conf_destroy(conf);
		return NULL;
	}
	rd_kafka_conf_set_opaque(conf, consumer);
	rd_kafka_conf_set_rebalance_cb(conf, kafka_rebalance);
	rd_kafka_conf_set_error_cb(conf, client_error);
	if (options->on_statistics)
		rd_kafka_conf_set_stats_cb(conf, statistics);
	return conf;
}

struct kafka_consumer *kafka_consumer_create(const struct kafka_consumer_options *options, struct error *error)
{
	struct kafka_consumer *consumer = calloc(1, sizeof(*consumer));
	ASSERT(consumer);
	consumer->options = *options;
	consumer->options.properties = NULL;
	consumer->options.property_count = 0;
	rd_kafka_conf_t *conf = conf_create(consumer, options, error);
	if (conf)
		consumer->client = kafka_client_create_take(RD_KAFKA_CONSUMER, conf, error);
	if (!consumer->client) {
		free(consumer);
		return NULL;
	}
	rd_kafka_resp_err_t code = rd_kafka_poll_set_consumer(consumer->client);
	ASSERT(code == RD_KAFKA_RESP_ERR_NO_ERROR);
	consumer->queue = rd_kafka_queue_get_consumer(consumer->client);
	ASSERT(consumer->queue);
	return consumer;
}

bool kafka_consumer_subscribe(struct kafka_consumer *consumer, const char *const *topics, size_t count,
                              struct error *error)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	for (size_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, topics[i], RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t code = rd_kafka_subscribe(consumer->client, list);
	rd_kafka_topic_partition_list_destroy(list);
	return code == RD_KAFKA_RESP_ERR_NO_ERROR || kafka_error_set(error, code, "subscribing");
}

static void handle_error(struct kafka_consumer *consumer, const rd_kafka_message_t *message)
{
	if (message->err == RD_KAFKA_RESP_ERR__FATAL) {
		report_fatal(consumer);
		return;
	}
	if (!message->rkt) {
		consumer->options.on_error(consumer->options.self, message->err, rd_kafka_message_errstr(message),
		                           false);
		return;
	}
	const char *topic = rd_kafka_topic_name(message->rkt);
	if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
		kafka_rebalance_stopped(consumer, topic, message->partition);
		return;
	}
	char text[512];
	snprintf(text, sizeof(text), "topic %s, partition %d: %s", topic, message->partition,
	         rd_kafka_message_errstr(message));
	consumer->options.on_error(consumer->options.self, message->err, text, false);
}

/* Is it the next one of a partition that is ours?  A pause that crosses a message makes librdkafka deliver it twice. */
static bool is_next(struct kafka_consumer *consumer, const rd_kafka_message_t *message)
{
	struct kafka_assigned *assigned =
	        kafka_assignment_find(&consumer->assignment, rd_kafka_topic_name(message->rkt), message->partition);
	if (!assigned || message->offset < assigned->next_offset)
		return false;
	assigned->next_offset = message->offset + 1;
	return true;
}

static void take(struct kafka_consumer *consumer, rd_kafka_message_t *message)
{
	if (!message->err && is_next(consumer, message)) {
		consumer->batch[consumer->batch_count++] = message;
		return;
	}
	if (message->err)
		handle_error(consumer, message);
	rd_kafka_message_destroy(message);
}

/* One by one: librdkafka 2.0's batch call drops messages that it had already counted as given out when a rebalance
 * pauses their partition in the middle of it. */
size_t kafka_consumer_poll(struct kafka_consumer *consumer, int timeout_ms, rd_kafka_message_t **out_messages,
                           size_t max)
{
	kafka_rebalance_restart(consumer);
	consumer->batch = out_messages;
	consumer->batch_count = 0;
	rd_kafka_message_t *message;
	while (consumer->batch_count < max && (message = rd_kafka_consumer_poll(consumer->client, timeout_ms))) {
		take(consumer, message);
		timeout_ms = 0;
	}
	size_t count = consumer->batch_count;
	consumer->batch = NULL;
	consumer->batch_count = 0;
	return count;
}

void kafka_consumer_wake(struct kafka_consumer *consumer)
{
	rd_kafka_queue_yield(consumer->queue); /* also ends the next wait when nobody waits now */
}

/* The assigned partition and a list of it alone; NULL: not ours. */
static struct kafka_assigned *single(struct kafka_consumer *consumer, const char *topic, int32_t partition,
                                     rd_kafka_topic_partition_list_t **out_list, struct error *error)
{
	struct kafka_assigned *assigned = kafka_assignment_find(&consumer->assignment, topic, partition);
	if (!assigned) {
		error_set(error, ERROR_NOT_FOUND, "topic %s, partition %d is not assigned to this consumer", topic,
		          partition);
		return NULL;
	}
	*out_list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(*out_list, topic, partition);
	return assigned;
}

static bool finish_single(rd_kafka_topic_partition_list_t *list, rd_kafka_resp_err_t code, const char *what,
                          struct error *error)
{
	if (!code)
		code = kafka_list_code(list);
	if (code)
		kafka_error_set(error, code, "%s topic %s, partition %d", what, list->elems[0].topic,
		                list->elems[0].partition);
	rd_kafka_topic_partition_list_destroy(list);
	return !code;
}

bool kafka_consumer_pause(struct kafka_consumer *consumer, const char *topic, int32_t partition, struct error *error)
{
	rd_kafka_topic_partition_list_t *list;
	struct kafka_assigned *assigned = single(consumer, topic, partition, &list, error);
	if (!assigned)
		return false;
	rd_kafka_resp_err_t code = rd_kafka_pause_partitions(consumer->client, list);
	assigned->paused = true;
	return finish_single(list, code, "pausing", error);
}

static bool seek(struct kafka_consumer *consumer, struct kafka_assigned *assigned, int64_t offset, struct error *error)
{
	if (assigned->stopped) {
		kafka_rebalance_start_at(consumer, assigned, offset);
		return true;
	}
	assigned->next_offset = offset;
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, assigned->topic, assigned->partition)->offset = offset;
	rd_kafka_error_t *failure = rd_kafka_seek_partitions(consumer->client, list, SEEK_TIMEOUT_MS);
	rd_kafka_resp_err_t code = failure ? rd_kafka_error_code(failure) : RD_KAFKA_RESP_ERR_NO_ERROR;
	if (failure)
		rd_kafka_error_destroy(failure);
	return finish_single(list, code, "seeking", error);
}

bool kafka_consumer_resume(struct kafka_consumer *consumer, const char *topic, int32_t partition, int64_t offset,
                           struct error *error)
{
	rd_kafka_topic_partition_list_t *list;
	struct kafka_assigned *assigned = single(consumer, topic, partition, &list, error);
	if (!assigned)
		return false;
	if (offset >= 0 && offset != assigned->next_offset && !seek(consumer, assigned, offset, error)) {
		rd_kafka_topic_partition_list_destroy(list);
		return false;
	}
	rd_kafka_resp_err_t code = rd_kafka_resume_partitions(consumer->client, list);
	assigned->paused = false;
	return finish_single(list, code, "resuming", error);
}

static void committed(rd_kafka_t *client, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t *list, void *opaque)
{
	(void)client;
	struct kafka_consumer *consumer = opaque;
	consumer->commit_in_flight = false;
	struct kafka_position *positions = kafka_positions_create(list);
	consumer->options.on_committed(consumer->options.self, code ? code : kafka_list_code(list), positions,
	                               list ? (size_t)list->cnt : 0);
	free(positions);
}

bool kafka_consumer_commit(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                           struct error *error)
{
	if (consumer->commit_in_flight)
		return kafka_error_set(error, RD_KAFKA_RESP_ERR__IN_PROGRESS, "offset commit");
	rd_kafka_topic_partition_list_t *list = kafka_positions_list(positions, count);
	rd_kafka_resp_err_t code = rd_kafka_commit_queue(consumer->client, list, consumer->queue, committed, consumer);
	rd_kafka_topic_partition_list_destroy(list);
	consumer->commit_in_flight = !code;
	return !code || kafka_error_set(error, code, "offset commit");
}

bool kafka_consumer_commit_wait(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                                int timeout_ms, struct error *error)
{
	rd_kafka_topic_partition_list_t *list = kafka_positions_list(positions, count);
	rd_kafka_queue_t *answers = rd_kafka_queue_new(consumer->client);
	rd_kafka_resp_err_t code = rd_kafka_commit_queue(consumer->client, list, answers, NULL, NULL);
	if (!code) {
		rd_kafka_event_t *event = rd_kafka_queue_poll(answers, timeout_ms);
		code = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
		if (event && !code)
			code = kafka_list_code(rd_kafka_event_topic_partition_list(event));
		if (event)
			rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(answers);
	rd_kafka_topic_partition_list_destroy(list);
	return !code || kafka_error_set(error, code, "offset commit");
}

bool kafka_consumer_group_size(struct kafka_consumer *consumer, int timeout_ms, size_t *out_members,
                               struct error *error)
{
	const struct rd_kafka_group_list *groups;
	rd_kafka_resp_err_t code = rd_kafka_list_groups(consumer->client, consumer->options.group, &groups, timeout_ms);
	if (code)
		return kafka_error_set(error, code, "asking for the members of group %s", consumer->options.group);
	size_t members = 0;
	for (int i = 0; i < groups->group_cnt; i++)
		members += (size_t)groups->groups[i].member_cnt;
	rd_kafka_group_list_destroy(groups);
	*out_members = members;
	return true;
}

void kafka_consumer_close(struct kafka_consumer *consumer)
{
	rd_kafka_resp_err_t code = rd_kafka_consumer_close(consumer->client);
	struct error error;
	if (code) {
		kafka_error_set(&error, code, "the group was not left, its partitions wait for the session to end");
		consumer->options.on_error(consumer->options.self, code, error.text, false);
	}
}

void kafka_consumer_destroy(struct kafka_consumer *consumer)
{
	if (!consumer)
		return;
	rd_kafka_queue_destroy(consumer->queue);
	rd_kafka_destroy_flags(consumer->client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	kafka_assignment_done(&consumer->assignment);
	free(consumer);
}

rd_kafka_t *kafka_consumer_handle(struct kafka_consumer *consumer)
{
	return consumer->client;
}

static struct bytes view(const void *ptr, size_t len)
{
	return (struct bytes){ptr, ptr ? len : 0};
}

static void headers_view(const rd_kafka_headers_t *headers, struct arena *arena, struct kafka_record *record)
{
	size_t count = rd_kafka_header_cnt(headers);
	struct kafka_header *views = arena_alloc(arena, count * sizeof(*views) + 1);
	for (size_t i = 0; i < count; i++) {
		const char *name;
		const void *value;
		size_t len;
		rd_kafka_resp_err_t code = rd_kafka_header_get_all(headers, i, &name, &value, &len);
		ASSERT(code == RD_KAFKA_RESP_ERR_NO_ERROR);
		views[i] = (struct kafka_header){bytes_from_string(name), view(value, len)};
	}
	record->headers = views;
	record->header_count = count;
}

void kafka_record_from_message(const rd_kafka_message_t *message, struct arena *arena, struct kafka_record *out_record)
{
	rd_kafka_timestamp_type_t type;
	int64_t timestamp_ms = rd_kafka_message_timestamp(message, &type);
	*out_record = (struct kafka_record){
	        .topic = rd_kafka_topic_name(message->rkt),
	        .partition = message->partition,
	        .offset = message->offset,
	        .timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp_ms,
	        .key = view(message->key, message->key_len),
	        .value = view(message->payload, message->len),
	};
	rd_kafka_headers_t *headers;
	if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR)
		headers_view(headers, arena, out_record);
}
