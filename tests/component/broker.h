/* What the component tests of core/kafka and core/retry share: a broker to talk to, topics and records made and read by
 * librdkafka itself, not by the code under test. */
#ifndef IDEM_TESTS_COMPONENT_BROKER_H
#define IDEM_TESTS_COMPONENT_BROKER_H
#include "core/base/bytes.h"
#include "core/kafka/consumer.h"
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

enum { API_PRODUCE = 0, API_HEARTBEAT = 12 }; /* request numbers of the protocol, for injected errors */

/* Without KAFKA_BOOTSTRAP: runs this program again under tests/lib/with_kafka.sh.  Call it first in main. */
void broker_need(char **argv);
/* "bootstrap.servers" of the real broker. */
struct kafka_property broker_property(void);
/* A mock cluster of this process; its property points into it. */
struct mock {
	rd_kafka_t *client;
	rd_kafka_mock_cluster_t *cluster;
	struct kafka_property property;
};
struct mock mock_create(void);
void mock_destroy(struct mock *mock);

/* A name that no other test of this run has; lives until the process ends. */
const char *unique_name(const char *prefix);
/* settings: name, value, …, NULL; may be NULL. */
/* Until the broker tells of it: an answered CreateTopics is not seen at once. */
void topic_wait(struct kafka_property bootstrap, const char *topic, int partitions);
void topic_create(struct kafka_property bootstrap, const char *topic, int partitions, const char *const *settings);
/* count records "<number>" to one partition, acknowledged. */
void records_produce(struct kafka_property bootstrap, const char *topic, int32_t partition, int count);
/* Reads the record at that offset; NULL after 20 s.  The caller destroys it with message_release. */
rd_kafka_message_t *message_read(struct kafka_property bootstrap, const char *topic, int32_t partition, int64_t offset);
/* Reads the only record of a topic, whichever partition it went to. */
rd_kafka_message_t *only_message_read(struct kafka_property bootstrap, const char *topic, int partitions);
void message_release(rd_kafka_message_t *message);
/* Records in all partitions of a topic (high minus low watermarks). */
int64_t topic_record_count(struct kafka_property bootstrap, const char *topic, int partitions);
#endif
