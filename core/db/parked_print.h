/* What `idemctl parked` prints and does.  [main] */
#ifndef IDEM_DB_PARKED_PRINT_H
#define IDEM_DB_PARKED_PRINT_H
#include <stdio.h>

#include "core/db/pg.h"

struct parked_choice {
	const char *schema, *group;
	const char *key; /* an ordering key, or a whole name of parked_key ("partition:orders/0"); NULL: all */
	int64_t limit;   /* 0: none */
	bool is_json;
};
/* The keys with their first event, the one that is due first in front; with choice->key its events, in order. */
bool parked_print(struct pg *pg, const struct parked_choice *choice, FILE *out, struct error *error) MUST_CHECK;
/* They are due now.  dry_run: only counted. */
bool parked_release(struct pg *pg, const struct parked_choice *choice, bool dry_run, size_t *out_keys,
                    struct error *error) MUST_CHECK;
#endif
