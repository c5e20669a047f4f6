/* Private to core/kafka: the consumer's insides, and what it does when the group gives, takes or loses partitions.
 * [poll] */
#ifndef IDEM_KAFKA_REBALANCE_H
#define IDEM_KAFKA_REBALANCE_H
#include "core/kafka/assignment.h"
#include "core/kafka/consumer.h"

struct kafka_consumer {
	struct kafka_consumer_options options; /* without the properties */
	rd_kafka_t *client;
	rd_kafka_queue_t *queue; /* what kafka_consumer_poll reads */
	struct kafka_assignment assignment;
	bool commit_in_flight;
	bool fatal_reported;
	size_t stopped; /* assigned partitions with `stopped` */
	/* The messages of the poll that runs now: a revoke inside it takes those out again. */
	rd_kafka_message_t **batch;
	size_t batch_count;
};

/* librdkafka's rebalance callback; opaque is the consumer. */
void kafka_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t *list, void *opaque);
/* The offset asked for is not in the log: the partition stands still until kafka_rebalance_restart. */
void kafka_rebalance_stopped(struct kafka_consumer *consumer, const char *topic, int32_t partition);
/* Starts those again where the policy says, each at most once a second. */
void kafka_rebalance_restart(struct kafka_consumer *consumer);
/* Starts a stopped one there. */
void kafka_rebalance_start_at(struct kafka_consumer *consumer, struct kafka_assigned *assigned, int64_t offset);

/* Heap copies of a list; the strings are the list's.  The caller frees; never NULL. */
struct kafka_position *kafka_positions_create(const rd_kafka_topic_partition_list_t *list);
/* NULL never; the caller destroys it. */
rd_kafka_topic_partition_list_t *kafka_positions_list(const struct kafka_position *positions, size_t count);
/* The code of the first partition that has one, else 0. */
rd_kafka_resp_err_t kafka_list_code(const rd_kafka_topic_partition_list_t *list);
#endif
