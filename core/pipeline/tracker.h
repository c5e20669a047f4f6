/* The offset tracker: which records of an assigned partition are finished; the offset after the contiguous finished
 * prefix is what may be committed, never more, never backwards.  Offsets may have holes (compaction, transactions):
 * slots are numbered by delivery.  One mutex per partition; reference counted: late marks after a revoke are harmless.
 */
#ifndef IDEM_PIPELINE_TRACKER_H
#define IDEM_PIPELINE_TRACKER_H
#include "core/pipeline/record.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct partition; /* one assignment of one partition; a new assignment makes a new one */
struct partition *partition_create(const char *topic, int32_t number, int64_t first_offset /* -1 unknown */);
void partition_ref(struct partition *partition);
void partition_unref(struct partition *partition);
const char *partition_topic(const struct partition *partition);
int32_t partition_number(const struct partition *partition);

/* The next offset to commit (of the first unfinished record, else the last finished one + 1), or -1: nothing new since
 * partition_committed. */
int64_t partition_committable(struct partition *partition);
void partition_committed(struct partition *partition, int64_t next_offset); /* the coordinator acknowledged it */
/* As committable, but also when already committed; -1 none. */
int64_t partition_next_offset(struct partition *partition);
/* Unfinished and ahead: for pausing. */
struct partition_load {
	uint64_t ahead;       /* records from the first unfinished one on, finished or not */
	int64_t oldest_ms;    /* when that one came, 0 none */
	int64_t timestamp_ms; /* its Kafka timestamp; when none is unfinished, of the last finished one; -1 not known */
	size_t unfinished;
	uint64_t finished; /* since the assignment */
};
struct partition_load partition_load(struct partition *partition);
/* Records of this assignment that are not freed yet (queued, taken, at the router), and their bytes. [any] */
size_t partition_record_count(const struct partition *partition);
size_t partition_record_bytes(const struct partition *partition);
/* Records that workers hold; counted by lanes. [any] */
void partition_add_taken(struct partition *partition, long count);
long partition_taken(const struct partition *partition);
/* [poll] Revoked: lanes_should_stop says so for its records. */
void partition_revoke(struct partition *partition);
bool partition_is_revoked(const struct partition *partition); /* atomic */
/* [poll] Nobody waits for its records any more: handlers that still work on one are told so. */
void partition_give_up(struct partition *partition);
bool partition_is_given_up(const struct partition *partition); /* atomic */

/* Takes the message; takes a reference to the partition. */
struct record *record_create(rd_kafka_message_t *message, struct partition *partition);
/* One that was parked, on behalf of a partition that this process reads; takes released.  No record_begin, and it ends
 * with record_drop. */
struct record *record_create_released(struct released *released, struct partition *partition);
/* [poll] Its partition's tracker counts it from now on; in the order of the offsets. */
void record_begin(struct record *record, int64_t now_ms);
/* [any] Once: processed, duplicate, ignored, or its retry or DLQ record was acknowledged.  Drops the reference. */
void record_finish(struct record *record);
/* [any] The same for many; neighbours of one partition share a lock. */
void record_finish_many(struct record *const *records, size_t count);
/* Drops the reference without finishing: the record will be fetched again by whoever owns the partition. */
void record_drop(struct record *record);
/* Another holder's reference (lanes). */
void record_ref(struct record *record);
void record_unref(struct record *record);
#endif
