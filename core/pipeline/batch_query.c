/* tx->query: what a handler reads is sent at once, with everything queued before it, so that it sees its own and its
 * predecessors' writes.  Runs inside the plugin's callback, on its worker. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/pipeline/batch.h"

static idem_status query_broken(struct batch *batch, struct idem_call *call)
{
	call_set_error(call, IDEM_E_DB, batch->error.sqlstate, true, "the batch can't go on");
	return IDEM_E_DB;
}

/* Its part of the transaction is dead; the first of a set decides what is done about the set. */
static void query_failed(struct batch *batch, struct idem_call *call)
{
	call->failed = true;
	if (!batch->failed)
		batch->failed = call;
}

/* ---- what has to be sent before ---- */

/* Behind the flush stands savepoint r, to which an event that read is undone. */
static bool query_begin(struct batch *batch)
{
	if (batch->reads)
		return true;
	int64_t started_ms = clock_monotonic_ms();
	watch_wait(batch->watch, WATCH_HOST);
	bool is_fine = batch->set || (batch_flush(batch) && batch_queue_ahead(batch, "SAVEPOINT r"));
	if (batch->current) /* what others wait for is not this handler's time */
		atomic_fetch_add(&batch->current->call->deadline_ms, clock_monotonic_ms() - started_ms);
	watch_wait(batch->watch, WATCH_HANDLER);
	batch->reads = is_fine;
	return is_fine;
}

static struct queued *query_take_queued(struct batch *batch, struct idem_call *call)
{
	if (batch->set)
		return batch_set_take_queued(batch);
	struct queued *first = call->queued_first;
	call->queued_first = NULL;
	call->queued_tail = &call->queued_first;
	return first;
}

/* What was queued so far, so that the query sees it. */
static idem_status query_send_queued(struct batch *batch, struct idem_call *call)
{
	struct queued *culprit, *first = query_take_queued(batch, call);
	struct error error;
	if (!first)
		return IDEM_OK;
	if (!batch_send_now(batch, first, &culprit, &error))
		return query_broken(batch, call);
	if (!culprit)
		return IDEM_OK;
	batch->culprit = culprit;
	batch->culprit_error = error;
	query_failed(batch, culprit->call);
	if (culprit->call != call)
		query_failed(batch, call);
	bool is_retriable = error.code == ERROR_DB ? triage_sqlstate(error.sqlstate) == TRIAGE_RETRY
	                                           : culprit->on_miss == IDEM_RETRY;
	call_set_error(call, IDEM_E_DB, error.sqlstate, is_retriable, "%s", error.text);
	return IDEM_E_DB;
}

/* ---- the answer ---- */

static idem_status query_judge_error(struct batch *batch, struct idem_call *call, uint32_t declared,
                                     const struct error *error)
{
	if (call_cancel_of(call) != CALL_RUNS && strcmp(error->sqlstate, "57014") == 0) {
		call_set_error(call, IDEM_E_CANCELLED, error->sqlstate, true, "%s", error->text);
		query_failed(batch, batch->set ? batch->set->call : call);
		call->failed = true;
		return IDEM_E_CANCELLED;
	}
	if (batch_fail_if_not_events(batch, declared, error))
		return query_broken(batch, call);
	call_set_error(call, IDEM_E_DB, error->sqlstate, triage_sqlstate(error->sqlstate) == TRIAGE_RETRY, "%s",
	               error->text);
	query_failed(batch, call);
	return IDEM_E_DB;
}

static idem_status query_take_answer(struct batch *batch, struct idem_call *call, PGresult *result, uint32_t declared,
                                     PGresult **out_result)
{
	struct error error;
	if (batch_is_stolen(batch, result)) {
		PQclear(result);
		return query_broken(batch, call);
	}
	if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
		pg_result_error(result, "query", &error);
		PQclear(result);
		return query_judge_error(batch, call, declared, &error);
	}
	if (declared)
		atomic_store_explicit(&batch->engine->proved[declared], true, memory_order_relaxed);
	*out_result = result;
	return IDEM_OK;
}

static bool query_send(struct batch *batch, const struct pg_statement *statement, const struct pg_params *params,
                       bool is_declared)
{
	struct error error;
	bool is_sent = is_declared ? pg_queue(batch->pg, statement, params, &error)
	                           : pg_queue_once(batch->pg, statement, params, &error);
	return (is_sent || batch_fail_host(batch, &error)) && batch_sync(batch);
}

static bool query_wait(struct batch *batch, PGresult **out_result)
{
	PGresult *sync;
	if (!batch_next(batch, out_result))
		return false;
	if (batch_next(batch, &sync))
		return true;
	PQclear(*out_result);
	return false;
}

/* Own statements and the query: what the call waits for now may be cancelled. */
static idem_status query_run(struct batch *batch, struct idem_call *call, const struct pg_statement *statement,
                             const struct pg_params *params, PGresult **out_result)
{
	uint32_t declared = plugin_statement_number(batch->engine->plugin, statement);
	PGresult *result = NULL;
	watch_wait(batch->watch, WATCH_QUERY);
	idem_status status = query_send_queued(batch, call);
	bool is_fine =
	        status == IDEM_OK && query_send(batch, statement, params, declared > 0) && query_wait(batch, &result);
	watch_wait(batch->watch, WATCH_HANDLER);
	if (status != IDEM_OK)
		return status;
	return is_fine ? query_take_answer(batch, call, result, declared, out_result) : query_broken(batch, call);
}

static idem_status batch_query(void *self, struct idem_call *call, const struct pg_statement *statement,
                               const struct pg_params *params, PGresult **out_result)
{
	struct batch *batch = self;
	if (batch->failure != BATCH_FINE || call->failed) {
		call_set_error(call, IDEM_E_DB, "25P02", batch->failure != BATCH_FINE, "a statement failed before");
		return IDEM_E_DB;
	}
	if (call_cancel_of(call) != CALL_RUNS)
		return IDEM_E_CANCELLED;
	if (batch->failed) { /* another one of the set: it is called again without that one */
		call->failed = true;
		return IDEM_E_CANCELLED;
	}
	if (!query_begin(batch))
		return query_broken(batch, call);
	if (batch->current && batch_is_held_back(batch, batch->current)) {
		atomic_store(&call->cancelled,
		             CALL_STOPPED); /* an earlier event of its lane failed in the flush just now */
		call->failed = true;
		return IDEM_E_CANCELLED;
	}
	return query_run(batch, call, statement, params, out_result);
}

/* The server must not end the transaction of a handler that may go on working. */
static void query_keep_transaction(struct batch *batch, int64_t deadline_ms)
{
	const struct engine *engine = batch->engine;
	int64_t now_ms = clock_monotonic_ms(), grace_ms = engine->pipeline->plugin.grace_ms;
	char sql[100];
	if (deadline_ms + grace_ms < batch->idle_until_ms || batch->failure != BATCH_FINE || batch->failed)
		return;
	/* From now on, and for twice as long, so that a handler that extends often does not ask as often. */
	int64_t idle_ms = 2 * (deadline_ms - now_ms) + engine_idle_in_transaction_ms(engine);
	snprintf(sql, sizeof(sql), "SET LOCAL idle_in_transaction_session_timeout = %" PRId64, idle_ms);
	batch->idle_until_ms = now_ms + idle_ms;
	watch_wait(batch->watch, WATCH_HOST);
	(void)!batch_execute(batch, sql); /* a failure is in batch->failure */
	watch_wait(batch->watch, WATCH_HANDLER);
}

/* An item of handle_batch extends the deadline of the whole call. */
static int64_t batch_deadline_moved(void *self, struct idem_call *call)
{
	struct batch *batch = self;
	int64_t deadline_ms = atomic_load(&call->deadline_ms);
	if (batch->set && batch->set->call != call)
		atomic_store(&batch->set->call->deadline_ms, deadline_ms);
	query_keep_transaction(batch, deadline_ms);
	return deadline_ms;
}

const struct call_backend batch_backend = {.query = batch_query, .deadline_moved = batch_deadline_moved};
