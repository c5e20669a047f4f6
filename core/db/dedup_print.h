/* What `idemctl dedup` prints.  [main] */
#ifndef IDEM_DB_DEDUP_PRINT_H
#define IDEM_DB_DEDUP_PRINT_H
#include "core/db/dedup.h"
#include <stdio.h>

/* The groups (base, floor, retention, up to when they may forget and which partition holds them back) and their days
 * with sizes.  group NULL: all.  json: one object {"groups":[…],"days":[…]}. */
bool dedup_print_status(struct pg *pg, const char *schema, const char *group, bool json, FILE *out,
                        struct error *error) MUST_CHECK;
/* dedup_tend now; says how many days were forgotten and how many are left. */
bool dedup_print_expire(struct pg *pg, const struct dedup_options *options, bool json, FILE *out,
                        struct error *error) MUST_CHECK;
#endif
