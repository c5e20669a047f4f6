/* Messages without a broker: this rd_kafka_message_destroy stands before librdkafka's at link time. */
#ifndef IDEM_TESTS_FAKE_MESSAGE_H
#define IDEM_TESTS_FAKE_MESSAGE_H
#include <librdkafka/rdkafka.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic long fake_messages; /* alive */

static inline rd_kafka_message_t *fake_message(int64_t offset)
{
	rd_kafka_message_t *message = calloc(1, sizeof(*message));
	message->offset = offset;
	atomic_fetch_add(&fake_messages, 1);
	return message;
}

void rd_kafka_message_destroy(rd_kafka_message_t *message)
{
	atomic_fetch_sub(&fake_messages, 1);
	free(message);
}
#endif
