#include "core/kafka/client.h"
#include "core/base/assert.h"
#include "core/base/log.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

static void log_line(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
	(void)client;
	if (level <= LOG_WARNING)
		log_write_limited(LOG_kafka_error, "%s: %s", facility, text);
}

struct kafka_property *kafka_properties_create(const struct config_properties *properties)
{
	struct kafka_property *list = calloc(properties->count + 1, sizeof(*list));
	ASSERT(list);
	for (size_t i = 0; i < properties->count; i++)
		list[i] = (struct kafka_property){properties->items[i].name, properties->items[i].value};
	return list;
}

static bool may_be_secret(const char *name)
{
	return strstr(name, "password") || strstr(name, "secret") || strstr(name, ".pem") || strstr(name, "config");
}

static bool set_property(rd_kafka_conf_t *conf, const struct kafka_property *property, struct error *error)
{
	char text[256];
	rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, property->name, property->value, text, sizeof(text));
	if (result == RD_KAFKA_CONF_OK)
		return true;
	if (result == RD_KAFKA_CONF_UNKNOWN)
		return error_set(error, ERROR_CONFIG, "kafka property %s is not known to librdkafka %s", property->name,
		                 rd_kafka_version_str());
	if (may_be_secret(property->name))
		return error_set(error, ERROR_CONFIG, "kafka property %s has a value that librdkafka refuses",
		                 property->name);
	return error_set(error, ERROR_CONFIG, "kafka property %s: %s", property->name, text);
}

static bool set_list(rd_kafka_conf_t *conf, const struct kafka_property *list, struct error *error)
{
	for (; list && list->name; list++)
		if (!set_property(conf, list, error))
			return false;
	return true;
}

rd_kafka_conf_t *kafka_conf_create(const struct kafka_property *defaults, const struct kafka_property *properties,
                                   size_t property_count, const struct kafka_property *forced, struct error *error)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool ok = set_list(conf, defaults, error);
	for (size_t i = 0; ok && i < property_count; i++)
		ok = set_property(conf, &properties[i], error);
	if (!ok || !set_list(conf, forced, error)) {
		rd_kafka_conf_destroy(conf);
		return NULL;
	}
	rd_kafka_conf_set_log_cb(conf, log_line);
	return conf;
}

rd_kafka_t *kafka_client_create_take(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct error *error)
{
	char text[512];
	rd_kafka_t *client = rd_kafka_new(type, conf, text, sizeof(text));
	if (!client) {
		rd_kafka_conf_destroy(conf);
		error_set(error, ERROR_CONFIG, "the kafka client could not be made: %s", text);
	}
	return client;
}

bool kafka_code_is_retriable(rd_kafka_resp_err_t code)
{
	switch ((int)code) {
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__RESOLVE:
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
	case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
	case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
	case RD_KAFKA_RESP_ERR__QUEUE_FULL:
	case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
	case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
	case RD_KAFKA_RESP_ERR__WAIT_COORD:
	case RD_KAFKA_RESP_ERR__IN_PROGRESS:
	case RD_KAFKA_RESP_ERR__RETRY:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
	case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
	case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
	case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
	case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
	case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
	case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
	case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
	case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
	case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
	case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
	case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
		return true;
	default:
		return false;
	}
}

static bool is_too_large(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

static void fill(struct error *error, rd_kafka_resp_err_t code, const char *text, const char *format, va_list arguments)
        PRINTF_LIKE(4, 0);
static void fill(struct error *error, rd_kafka_resp_err_t code, const char *text, const char *format, va_list arguments)
{
	char what[256];
	vsnprintf(what, sizeof(what), format, arguments);
	error_set(error, is_too_large(code) ? ERROR_LIMIT : ERROR_KAFKA, "%s: %s (%s)", what, text,
	          rd_kafka_err2name(code));
	if (error)
		error->retriable = kafka_code_is_retriable(code);
}

bool kafka_error_set(struct error *error, rd_kafka_resp_err_t code, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fill(error, code, rd_kafka_err2str(code), format, arguments);
	va_end(arguments);
	return false;
}

bool kafka_error_take(struct error *error, rd_kafka_error_t *taken, const char *format, ...)
{
	if (!taken)
		return true;
	va_list arguments;
	va_start(arguments, format);
	fill(error, rd_kafka_error_code(taken), rd_kafka_error_string(taken), format, arguments);
	va_end(arguments);
	rd_kafka_error_destroy(taken);
	return false;
}
