/* Lanes: the unit of order.  One worker at a time works on a lane; records of a lane are taken in the order they came.
 * A lane whose last event was slow (record->pace) is taken alone and one record at a time, so that it holds back
 * nobody else's records; a quick one ends that.
 * ordering=none is one lane that many workers may take from at once.  One mutex; the poll thread pushes many records
 * under one lock, a worker takes a whole batch under one lock. */
#ifndef IDEM_PIPELINE_LANES_H
#define IDEM_PIPELINE_LANES_H
#include "core/base/bytes.h"
#include "core/config/config.h"
#include "core/pipeline/record.h"
#include <stdbool.h>
#include <stddef.h>

struct lanes;
struct lanes *lanes_create(enum config_ordering ordering);
void lanes_destroy(struct lanes *lanes); /* drops records still queued; no worker may be inside */

/* [poll] key: of lane ordering key (absent: a lane of the record's partition); ignored for the other orderings; copied.
 */
struct lanes_item {
	struct record *record;
	struct bytes key;
};
void lanes_push(struct lanes *lanes, const struct lanes_item *items, size_t count);

/* [worker] Waits until there is work, at most wait_ms (-1: for ever); 0: none or closed.  Takes at most max records, of
 * ready lanes only, and leaves a fair share to workers that wait.  Taken lanes are this worker's until lanes_give_back,
 * and so long the records stay readable, finished or not. */
size_t lanes_take(struct lanes *lanes, size_t max, int64_t wait_ms, struct record **out_records);
/* [worker] Ends the worker's hold on the lanes of `taken` (all it took, finished or not).  The records in `back` (a
 * subset, in taken order: not begun, or to be tried again) return to the head of their lanes in that order; hold_ms > 0
 * for a record: its lane (for ordering none: that record alone) is not ready before then.  Records of a revoked
 * partition are dropped instead. */
struct lanes_return {
	struct record *record;
	int64_t hold_ms;
};
void lanes_give_back(struct lanes *lanes, struct record *const *taken, size_t taken_count,
                     const struct lanes_return *back, size_t back_count);

/* [poll] After partition_revoke: removes the partition's queued records (record_drop); taken ones are still with their
 * workers. */
void lanes_drop_partition(struct lanes *lanes, struct partition *partition);
/* [poll] Records of the partition that workers hold now: wait until none, at most wait_ms.  True: none left. */
bool lanes_wait_partition(struct lanes *lanes, struct partition *partition, int64_t wait_ms);
/* [any] Stop: lanes_take answers 0 from now on, waiting workers wake. */
void lanes_close(struct lanes *lanes);
/* [any] Is it time to begin no further event of this record (its partition was dropped, or closed)? */
bool lanes_should_stop(struct lanes *lanes, const struct record *record);
size_t lanes_queued(struct lanes *lanes);  /* [any] records queued, not taken */
size_t lanes_taken(struct lanes *lanes);   /* [any] records that workers hold */
size_t lanes_waiting(struct lanes *lanes); /* [any] workers inside lanes_take with nothing to do */
#endif
