/* Topics: made and looked at.  Blocking calls, [any thread] with a client handle of their own. */
#ifndef IDEM_KAFKA_ADMIN_H
#define IDEM_KAFKA_ADMIN_H
#include "core/base/error.h"
#include "core/config/config.h"
#include "core/kafka/consumer.h"

struct kafka_topic_spec {
	const char *name;
	int partitions;
	int64_t retention_ms;       /* -1 for ever */
	int64_t retention_least_ms; /* a topic that keeps records for less loses some: refused; 0: none is */
	int64_t max_message_bytes;
};

/* Creates what is missing (delete policy, the retention given).  An existing topic is left as it is; one that would
 * lose records (compacted, or under retention_least_ms) is refused, one that keeps or takes less than the spec is
 * warned of. */
bool kafka_topics_ensure(const struct kafka_property *properties, size_t property_count,
                         const struct kafka_topic_spec *specs, size_t count, int timeout_ms,
                         struct error *error) MUST_CHECK;

/* The largest of several topics' figures; topics that are missing, and patterns (^), are left out.  0 partitions: none
 * was found; max_message_bytes is the broker's default where it isn't told. */
struct kafka_topics_size {
	int partitions;
	int64_t max_message_bytes;
	const char *missing; /* the first of the topics that does not exist, borrowed; NULL: all are there */
};
bool kafka_topics_measure(const struct kafka_property *properties, size_t property_count,
                          const struct config_strings *topics, int timeout_ms, struct kafka_topics_size *out_size,
                          struct error *error) MUST_CHECK;
/* 0 in *out_partitions: no such topic. */
bool kafka_topic_partitions(rd_kafka_t *client, const char *topic, int timeout_ms, int *out_partitions,
                            struct error *error) MUST_CHECK;
#endif
