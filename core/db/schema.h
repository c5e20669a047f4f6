/* The numbered migrations of sql/ (embedded into the binaries at build time), applied by idemctl schema apply and
 * checked by every process that opens the database. */
#ifndef IDEM_DB_SCHEMA_H
#define IDEM_DB_SCHEMA_H
#include "core/db/pg.h"
#include <stdio.h>

int schema_version_wanted(void);
/* 0: nothing applied yet. */
bool schema_version_found(struct pg *pg, const char *schema, int *out_version, struct error *error) MUST_CHECK;
/* Applies what is missing, each in a transaction, under an advisory lock; also (re)grants to role (NULL: none). */
bool schema_apply(struct pg *pg, const char *schema, const char *role, FILE *progress, struct error *error) MUST_CHECK;
bool schema_print_status(struct pg *pg, const char *schema, bool json, FILE *out, struct error *error) MUST_CHECK;
/* Refuses another version than the one wanted, with the command that helps. */
bool schema_check(struct pg *pg, const char *schema, struct error *error) MUST_CHECK;
#endif
