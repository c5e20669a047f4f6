/* The statements on event_attempt: what became of an event that did not end processed (ENGINE section 7).  The caller
 * runs them in the transaction that holds the claims.  [any thread] */
#ifndef IDEM_DB_ATTEMPTS_H
#define IDEM_DB_ATTEMPTS_H
#include "core/db/pg.h"
#include <stdint.h>

enum attempt_route { ATTEMPT_IN_PLACE, ATTEMPT_RETRY, ATTEMPT_DEAD, ATTEMPT_PARKED };

struct attempts {
	/* $1 uuid[] or text[] keys in order of bytes, $2 text group; returns key, round, attempt, route, reason,
	 * deaths, error (binary), and the content hashes of its dead letters of that round as text, with a blank
	 * between, NULL for none. */
	struct pg_statement look_up_id, look_up_text;
	/* $1 text group, $2 text[] keys, $3 bigint[] rounds, $4 bigint[] attempts, $5 text[] routes, $6 text[] reasons.
	 */
	struct pg_statement store;
	struct pg_statement forget; /* $1 text[] keys, $2 text group */
};

/* schema: a name as configured; pg only quotes it. */
struct attempts *attempts_create(struct pg *pg, const char *schema);
void attempts_destroy(struct attempts *attempts); /* NULL allowed */
const char *attempt_route_name(enum attempt_route route);
/* Of a row; false: a route of a newer program. */
bool attempt_route_from_name(const char *name, enum attempt_route *out_route);
/* The process died while it handled an event.  A death beside others counts once, since which of them it was is not
 * known; alone each counts.  *out_deaths: so far, in this round. */
struct attempt_death {
	const char *group, *id;
	uint32_t round;
	bool was_alone;
	const char *reason, *error_text;
};
bool attempts_count_death(struct pg *pg, const char *schema, const struct attempt_death *death, int64_t *out_deaths,
                          struct error *error) MUST_CHECK;
#endif
