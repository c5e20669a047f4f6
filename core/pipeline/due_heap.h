/* What waits for its time, the earliest first: a lane, or a single record of a lane.  No locks: lanes.c has one. */
#ifndef IDEM_PIPELINE_DUE_HEAP_H
#define IDEM_PIPELINE_DUE_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pipeline/record.h"

struct due {
	int64_t due_ms; /* monotonic */
	uint64_t order; /* set by the heap: equal times leave in the order they came */
	struct lane *lane;
	struct record *record; /* NULL: the whole lane */
};

struct due_heap {
	struct due *items;
	size_t count, capacity;
	uint64_t next_order;
}; /* all zero: empty */

void due_heap_add(struct due_heap *heap, const struct due *due);
int64_t due_heap_first_ms(const struct due_heap *heap); /* -1: empty */
/* The earliest, if its time has come. */
bool due_heap_take(struct due_heap *heap, int64_t now_ms, struct due *out_due);
/* Moves single records of the partition (NULL: all) to the front of *list; returns how many. */
size_t due_heap_remove_partition(struct due_heap *heap, const struct partition *partition, struct record **list);
void due_heap_done(struct due_heap *heap);
#endif
