/* Reads a topic as it stands now, from the low to the high watermark of every partition, one partition after the other:
 * no group, no commit, committed records only.  One thread; what is buffered is bounded. */
#ifndef IDEM_KAFKA_READER_H
#define IDEM_KAFKA_READER_H
#include "core/base/error.h"
#include "core/kafka/consumer.h"
#include "core/kafka/record.h"

struct kafka_reader;
/* The topic must be there (ERROR_NOT_FOUND). */
struct kafka_reader *kafka_reader_create(const struct kafka_property *properties, size_t property_count,
                                         const char *topic, struct error *error);
/* The record is valid during the call; false: enough. */
typedef bool kafka_reader_visit(void *self, const struct kafka_record *record);
/* Again and again, each time up to where the topic ends then. */
bool kafka_reader_run(struct kafka_reader *reader, kafka_reader_visit *visit, void *self,
                      struct error *error) MUST_CHECK;
/* Only the records at these places, sorted by partition and offset, and between them no more than is cheaper to read
 * than to skip; what is not there any more is left out. */
bool kafka_reader_pick(struct kafka_reader *reader, const struct kafka_place *places, size_t count,
                       kafka_reader_visit *visit, void *self, struct error *error) MUST_CHECK;
void kafka_reader_destroy(struct kafka_reader *reader); /* NULL allowed */
#endif
