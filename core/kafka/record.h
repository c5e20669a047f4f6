/* One Kafka record, borrowed: valid as long as the rd_kafka_message_t behind it. */
#ifndef IDEM_KAFKA_RECORD_H
#define IDEM_KAFKA_RECORD_H
#include "core/base/bytes.h"
#include <stddef.h>
#include <stdint.h>

struct kafka_header {
	struct bytes name, value;
}; /* value absent: null */

struct kafka_record {
	const char *topic;
	int32_t partition;
	int64_t offset, timestamp_ms; /* timestamp -1: none */
	struct bytes key, value;      /* absent: null */
	const struct kafka_header *headers;
	size_t header_count;
};

struct kafka_place { /* of a record in its topic */
	int32_t partition;
	int64_t offset, timestamp_ms; /* timestamp -1: none */
};

/* The last header of that name, or NULL (Kafka keeps duplicates; the last one wins). */
const struct kafka_header *kafka_record_header(const struct kafka_record *record, const char *name);
#endif
