/* The partitions this consumer owns now, and where it stands in each: what was given out, not what was finished. [poll]
 */
#ifndef IDEM_KAFKA_ASSIGNMENT_H
#define IDEM_KAFKA_ASSIGNMENT_H
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kafka_assigned {
	char *topic;
	int32_t partition;
	int64_t next_offset; /* to be given out next; a logical one (BEGINNING, END, STORED) before the first record */
	bool paused;
	bool stopped;       /* librdkafka gave up at an offset that is out of range */
	int64_t restart_ms; /* a stopped one is not started again before */
};

struct kafka_assignment {             /* embed it, zeroed */
	struct kafka_assigned *items; /* sorted by topic and partition */
	size_t count, capacity;
	size_t last; /* found last: records come in runs of one partition */
};

void kafka_assignment_done(struct kafka_assignment *assignment);
struct kafka_assigned *kafka_assignment_find(struct kafka_assignment *assignment, const char *topic, int32_t partition);
/* A partition that is there already only gets the new offset. */
void kafka_assignment_add(struct kafka_assignment *assignment, const char *topic, int32_t partition,
                          int64_t next_offset);
void kafka_assignment_remove(struct kafka_assignment *assignment, const char *topic, int32_t partition);
/* All of it with its offsets; the caller destroys the list. */
rd_kafka_topic_partition_list_t *kafka_assignment_list(const struct kafka_assignment *assignment);
#endif
