/* Topics: made and looked at.  Blocking calls, [any thread] with a client handle of their own. */
#ifndef IDEM_KAFKA_ADMIN_H
#define IDEM_KAFKA_ADMIN_H
#include "core/base/error.h"
#include "core/kafka/consumer.h"

struct kafka_topic_spec {
	const char *name;
	int partitions;
	int64_t retention_ms; /* -1 for ever */
	int64_t max_message_bytes;
};

/* Creates what is missing (delete policy, the retention given); an existing topic is left as it is. */
bool kafka_topics_ensure(const struct kafka_property *properties, size_t property_count,
                         const struct kafka_topic_spec *specs, size_t count, int timeout_ms,
                         struct error *error) MUST_CHECK;
/* 0 in *out_partitions: no such topic. */
bool kafka_topic_partitions(rd_kafka_t *client, const char *topic, int timeout_ms, int *out_partitions,
                            struct error *error) MUST_CHECK;
#endif
