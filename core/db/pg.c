#include "core/db/pg.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "core/base/assert.h"

/* What an answer that is still to come belongs to. */
enum pending { PENDING_PREPARE, PENDING_STATEMENT, PENDING_SYNC };

struct prepared {                             /* one statement known to the server under "i<number>" */
	const struct pg_statement *statement; /* the key: its address */
	char name[16];
	UT_hash_handle hh;
};

struct pending_answer {
	enum pending kind;
	struct prepared *prepared; /* PENDING_PREPARE */
};

struct pg {
	PGconn *connection;
	PGcancel *cancel;
	bool broken, can_prepare;
	bool is_stale;             /* a plan no longer fits its tables: all are made again */
	char session[512];         /* what DISCARD ALL takes away */
	struct prepared *prepared; /* uthash */
	unsigned prepared_count;
	struct pending_answer *ring; /* of what is in flight, in order */
	size_t ring_size, ring_head, ring_count;
};

struct pg_statement pg_statement_take(char *sql, int length, int param_count, const Oid *param_types)
{
	ASSERT(length > 0);
	return (struct pg_statement){
	        .sql = sql, .param_count = param_count, .param_types = param_types, .result_format = 1};
}

/* ---- opening ---- */

static bool pg_connection_error(struct pg *pg, const char *what, struct error *error)
{
	pg->broken = true;
	error_set(error, ERROR_DB, "%s: %s", what, PQerrorMessage(pg->connection));
	if (error) {
		size_t length = strlen(error->text);
		while (length > 0 && error->text[length - 1] == '\n')
			error->text[--length] = '\0';
		error->retriable = true;
	}
	return false;
}

static PGconn *pg_connect(const struct config_database *config, const char *application_name)
{
	char connect_timeout[24], user_timeout[24];
	snprintf(connect_timeout, sizeof(connect_timeout), "%" PRId64, (config->connect_timeout_ms + 999) / 1000);
	snprintf(user_timeout, sizeof(user_timeout), "%" PRId64, config->tcp_user_timeout_ms);
	/* What stands before dbname can be overridden by the conninfo, what stands behind it can't. */
	const char *const names[] = {"connect_timeout",
	                             "tcp_user_timeout",
	                             "keepalives_idle",
	                             "keepalives_interval",
	                             "keepalives_count",
	                             "dbname",
	                             "password",
	                             "application_name",
	                             "target_session_attrs",
	                             "client_encoding",
	                             NULL};
	const char *const values[] = {connect_timeout,  user_timeout,     "10",         "5",    "3", config->conninfo,
	                              config->password, application_name, "read-write", "UTF8", NULL};
	return PQconnectdbParams(names, values, 1);
}

/* Limits on the server's side of the connection, so that a cut network does not hold claims for ever.  Behind a
 * transaction pooler a session has no settings of its own: there the batch sends what it needs with SET LOCAL. */
static bool pg_set_session(struct pg *pg, const struct config_database *config, int64_t idle_ms, struct error *error)
{
	snprintf(pg->session, sizeof(pg->session),
	         "SET idle_in_transaction_session_timeout = %" PRId64 "; SET statement_timeout = %" PRId64
	         "; SET tcp_user_timeout = %" PRId64
	         "; SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
	         "; SET default_transaction_isolation = 'read committed'; SET standard_conforming_strings = on",
	         idle_ms, config->statement_timeout_ms, config->tcp_user_timeout_ms);
	return pg_run_script(pg, pg->session, error);
}

static bool pg_check_durable(struct pg *pg, const struct config_database *config, struct error *error)
{
	PGresult *result = pg_run(pg, "SHOW synchronous_commit", NULL, 0, error);
	if (!result)
		return false;
	bool is_off = strcmp(PQgetvalue(result, 0, 0), "off") == 0;
	PQclear(result);
	if (is_off && !config->allow_async_commit)
		return error_set(
		        error, ERROR_INVALID,
		        "postgresql runs this role with synchronous_commit=off, which loses committed events in "
		        "a crash; switch it on or set database.allow_async_commit");
	return true;
}

/* What SQL says by NOTICE may hold payload, which is not logged. */
static void pg_ignore_notice(void *self, const PGresult *result)
{
	(void)self;
	(void)result;
}

struct pg *pg_open(const struct config_database *config, const char *application_name, int64_t idle_in_transaction_ms,
                   struct error *error)
{
	struct pg *pg = calloc(1, sizeof(*pg));
	ASSERT(pg);
	pg->can_prepare = config->pooler == CONFIG_POOLER_NONE;
	pg->connection = pg_connect(config, application_name);
	ASSERT(pg->connection);
	if (PQstatus(pg->connection) != CONNECTION_OK) {
		pg_connection_error(pg, "connecting to postgresql", error);
		goto failed;
	}
	pg->cancel = PQgetCancel(pg->connection);
	(void)PQsetNoticeReceiver(pg->connection, pg_ignore_notice, NULL);
	if (pg->can_prepare && !pg_set_session(pg, config, idle_in_transaction_ms, error))
		goto failed;
	if (!pg_check_durable(pg, config, error))
		goto failed;
	if (PQsetnonblocking(pg->connection, 1) != 0) {
		pg_connection_error(pg, "setting the connection non-blocking", error);
		goto failed;
	}
	return pg;
failed:
	pg_close(pg);
	return NULL;
}

static void pg_forget_prepared(struct pg *pg)
{
	struct prepared *each, *next;
	HASH_ITER(hh, pg->prepared, each, next)
	{
		HASH_DEL(pg->prepared, each);
		free(each);
	}
	pg->is_stale = false;
}

bool pg_reset(struct pg *pg, struct error *error)
{
	pg_forget_prepared(pg);
	return pg_run_script(pg, "DISCARD ALL", error) && (!*pg->session || pg_run_script(pg, pg->session, error));
}

void pg_close(struct pg *pg)
{
	if (!pg)
		return;
	pg_forget_prepared(pg);
	PQfreeCancel(pg->cancel);
	PQfinish(pg->connection);
	free(pg->ring);
	free(pg);
}

bool pg_is_broken(const struct pg *pg)
{
	return pg->broken;
}

PGconn *pg_handle(struct pg *pg)
{
	return pg->connection;
}

void pg_cancel(struct pg *pg)
{
	char text[256];
	if (pg->cancel)
		(void)PQcancel(pg->cancel, text,
		               sizeof(text)); /* best effort: the statement may have ended by itself */
}

/* ---- errors ---- */

/* A migration changed the columns of a prepared statement, or somebody deallocated it: nobody's fault, and it passes
 * when the statement is prepared anew. */
static bool pg_result_is_stale(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *routine = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
	if (!state || !routine)
		return false;
	return (strcmp(state, "0A000") == 0 && strcmp(routine, "RevalidateCachedQuery") == 0) ||
	       (strcmp(state, "26000") == 0 && strcmp(routine, "FetchPreparedStatement") == 0);
}

bool pg_result_error(const PGresult *result, const char *what, struct error *error)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	error_set(error, ERROR_DB, "%s: %s", what, message ? message : "no answer");
	if (!error)
		return false;
	snprintf(error->sqlstate, sizeof(error->sqlstate), "%s", state ? state : "");
	error->retriable = pg_result_is_stale(result);
	return false;
}

/* ---- synchronous ---- */

static bool pg_leave_pipeline(struct pg *pg, struct error *error)
{
	ASSERT(pg->ring_count == 0);
	if (PQpipelineStatus(pg->connection) == PQ_PIPELINE_OFF || PQexitPipelineMode(pg->connection) == 1)
		return true;
	return pg_connection_error(pg, "leaving pipeline mode", error);
}

static PGresult *pg_checked(struct pg *pg, PGresult *result, const char *what, struct error *error)
{
	ExecStatusType status = PQresultStatus(result);
	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
		return result;
	if (PQstatus(pg->connection) != CONNECTION_OK)
		pg_connection_error(pg, what, error);
	else
		pg_result_error(result, what, error);
	PQclear(result);
	return NULL;
}

PGresult *pg_run(struct pg *pg, const char *sql, const char *const *values, int count, struct error *error)
{
	if (!pg_leave_pipeline(pg, error))
		return NULL;
	return pg_checked(pg, PQexecParams(pg->connection, sql, count, NULL, values, NULL, NULL, 0), "host statement",
	                  error);
}

bool pg_run_script(struct pg *pg, const char *sql, struct error *error)
{
	if (!pg_leave_pipeline(pg, error))
		return false;
	PGresult *result = pg_checked(pg, PQexec(pg->connection, sql), "host statement", error);
	PQclear(result);
	return result != NULL;
}

/* ---- pipelined ---- */

static void pg_expect(struct pg *pg, enum pending kind, struct prepared *prepared)
{
	if (pg->ring_count == pg->ring_size) {
		size_t size = pg->ring_size ? pg->ring_size * 2 : 256;
		struct pending_answer *ring = malloc(size * sizeof(*ring));
		ASSERT(ring);
		for (size_t i = 0; i < pg->ring_count; i++)
			ring[i] = pg->ring[(pg->ring_head + i) % pg->ring_size];
		free(pg->ring);
		pg->ring = ring;
		pg->ring_size = size;
		pg->ring_head = 0;
	}
	pg->ring[(pg->ring_head + pg->ring_count++) % pg->ring_size] = (struct pending_answer){kind, prepared};
}

static struct pending_answer pg_expected(struct pg *pg)
{
	ASSERT(pg->ring_count > 0);
	struct pending_answer answer = pg->ring[pg->ring_head];
	pg->ring_head = (pg->ring_head + 1) % pg->ring_size;
	pg->ring_count--;
	return answer;
}

static bool pg_enter_pipeline(struct pg *pg, struct error *error)
{
	if (pg->broken)
		return error_set(error, ERROR_DB, "the connection to postgresql is broken");
	if (PQpipelineStatus(pg->connection) != PQ_PIPELINE_OFF || PQenterPipelineMode(pg->connection) == 1)
		return true;
	return pg_connection_error(pg, "entering pipeline mode", error);
}

static bool pg_prepare(struct pg *pg, const struct pg_statement *statement, struct prepared **out_prepared,
                       struct error *error)
{
	struct prepared *prepared;
	HASH_FIND_PTR(pg->prepared, &statement, prepared);
	if (!prepared) {
		prepared = calloc(1, sizeof(*prepared));
		ASSERT(prepared);
		prepared->statement = statement;
		snprintf(prepared->name, sizeof(prepared->name), "i%u", pg->prepared_count++);
		HASH_ADD_PTR(pg->prepared, statement, prepared);
		if (PQsendPrepare(pg->connection, prepared->name, statement->sql, statement->param_count,
		                  statement->param_types) != 1)
			return pg_connection_error(pg, "preparing a statement", error);
		pg_expect(pg, PENDING_PREPARE, prepared);
	}
	*out_prepared = prepared;
	return true;
}

bool pg_queue(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params, struct error *error)
{
	static const struct pg_params none;
	struct prepared *prepared = NULL;
	if (!params)
		params = &none;
	if (!pg->can_prepare)
		return pg_queue_once(pg, statement, params, error);
	if (!pg_enter_pipeline(pg, error) || !pg_prepare(pg, statement, &prepared, error))
		return false;
	if (PQsendQueryPrepared(pg->connection, prepared->name, params->count, params->values, params->lengths,
	                        params->formats, statement->result_format) != 1)
		return pg_connection_error(pg, "sending a statement", error);
	pg_expect(pg, PENDING_STATEMENT, NULL);
	return true;
}

bool pg_queue_once(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
                   struct error *error)
{
	if (!pg_enter_pipeline(pg, error))
		return false;
	if (PQsendQueryParams(pg->connection, statement->sql, params->count, statement->param_types, params->values,
	                      params->lengths, params->formats, statement->result_format) != 1)
		return pg_connection_error(pg, "sending a statement", error);
	pg_expect(pg, PENDING_STATEMENT, NULL);
	return true;
}

bool pg_queue_sql(struct pg *pg, const char *sql, struct error *error)
{
	return pg_queue_once(pg, &(struct pg_statement){.sql = sql}, &(struct pg_params){.count = 0}, error);
}

bool pg_sync(struct pg *pg, struct error *error)
{
	if (!pg_enter_pipeline(pg, error))
		return false;
	if (PQpipelineSync(pg->connection) != 1)
		return pg_connection_error(pg, "sending to postgresql", error);
	pg_expect(pg, PENDING_SYNC, NULL);
	return true;
}

/* Until an answer is there: writes what is left and reads, so that neither side waits for the other with full buffers.
 */
static bool pg_wait_answer(struct pg *pg, struct error *error)
{
	while (PQisBusy(pg->connection)) {
		int unsent = PQflush(pg->connection);
		if (unsent < 0)
			return pg_connection_error(pg, "sending to postgresql", error);
		struct pollfd pollfd = {PQsocket(pg->connection), (short)(unsent ? POLLIN | POLLOUT : POLLIN), 0};
		if (poll(&pollfd, 1, -1) < 0 && errno != EINTR)
			return pg_connection_error(pg, "waiting for postgresql", error);
		if ((pollfd.revents & (POLLIN | POLLERR | POLLHUP)) && PQconsumeInput(pg->connection) != 1)
			return pg_connection_error(pg, "reading from postgresql", error);
	}
	return true;
}

/* One answer off the wire, with the NULL that ends it. */
static PGresult *pg_read(struct pg *pg, struct error *error)
{
	PGresult *result;
	if (!pg_wait_answer(pg, error))
		return NULL;
	result = PQgetResult(pg->connection);
	if (!result || PQstatus(pg->connection) != CONNECTION_OK) {
		PQclear(result);
		pg_connection_error(pg, "reading from postgresql", error);
		return NULL;
	}
	if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
		return result;
	if (!pg_wait_answer(pg, error)) {
		PQclear(result);
		return NULL;
	}
	ASSERT(PQgetResult(pg->connection) == NULL);
	return result;
}

/* The Parse failed or was skipped: the statement is not known to the server, the next use sends it again. */
static void pg_forget(struct pg *pg, struct prepared *prepared)
{
	HASH_DEL(pg->prepared, prepared);
	free(prepared);
}

bool pg_next(struct pg *pg, PGresult **out_result, struct error *error)
{
	PGresult *failed_parse = NULL;
	for (;;) {
		struct pending_answer expected = pg_expected(pg);
		PGresult *result = pg_read(pg, error);
		if (!result) {
			PQclear(failed_parse);
			return false;
		}
		ExecStatusType status = PQresultStatus(result);
		switch (expected.kind) {
		case PENDING_PREPARE:
			if (status != PGRES_COMMAND_OK)
				pg_forget(pg, expected.prepared);
			if (status == PGRES_FATAL_ERROR)
				failed_parse = result; /* the execution behind it answers with this */
			else
				PQclear(result);
			continue;
		case PENDING_SYNC:
			PQclear(result);
			if (status == PGRES_FATAL_ERROR) /* the server's farewell, when it is stopped behind a COMMIT */
				return pg_connection_error(pg, "reading from postgresql", error);
			ASSERT(status == PGRES_PIPELINE_SYNC);
			if (pg->is_stale && pg->ring_count == 0)
				pg_forget_prepared(pg);
			*out_result = NULL;
			return true;
		case PENDING_STATEMENT:
			if (failed_parse) {
				PQclear(result);
				result = failed_parse;
			}
			if (status == PGRES_FATAL_ERROR && pg_result_is_stale(result))
				pg->is_stale = true;
			*out_result = result;
			return true;
		}
	}
}
