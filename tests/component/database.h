/* A database of its own per test: a fresh schema with the migrations in the server of with_postgres.sh, and connections
 * as the owner (may everything) and as the hosts' role (rows and functions only). */
#ifndef TESTS_COMPONENT_DATABASE_H
#define TESTS_COMPONENT_DATABASE_H
#include <check.h>
#include <stdint.h>

#include "core/db/dedup.h"

#define HOST_ROLE "idem host" /* needs quoting everywhere */
#define DAY_MS INT64_C(86400000)

struct config_database database_config(const char *user);
extern char database_schema[64];
/* For tcase_add_checked_fixture: makes database_schema / nothing applied yet. */
void database_setup_empty(void);
void database_setup(void); /* with the migrations and the grants */
void database_teardown(void);

struct pg *database_connect(const char *user);
/* One value as text, "" for NULL; valid until the next call.  Fails the test when the statement fails. */
const char *database_ask(struct pg *pg, const char *format, ...) PRINTF_LIKE(2, 3);
int64_t database_number(struct pg *pg, const char *format, ...) PRINTF_LIKE(2, 3);
void database_run(struct pg *pg, const char *format, ...) PRINTF_LIKE(2, 3);
/* The sqlstate it fails with; "" when it does not. */
const char *database_state(struct pg *pg, const char *format, ...) PRINTF_LIKE(2, 3);

/* Until that many connections of this test wait for a lock. */
void database_wait_for_waiters(struct pg *pg, int count);
/* Runs the program again inside with_postgres.sh unless it is; then the suite.  The exit status. */
int database_main(char **argv, Suite *suite);
#endif
