/* One key by itself, for the operator's tool: is it claimed, and claim it (discard).  Outside a transaction; each call
 * is one of its own.  [main] */
#ifndef IDEM_DB_DEDUP_CLAIM_H
#define IDEM_DB_DEDUP_CLAIM_H
#include "core/db/dedup.h"

struct dedup_key {
	struct bytes business_key; /* absent: the id counts */
	struct bytes id;           /* 16 bytes */
	int64_t time_ms;           /* of a v7 id, else -1 */
	int64_t content_hash;
};
enum dedup_claim {
	DEDUP_CLAIM_NONE,
	DEDUP_CLAIM_MADE,   /* just now */
	DEDUP_CLAIM_SAME,   /* was there: the event was processed, or discarded */
	DEDUP_CLAIM_OTHER,  /* was there: another content under the same key was */
	DEDUP_CLAIM_TOO_NEW /* the time in the id is too far ahead of the database's clock to have a place */
};

/* An id whose day is forgotten is looked for where a release would claim it. */
bool dedup_look_up_key(struct dedup *dedup, struct pg *pg, const struct dedup_key *key, enum dedup_claim *out_claim,
                       struct error *error) MUST_CHECK;
/* Waits for a copy that is being handled just now: what that one ends as is the answer. */
bool dedup_claim_key(struct dedup *dedup, struct pg *pg, const struct dedup_key *key, enum dedup_claim *out_claim,
                     struct error *error) MUST_CHECK;
#endif
