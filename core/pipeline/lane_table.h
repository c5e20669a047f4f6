/* What lanes.c is made of: one lane, the list of ready ones, and the table of lanes that hold something.  No locks:
 * lanes.c has one. */
#ifndef IDEM_PIPELINE_LANE_TABLE_H
#define IDEM_PIPELINE_LANE_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "core/base/bytes.h"
#include "core/pipeline/record.h"

enum lane_kind { LANE_OF_KEY, LANE_OF_PARTITION };

enum { LANE_KEY_INLINE = 48 }; /* the kind and a key up to here need no allocation of their own */

/* A lane with records is ready (in the list), taken (its worker's) or waits (in the heap); one without any of these is
 * freed. */
struct lane {
	struct record *first, *last;
	size_t count;   /* queued */
	size_t taken;   /* records that a worker holds */
	int64_t due_ms; /* while taken: not ready before then when it comes back; 0 none */
	bool waits, is_ready;
	bool is_slow;                 /* its last event was: taken alone, one by one */
	struct lane *previous, *next; /* in the ready list; next also in the free list */
	UT_hash_handle hh;
	char *key; /* kind, then the key's bytes; own_key or allocated */
	char own_key[LANE_KEY_INLINE];
};

/* Records that were parked stand before all others, in the order they were pushed. */
void lane_push_tail(struct lane *lane, struct record *record);
void lane_push_head(struct lane *lane, struct record *record);
struct record *lane_pop_head(struct lane *lane); /* of a lane that has one */
/* Moves the partition's records (NULL: all) to the front of *list. */
void lane_remove_partition(struct lane *lane, const struct partition *partition, struct record **list);

struct lane_list {
	struct lane *first, *last;
};
void lane_list_append(struct lane_list *list, struct lane *lane);
void lane_list_remove(struct lane_list *list, struct lane *lane);

struct lane_table {
	struct lane *lanes, *free;
}; /* all zero: empty */
/* The lane of that name, made when there is none.  The key is copied. */
struct lane *lane_table_get(struct lane_table *table, enum lane_kind kind, struct bytes key);
void lane_table_free(struct lane_table *table, struct lane *lane); /* kept for reuse */
/* visit may free the lane it is shown. */
void lane_table_each(struct lane_table *table, void (*visit)(struct lane *lane, void *self), void *self);
/* Frees everything; records still there go to the front of *list. */
void lane_table_done(struct lane_table *table, struct record **list);
#endif
