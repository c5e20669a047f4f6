/* One PostgreSQL connection: libpq in non-blocking pipeline mode with a flush/read loop of our own (a blocking sender
 * can dead-lock on two full sockets).  A connection belongs to one thread; only pg_cancel is [any thread]. Failures:
 * false/NULL with *error; error->sqlstate as answered by the server.  After pg_is_broken() only pg_close helps. */
#ifndef IDEM_DB_PG_H
#define IDEM_DB_PG_H
#include "core/base/error.h"
#include "core/config/config.h"
#include <libpq-fe.h>

#define PG_MAX_PARAMS 64

struct pg_statement { /* static or long-lived; identity (address) is the cache key of the prepared statement */
	const char *sql;
	int param_count;
	const Oid *param_types; /* NULL: inferred */
	int result_format;      /* 0 text, 1 binary */
};
/* Of a text that asprintf made: length is what it answered.  Answers in binary.  The text belongs to the statement. */
struct pg_statement pg_statement_take(char *sql, int length, int param_count, const Oid *param_types);

struct pg_params {
	const char *const *values;
	const int *lengths;
	const int *formats;
	int count;
};

struct pg;
/* target_session_attrs=read-write, keepalives, tcp_user_timeout, idle_in_transaction_session_timeout and
 * application_name are set; synchronous_commit=off is refused unless allowed; UTF8 is the client encoding. */
struct pg *pg_open(const struct config_database *config, const char *application_name, int64_t idle_in_transaction_ms,
                   struct error *error);
void pg_close(struct pg *pg); /* NULL allowed */
/* DISCARD ALL, and the limits of pg_open again. */
bool pg_reset(struct pg *pg, struct error *error) MUST_CHECK;
bool pg_is_broken(const struct pg *pg);
PGconn *pg_handle(struct pg *pg);

/* Synchronous, outside a pipeline: one statement, its last result; text parameters.  Free with PQclear. */
PGresult *pg_run(struct pg *pg, const char *sql, const char *const *values, int count, struct error *error);
/* Several statements in one string, no parameters (migrations). */
bool pg_run_script(struct pg *pg, const char *sql, struct error *error) MUST_CHECK;

/* Pipelined: queue, then pg_sync, then one pg_next per queued statement in order, then pg_next answers the sync with
 * *out_result NULL and true.  Prepared at first use on this connection when the statement is given by address and the
 * pooler allows it (the Parse travels in the same pipeline and its answer is consumed inside). */
bool pg_queue(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
              struct error *error) MUST_CHECK;
/* The same without preparing: for statements used once (params may be text of a plugin's own). */
bool pg_queue_once(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
                   struct error *error) MUST_CHECK;
/* The same without parameters. */
bool pg_queue_sql(struct pg *pg, const char *sql, struct error *error) MUST_CHECK;
bool pg_sync(struct pg *pg, struct error *error) MUST_CHECK;
/* false: the connection broke (nothing more will come).  true: *out_result is the next statement's PGresult (also
 * errors and PGRES_PIPELINE_ABORTED; the caller clears it), or NULL for a sync point. */
bool pg_next(struct pg *pg, PGresult **out_result, struct error *error) MUST_CHECK;
/* Fills *error from a failed result; what: names the statement for people.  retriable: its plan was stale, and behind
 * the sync point a new one is made. */
bool pg_result_error(const PGresult *result, const char *what, struct error *error);
/* Ask the server to cancel what runs now; errors are ignored.  [any thread] */
void pg_cancel(struct pg *pg);
#endif
