/* The offset tracker: which records of an assigned partition are finished; the offset after the contiguous finished prefix is
 * what may be committed, never more, never backwards.  Offsets may have holes (compaction, transactions): slots are numbered
 * by delivery.  One mutex per partition; reference counted: late marks after a revoke are harmless. */
#ifndef IDEM_PIPELINE_TRACKER_H
#define IDEM_PIPELINE_TRACKER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/pipeline/record.h"

struct partition; /* one assignment of one partition; a new assignment makes a new one */
struct partition *partition_create(const char *topic, int32_t number, int64_t first_offset /* -1 unknown */);
void partition_ref(struct partition *partition);
void partition_unref(struct partition *partition);
const char *partition_topic(const struct partition *partition);
int32_t partition_number(const struct partition *partition);

/* [poll] A record was taken from Kafka; gives its slot. */
uint64_t partition_begin(struct partition *partition, int64_t offset, int64_t now_ms);
/* [any] Finished: processed, duplicate, ignored, or its retry/DLQ record was acknowledged. */
void partition_finish(struct partition *partition, uint64_t slot);
/* [any] Many at once under one lock. */
void partition_finish_many(struct partition *partition, const uint64_t *slots, size_t count);
/* The next offset to commit, or -1: nothing new since partition_committed. */
int64_t partition_committable(struct partition *partition);
void partition_committed(struct partition *partition, int64_t next_offset); /* the coordinator acknowledged it */
int64_t partition_next_offset(struct partition *partition); /* as committable, but also when already committed; -1 none */
/* Unfinished and ahead: for pausing. */
struct partition_load { uint64_t ahead; /* records past the first unfinished one */ int64_t oldest_ms; /* when it came, 0 none */ size_t unfinished; };
struct partition_load partition_load(struct partition *partition);
/* [poll] Revoked: lanes_should_stop says so for its records. */
void partition_revoke(struct partition *partition);
bool partition_is_revoked(const struct partition *partition); /* atomic */

struct record *record_create(rd_kafka_message_t *message, struct partition *partition); /* takes the message, takes a ref */
void record_finish(struct record *record);  /* partition_finish + free */
void record_drop(struct record *record);    /* free without finishing: it will be fetched again by whoever owns it */
#endif
