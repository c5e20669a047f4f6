#include "core/kafka/admin.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/kafka/client.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_MESSAGE_BYTES 1048588 /* the broker's */

/* A client that never makes a topic by asking for it, or one that does. */
static rd_kafka_t *client_create(const struct kafka_property *properties, size_t property_count, bool auto_create,
                                 struct error *error)
{
	struct kafka_property forced[] = {{"allow.auto.create.topics", auto_create ? "true" : "false"}, {NULL, NULL}};
	rd_kafka_conf_t *conf = kafka_conf_create(NULL, properties, property_count, forced, error);
	return conf ? kafka_client_create_take(RD_KAFKA_PRODUCER, conf, error) : NULL;
}

static int remaining_ms(int64_t deadline_ms)
{
	int64_t left_ms = deadline_ms - clock_monotonic_ms();
	return left_ms > 0 ? (int)left_ms : 0;
}

bool kafka_topic_partitions(rd_kafka_t *client, const char *topic, int timeout_ms, int *out_partitions,
                            struct error *error)
{
	rd_kafka_topic_t *handle = rd_kafka_topic_new(client, topic, NULL);
	if (!handle)
		return kafka_error_set(error, rd_kafka_last_error(), "topic %s", topic);
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t code = rd_kafka_metadata(client, 0, handle, &metadata, timeout_ms);
	rd_kafka_topic_destroy(handle);
	if (code)
		return kafka_error_set(error, code, "asking for topic %s", topic);
	int partitions = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
	code = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_NO_ERROR;
	rd_kafka_metadata_destroy(metadata);
	if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		partitions = 0;
	else if (code)
		return kafka_error_set(error, code, "asking for topic %s", topic);
	*out_partitions = partitions;
	return true;
}

static rd_kafka_resp_err_t set_config(rd_kafka_NewTopic_t *topic, const char *name, int64_t value)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRId64, value);
	return rd_kafka_NewTopic_set_config(topic, name, text);
}

static rd_kafka_NewTopic_t *new_topic(const struct kafka_topic_spec *spec, struct error *error)
{
	char text[256] = "";
	rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(spec->name, spec->partitions, -1, text, sizeof(text));
	if (!topic) {
		error_set(error, ERROR_CONFIG, "topic %s: %s", spec->name, text);
		return NULL;
	}
	rd_kafka_resp_err_t code = rd_kafka_NewTopic_set_config(topic, "cleanup.policy", "delete");
	if (!code)
		code = set_config(topic, "retention.ms", spec->retention_ms);
	if (!code)
		code = set_config(topic, "retention.bytes", -1);
	if (!code && spec->max_message_bytes > 0)
		code = set_config(topic, "max.message.bytes", spec->max_message_bytes);
	if (code) {
		kafka_error_set(error, code, "topic %s", spec->name);
		rd_kafka_NewTopic_destroy(topic);
		return NULL;
	}
	return topic;
}

/* The answer to one CreateTopics request of one topic. */
static rd_kafka_resp_err_t create_result(rd_kafka_event_t *event, char *out_text, size_t size)
{
	rd_kafka_resp_err_t code = rd_kafka_event_error(event);
	snprintf(out_text, size, "%s", rd_kafka_event_error_string(event));
	const rd_kafka_CreateTopics_result_t *result = code ? NULL : rd_kafka_event_CreateTopics_result(event);
	size_t count = 0;
	const rd_kafka_topic_result_t **topics = result ? rd_kafka_CreateTopics_result_topics(result, &count) : NULL;
	if (count == 1) {
		code = rd_kafka_topic_result_error(topics[0]);
		const char *text = rd_kafka_topic_result_error_string(topics[0]);
		snprintf(out_text, size, "%s", text ? text : rd_kafka_err2str(code));
	}
	return code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS ? RD_KAFKA_RESP_ERR_NO_ERROR : code;
}

static rd_kafka_resp_err_t request_create(rd_kafka_t *client, rd_kafka_NewTopic_t *topic, int timeout_ms,
                                          char *out_text, size_t size)
{
	rd_kafka_queue_t *answers = rd_kafka_queue_new(client);
	rd_kafka_CreateTopics(client, &topic, 1, NULL, answers);
	rd_kafka_event_t *event = rd_kafka_queue_poll(answers, timeout_ms);
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (event) {
		code = create_result(event, out_text, size);
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(answers);
	return code;
}

static bool create_topic(rd_kafka_t *client, const struct kafka_topic_spec *spec, int timeout_ms, bool *out_unsupported,
                         struct error *error)
{
	rd_kafka_NewTopic_t *topic = new_topic(spec, error);
	if (!topic)
		return false;
	char text[256] = "the broker did not answer in time";
	rd_kafka_resp_err_t code = request_create(client, topic, timeout_ms, text, sizeof(text));
	rd_kafka_NewTopic_destroy(topic);
	*out_unsupported = code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
	if (!code || *out_unsupported)
		return true;
	error_set(error, ERROR_KAFKA, "topic %s is missing and could not be created (%s): create it with %d partitions",
	          spec->name, text, spec->partitions);
	if (error)
		error->retriable = kafka_code_is_retriable(code);
	return false;
}

struct settings {
	bool compacted;
	int64_t retention_ms, retention_bytes, max_message_bytes; /* 0: not told */
};

static void read_settings(const rd_kafka_ConfigEntry_t **entries, size_t count, struct settings *out_settings)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = rd_kafka_ConfigEntry_name(entries[i]),
		           *value = rd_kafka_ConfigEntry_value(entries[i]);
		if (!value)
			continue;
		if (strcmp(name, "cleanup.policy") == 0)
			out_settings->compacted = strstr(value, "compact") != NULL;
		else if (strcmp(name, "retention.ms") == 0)
			out_settings->retention_ms = strtoll(value, NULL, 10);
		else if (strcmp(name, "retention.bytes") == 0)
			out_settings->retention_bytes = strtoll(value, NULL, 10);
		else if (strcmp(name, "max.message.bytes") == 0)
			out_settings->max_message_bytes = strtoll(value, NULL, 10);
	}
}

/* librdkafka's mock cluster names a controller that is not there: a request to it would only wait for its time-out. */
static bool has_controller(rd_kafka_t *client, int timeout_ms)
{
	const struct rd_kafka_metadata *metadata;
	int32_t controller = rd_kafka_controllerid(client, timeout_ms);
	bool found = false;
	if (rd_kafka_metadata(client, 0, NULL, &metadata, timeout_ms))
		return true;
	for (int i = 0; i < metadata->broker_cnt; i++)
		found = found || metadata->brokers[i].id == controller;
	rd_kafka_metadata_destroy(metadata);
	return found;
}

/* A broker that can't or may not tell leaves the settings zeroed; one without DescribeConfigs (librdkafka's mock
 * cluster) is not waited for longer than this. */
#define SETTINGS_TIMEOUT_MS 2000

static void ask_settings(rd_kafka_t *client, const char *topic, int timeout_ms, struct settings *out_settings)
{
	*out_settings = (struct settings){0};
	if (!has_controller(client, timeout_ms))
		return;
	rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
	rd_kafka_queue_t *answers = rd_kafka_queue_new(client);
	rd_kafka_DescribeConfigs(client, &resource, 1, NULL, answers);
	rd_kafka_event_t *event =
	        rd_kafka_queue_poll(answers, timeout_ms < SETTINGS_TIMEOUT_MS ? timeout_ms : SETTINGS_TIMEOUT_MS);
	if (event && !rd_kafka_event_error(event)) {
		size_t count = 0, entry_count = 0;
		const rd_kafka_ConfigResource_t **resources =
		        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
		if (count == 1 && !rd_kafka_ConfigResource_error(resources[0])) {
			const rd_kafka_ConfigEntry_t **entries =
			        rd_kafka_ConfigResource_configs(resources[0], &entry_count);
			read_settings(entries, entry_count, out_settings);
		}
	}
	if (event)
		rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(answers);
	rd_kafka_ConfigResource_destroy(resource);
}

static bool is_shorter(int64_t retention_ms, int64_t wanted_ms)
{
	return retention_ms > 0 && (wanted_ms < 0 || retention_ms < wanted_ms);
}

/* What works, but not in every case. */
static void warn_of_settings(const struct kafka_topic_spec *spec, const struct settings *settings)
{
	if (is_shorter(settings->retention_ms, spec->retention_ms))
		log_write(LOG_config_warning,
		          "topic %s keeps records only %" PRId64 " ms, and what is read later is lost: set "
		          "retention.ms=%" PRId64,
		          spec->name, settings->retention_ms, spec->retention_ms);
	if (settings->retention_bytes > 0)
		log_write(LOG_config_warning,
		          "topic %s keeps only %" PRId64
		          " bytes of each partition, and what is pushed out is lost: set "
		          "retention.bytes=-1",
		          spec->name, settings->retention_bytes);
	if (settings->max_message_bytes > 0 && settings->max_message_bytes < spec->max_message_bytes)
		log_write(LOG_config_warning,
		          "topic %s has max.message.bytes=%" PRId64 ", and a record that does not fit holds its "
		          "partition up: set it to %" PRId64,
		          spec->name, settings->max_message_bytes, spec->max_message_bytes);
}

static bool check_topic(rd_kafka_t *client, const struct kafka_topic_spec *spec, int timeout_ms, struct error *error)
{
	struct settings settings;
	ask_settings(client, spec->name, timeout_ms, &settings);
	if (settings.compacted)
		return error_set(
		        error, ERROR_CONFIG,
		        "topic %s is compacted and would lose records of the same key: set cleanup.policy=delete",
		        spec->name);
	if (settings.retention_ms > 0 && settings.retention_ms < spec->retention_least_ms)
		return error_set(error, ERROR_CONFIG,
		                 "topic %s keeps records only %" PRId64 " ms and would lose them before they are due: "
		                 "set retention.ms=%" PRId64,
		                 spec->name, settings.retention_ms, spec->retention_ms);
	warn_of_settings(spec, &settings);
	return true;
}

static bool ensure_topic(rd_kafka_t *client, const struct kafka_topic_spec *spec, int64_t deadline_ms,
                         bool *out_unsupported, struct error *error)
{
	int partitions;
	*out_unsupported = false;
	if (!kafka_topic_partitions(client, spec->name, remaining_ms(deadline_ms), &partitions, error))
		return false;
	if (partitions > 0)
		return check_topic(client, spec, remaining_ms(deadline_ms), error);
	return create_topic(client, spec, remaining_ms(deadline_ms), out_unsupported, error);
}

/* For a broker without CreateTopics (librdkafka's mock cluster): asking for a topic makes it, with the broker's
 * settings. */
static bool auto_create(const struct kafka_property *properties, size_t property_count,
                        const struct kafka_topic_spec *spec, int64_t deadline_ms, struct error *error)
{
	rd_kafka_t *client = client_create(properties, property_count, true, error);
	if (!client)
		return false;
	int partitions = 0;
	bool ok = kafka_topic_partitions(client, spec->name, remaining_ms(deadline_ms), &partitions, error);
	rd_kafka_destroy(client);
	return ok;
}

bool kafka_topics_ensure(const struct kafka_property *properties, size_t property_count,
                         const struct kafka_topic_spec *specs, size_t count, int timeout_ms, struct error *error)
{
	int64_t deadline_ms = clock_monotonic_ms() + timeout_ms;
	rd_kafka_t *client = client_create(properties, property_count, false, error);
	bool ok = client != NULL;
	for (size_t i = 0; ok && i < count; i++) {
		bool unsupported;
		ok = ensure_topic(client, &specs[i], deadline_ms, &unsupported, error);
		if (ok && unsupported)
			ok = auto_create(properties, property_count, &specs[i], deadline_ms, error);
	}
	if (client)
		rd_kafka_destroy(client);
	return ok;
}

static bool measure_topic(rd_kafka_t *client, const char *topic, int64_t deadline_ms, struct kafka_topics_size *size,
                          struct error *error)
{
	int partitions;
	struct settings settings;
	if (!kafka_topic_partitions(client, topic, remaining_ms(deadline_ms), &partitions, error))
		return false;
	if (partitions == 0) {
		size->missing = size->missing ? size->missing : topic;
		return true;
	}
	ask_settings(client, topic, remaining_ms(deadline_ms), &settings);
	if (partitions > size->partitions)
		size->partitions = partitions;
	if (settings.max_message_bytes > size->max_message_bytes)
		size->max_message_bytes = settings.max_message_bytes;
	return true;
}

bool kafka_topics_measure(const struct kafka_property *properties, size_t property_count,
                          const struct config_strings *topics, int timeout_ms, struct kafka_topics_size *out_size,
                          struct error *error)
{
	int64_t deadline_ms = clock_monotonic_ms() + timeout_ms;
	struct kafka_topics_size size = {.max_message_bytes = DEFAULT_MAX_MESSAGE_BYTES};
	rd_kafka_t *client = client_create(properties, property_count, false, error);
	bool ok = client != NULL;
	for (size_t i = 0; ok && i < topics->count; i++)
		ok = topics->items[i][0] == '^' || measure_topic(client, topics->items[i], deadline_ms, &size, error);
	if (client)
		rd_kafka_destroy(client);
	if (ok)
		*out_size = size;
	return ok;
}
