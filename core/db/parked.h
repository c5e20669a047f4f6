/* The statements on parked_event and parked_key: events of an ordered lane that wait for another try, and those behind
 * them (ENGINE section 7).  What a batch does, it runs in its own transaction; taking what is due is for the side
 * thread, looking and releasing for idemctl. */
#ifndef IDEM_DB_PARKED_H
#define IDEM_DB_PARKED_H
#include <stdint.h>

#include "core/base/arena.h"
#include "core/db/pg.h"

/* Of a batch.  $1 is the group everywhere; keys and ids are arrays. [any thread] */
struct parked_statements {
	/* $2 bytea[] keys.  Those of them that are parked, locked to the end of the transaction, in order: key, events.
	 */
	struct pg_statement lock;
	/* $2 bytea[] keys, $3 bigint[] how many of each.  Their first events: number of the key from 1, id. */
	struct pg_statement heads;
	/* $2 text[] ids that are parked no more, $3 text[] ids that failed again, $4 bigint[] their attempts, $5 text[]
	 * reasons. */
	struct pg_statement settle;
	/* In the order they are to have: $2 text[] ids, $3 bytea[] keys, $4 text[] topics, $5 bigint[] partitions,
	 * $6 bigint[] offsets, $7 bigint[] when they were produced (ms), $8 bytea[] records, $9 bigint[] attempts,
	 * $10 text[] reasons, $11 bigint[] ms to wait, of whose the greatest counts if the key is new.  Answers the ids
	 * that were not there yet. */
	struct pg_statement park;
	/* Behind the two above: $2 bytea[] keys that are locked, $3 bigint[] ms from now to the next try, -1: as it
	 * was. A key goes with its last event. */
	struct pg_statement keys;
	/* $2 text[] topics and $3 bigint[] partitions that this host reads, $4 bytea[] keys to be left out, $5 bigint
	 * keys, $6 bigint events of each, $7 bigint bytes, all at most: the first events of the keys that are due; only
	 * the first where it failed before, for as a rule it fails again. */
	struct pg_statement due;
	struct pg_statement counts; /* keys, events, ms to the next due time (NULL: none to come) */
};
/* schema: a name as configured; pg only quotes it. */
struct parked_statements *parked_statements_create(struct pg *pg, const char *schema);
void parked_statements_destroy(struct parked_statements *statements); /* NULL allowed */

/* text with the schema in place of each @; the caller frees. */
char *parked_sql(struct pg *pg, const char *text, const char *schema);

struct parked_row {
	struct bytes key, record;
	const char *event_id, *topic;
	int32_t partition;
	int64_t offset;
	uint32_t attempt; /* tries so far */
};

/* A request and its answer. */
struct parked_take {
	struct arena arena; /* holds all of it */
	const char *group;
	/* The request. */
	struct bytes *topics; /* that this host reads, … */
	int64_t *partitions;  /* … with these */
	size_t partition_count;
	struct bytes *keys_left_out;
	size_t left_out_count;
	int64_t max_keys, max_events, max_bytes; /* events: of a key */
	/* The answer. */
	bool is_answered;                 /* false: the database is away */
	int64_t total_keys, total_events; /* of the group */
	int64_t next_due_ms;              /* from now; -1: nothing becomes due */
	struct parked_row *rows;          /* by key, each in order */
	size_t row_count;
};
struct parked_take *parked_take_create(const char *group); /* with an empty request */
void parked_take_destroy(struct parked_take *take);        /* NULL allowed */
/* A key that nobody released for a minute is anybody's: its partition may be gone. */
bool parked_take_due(const struct parked_statements *statements, struct pg *pg, struct parked_take *take,
                     struct error *error) MUST_CHECK;
/* Is anything of the group parked?  By a host with another retry.mode, too. */
bool parked_any(struct pg *pg, const char *schema, const char *group, bool *out_any, struct error *error) MUST_CHECK;
#endif
