/* Messages without a broker: these two functions stand before librdkafka's at link time.  The timestamp is 1000 +
 * offset. */
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

int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *message, rd_kafka_timestamp_type_t *out_type)
{
	*out_type = RD_KAFKA_TIMESTAMP_CREATE_TIME;
	return 1000 + message->offset;
}
#endif
