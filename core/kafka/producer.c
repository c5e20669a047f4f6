#include "core/kafka/producer.h"
#include "core/base/assert.h"
#include "core/base/log.h"
#include "core/kafka/client.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define RENEW_FLUSH_MS 1000

struct kafka_producer {
	struct kafka_producer_options options; /* without the properties */
	rd_kafka_conf_t *conf;                 /* for the next client */
	rd_kafka_t *client;
	pthread_rwlock_t lock; /* written when the client is replaced */
	bool failed;           /* the client has a fatal error [poll] */
	_Atomic size_t in_flight;
};

static const struct kafka_property defaults[] = {
        {"client.id", "idem"},
        {"linger.ms", "1"},
        {"message.timeout.ms", "30000"},
        {"message.max.bytes", "1000000000"}, /* the topic's own limit decides */
        {NULL, NULL},
};

static const struct kafka_property forced[] = {
        {"enable.idempotence", "true"},
        {"acks", "all"},
        {NULL, NULL},
};

static void client_error(rd_kafka_t *client, int code, const char *text, void *opaque)
{
	(void)client;
	struct kafka_producer *producer = opaque;
	log_write_limited(LOG_kafka_error, "producer: %s", text);
	if (code == RD_KAFKA_RESP_ERR__FATAL)
		producer->failed = true;
}

static bool has_failed(rd_kafka_t *client)
{
	return rd_kafka_fatal_error(client, NULL, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void delivered(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct kafka_producer *producer = opaque;
	struct error error = {0};
	const struct kafka_place place = {message->partition, message->offset,
	                                  rd_kafka_message_timestamp(message, NULL)};
	if (message->err)
		kafka_error_set(&error, message->err, "writing to topic %s", rd_kafka_topic_name(message->rkt));
	if (message->err && has_failed(client))
		error.retriable = true; /* by the client that follows */
	producer->options.on_delivered(producer->options.self, message->_private, message->err ? NULL : &place, &error);
	atomic_fetch_sub(&producer->in_flight, 1);
}

struct kafka_producer *kafka_producer_create(const struct kafka_producer_options *options, struct error *error)
{
	struct kafka_producer *producer = calloc(1, sizeof(*producer));
	ASSERT(producer);
	producer->options = *options;
	producer->options.properties = NULL;
	producer->options.property_count = 0;
	producer->conf = kafka_conf_create(defaults, options->properties, options->property_count, forced, error);
	if (producer->conf) {
		rd_kafka_conf_set_opaque(producer->conf, producer);
		rd_kafka_conf_set_error_cb(producer->conf, client_error);
		rd_kafka_conf_set_dr_msg_cb(producer->conf, delivered);
		producer->client =
		        kafka_client_create_take(RD_KAFKA_PRODUCER, rd_kafka_conf_dup(producer->conf), error);
	}
	if (!producer->client) {
		if (producer->conf)
			rd_kafka_conf_destroy(producer->conf);
		free(producer);
		return NULL;
	}
	PTHREAD_OK(pthread_rwlock_init(&producer->lock, NULL));
	return producer;
}

static rd_kafka_headers_t *headers_create(const struct kafka_record *record)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(record->header_count);
	for (size_t i = 0; i < record->header_count; i++) {
		const struct kafka_header *header = &record->headers[i];
		rd_kafka_resp_err_t code = rd_kafka_header_add(headers, header->name.ptr, (ssize_t)header->name.len,
		                                               header->value.ptr, (ssize_t)header->value.len);
		ASSERT(code == RD_KAFKA_RESP_ERR_NO_ERROR);
	}
	return headers;
}

/* librdkafka takes untyped pointers and, with MSG_F_COPY, only reads through them. */
static void *mutable(const void *ptr)
{
	union {
		const void *in;
		void *out;
	} pointer = {.in = ptr};
	return pointer.out;
}

static rd_kafka_error_t *produce(rd_kafka_t *client, const struct kafka_record *record, rd_kafka_headers_t *headers,
                                 void *opaque)
{
	rd_kafka_vu_t arguments[] = {
	        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = record->topic},
	        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = record->partition},
	        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
	        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {mutable(record->key.ptr), record->key.len}},
	        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {mutable(record->value.ptr), record->value.len}},
	        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
	        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = opaque},
	        {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u.i64 = record->timestamp_ms},
	};
	size_t count = sizeof(arguments) / sizeof(arguments[0]);
	return rd_kafka_produceva(client, arguments, record->timestamp_ms < 0 ? count - 1 : count);
}

bool kafka_producer_send(struct kafka_producer *producer, const struct kafka_record *record, void *opaque,
                         struct error *error)
{
	rd_kafka_headers_t *headers = headers_create(record);
	atomic_fetch_add(&producer->in_flight, 1);
	PTHREAD_OK(pthread_rwlock_rdlock(&producer->lock));
	rd_kafka_error_t *failure = produce(producer->client, record, headers, opaque);
	bool is_fatal = failure && has_failed(producer->client);
	PTHREAD_OK(pthread_rwlock_unlock(&producer->lock));
	if (!failure)
		return true;
	rd_kafka_headers_destroy(headers);
	atomic_fetch_sub(&producer->in_flight, 1);
	(void)kafka_error_take(error, failure, "writing to topic %s", record->topic);
	if (is_fatal && error)
		error->retriable = true;
	return false;
}

/* What a client still holds is reported, delivered or not. */
static void end_client(rd_kafka_t *client, int timeout_ms)
{
	rd_kafka_resp_err_t code = rd_kafka_flush(client, timeout_ms);
	if (code) {
		code = rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		ASSERT(code == RD_KAFKA_RESP_ERR_NO_ERROR);
		while (rd_kafka_outq_len(client) > 0)
			rd_kafka_poll(client, 100);
	}
	rd_kafka_destroy(client);
}

/* An idempotent client can fail for good (its producer id is gone); the next one starts with a new id. */
static void renew_client(struct kafka_producer *producer)
{
	struct error error;
	rd_kafka_t *next = kafka_client_create_take(RD_KAFKA_PRODUCER, rd_kafka_conf_dup(producer->conf), &error);
	if (!next) {
		log_write_limited(LOG_kafka_error, "producer: %s", error.text);
		return;
	}
	PTHREAD_OK(pthread_rwlock_wrlock(&producer->lock));
	rd_kafka_t *old = producer->client;
	producer->client = next;
	PTHREAD_OK(pthread_rwlock_unlock(&producer->lock));
	end_client(old, RENEW_FLUSH_MS);
	producer->failed = false;
}

void kafka_producer_poll(struct kafka_producer *producer, int timeout_ms)
{
	rd_kafka_poll(producer->client, timeout_ms);
	if (producer->failed)
		renew_client(producer);
}

size_t kafka_producer_in_flight(struct kafka_producer *producer)
{
	return atomic_load(&producer->in_flight);
}

void kafka_producer_destroy(struct kafka_producer *producer, int timeout_ms)
{
	if (!producer)
		return;
	end_client(producer->client, timeout_ms);
	rd_kafka_conf_destroy(producer->conf);
	PTHREAD_OK(pthread_rwlock_destroy(&producer->lock));
	free(producer);
}
