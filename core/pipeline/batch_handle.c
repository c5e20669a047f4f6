/* Step 6: the handler is called for each new event.  What it queues waits for the flush; what it reads is sent at once
 * (batch_query.c). */
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/batch.h"

/* ---- verdicts ---- */

void batch_take_verdict(struct batch *batch, struct entry *entry, idem_verdict verdict)
{
	const struct idem_call *call = entry->call;
	enum call_cancel cancel = call_cancel_of(call);
	if (cancel == CALL_STOPPED && (verdict != IDEM_DONE || call->failed))
		return; /* as if it had not been begun: the next owner of its partition begins it */
	if (cancel == CALL_OVERRUN) {
		batch_retry(batch, entry, "handler_timeout", call->reason);
		return;
	}
	if (batch->culprit && batch->culprit->call == call) { /* its fate is the same as without a query behind it */
		batch_judge_culprit(batch, entry, batch->culprit, &batch->culprit_error);
		return;
	}
	if (call->failed && verdict == IDEM_DONE) {
		batch_reject(batch, entry, "tx_aborted_by_handler",
		             BYTES_LITERAL("a statement failed and the handler said DONE all the same"));
		return;
	}
	switch (verdict) {
	case IDEM_DONE:
		entry->outcome = OUTCOME_DONE;
		break;
	case IDEM_RETRY:
		batch_retry(batch, entry, "retry", call->reason);
		break;
	case IDEM_REJECT:
		batch_reject(batch, entry, "rejected", call->reason);
		break;
	case IDEM_UNSET:
		log_write(LOG_verdict_invalid, "event %s: the handler left the verdict unset; it is tried again",
		          batch_event_name(entry));
		metrics_add(batch->engine->metrics, METRIC_contract_errors, 1);
		batch_retry(batch, entry, "verdict_unset", BYTES_NONE);
		break;
	default:
		log_write(LOG_verdict_invalid, "event %s: the handler returned the undefined verdict %d",
		          batch_event_name(entry), (int)verdict);
		metrics_add(batch->engine->metrics, METRIC_contract_errors, 1);
		batch_reject(batch, entry, "verdict_invalid", BYTES_NONE);
		break;
	}
}

void batch_judge_culprit(struct batch *batch, struct entry *entry, const struct queued *culprit,
                         const struct error *error)
{
	if (error->code == ERROR_DB) {
		batch_judge_error(batch, entry, error);
		return;
	}
	struct bytes text =
	        culprit->reason.ptr ? culprit->reason : arena_copy(&batch->arena, bytes_from_string(error->text));
	if (culprit->on_miss == IDEM_RETRY)
		batch_retry(batch, entry, "expectation_missed", text);
	else
		batch_reject(batch, entry, "expectation_missed", text);
}

/* ---- statements that do not wait for the flush ---- */

bool batch_queue_statement(struct batch *batch, const struct queued *queued)
{
	struct error error;
	const struct plugin_statement *statement = plugin_statement(batch->engine->plugin, queued->statement);
	ASSERT(statement);
	return pg_queue(batch->pg, &statement->pg, &queued->params, &error) || batch_fail_host(batch, &error);
}

static int64_t result_affected(PGresult *result)
{
	const char *text = PQcmdTuples(result);
	return *text ? strtoll(text, NULL, 10) : 0;
}

/* The first net should have refused it; from here on nothing of this transaction can be trusted. */
bool batch_is_stolen(struct batch *batch, PGresult *result)
{
	static const char *const tags[] = {"COMMIT", "ROLLBACK", "BEGIN", "START TRANSACTION", "PREPARE TRANSACTION"};
	const char *tag = PQcmdStatus(result);
	struct error error;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		if (strcmp(tag, tags[i]) != 0)
			continue;
		error_set(&error, ERROR_PLUGIN, "a statement of the plugin was answered with %s", tag);
		return !batch_fail(batch, BATCH_STOLEN, &error);
	}
	return false;
}

bool batch_check_answer(struct batch *batch, const struct queued *queued, PGresult *result, struct error *out_error)
{
	if (PQresultStatus(result) == PGRES_FATAL_ERROR)
		return pg_result_error(result, "statement", out_error);
	if (batch_is_stolen(batch, result))
		return true;
	atomic_store_explicit(&batch->engine->proved[queued->statement], true, memory_order_relaxed);
	if (!queued->expects)
		return true;
	int64_t affected = result_affected(result);
	if (affected >= queued->expect_min && (queued->expect_max < 0 || affected <= queued->expect_max))
		return true;
	return error_set(out_error, ERROR_LIMIT, "%lld rows affected, expected %lld to %lld", (long long)affected,
	                 (long long)queued->expect_min, (long long)queued->expect_max);
}

bool batch_send_now(struct batch *batch, struct queued *first, struct queued **out_culprit, struct error *out_error)
{
	struct queued *queued = first;
	*out_culprit = NULL;
	for (struct queued *each = first; each; each = each->next)
		if (!batch_queue_statement(batch, each))
			return false;
	if (!batch_sync(batch))
		return false;
	for (PGresult *result;; PQclear(result)) {
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			break;
		if (!*out_culprit && !batch_check_answer(batch, queued, result, out_error))
			*out_culprit = queued;
		queued = queued->next;
	}
	if (*out_culprit && out_error->code == ERROR_DB &&
	    batch_fail_if_not_events(batch, (*out_culprit)->statement, out_error))
		return false;
	return batch->failure == BATCH_FINE;
}

bool batch_check_constraints(struct batch *batch, bool *out_fine, struct error *out_error)
{
	*out_fine = true;
	if (!batch_queue_sql(batch, "SAVEPOINT k") || !batch_queue_sql(batch, "SET CONSTRAINTS ALL IMMEDIATE") ||
	    !batch_queue_sql(batch, "ROLLBACK TO SAVEPOINT k") || !batch_sync(batch))
		return false;
	for (PGresult *result;; PQclear(result)) {
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			return *out_fine || !batch_fail_if_not_events(batch, 0, out_error);
		if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			*out_fine = pg_result_error(result, "deferred constraint", out_error);
	}
}

/* ---- calling ---- */

static idem_verdict batch_call_handler(struct batch *batch, struct entry *entry)
{
	const struct idem_plugin *plugin = plugin_descriptor(batch->engine->plugin);
	batch->failed = NULL;
	batch->culprit = NULL;
	struct idem_call *handle = call_enter(entry->call, batch->engine->pipeline->plugin.timeout_ms);
	assert_note(batch_event_name(entry));
	const struct blame_event blamed = {batch_stored_key(entry), entry->event.round};
	blame_enter(batch->engine->blame, batch->context.worker_index, batch->is_alone, &blamed, 1);
	watch_enter(batch->watch, entry->call, &batch->current, 1);
	idem_verdict verdict = plugin->handle(plugin_self(batch->engine->plugin), handle, &entry->view);
	watch_leave(batch->watch);
	blame_leave(batch->engine->blame, batch->context.worker_index);
	assert_note(NULL);
	call_leave(entry->call);
	batch->handled++;
	return verdict;
}

/* Sends the rest of what an event that read has queued, and looks for deferred violations. */
static bool batch_finish_reading(struct batch *batch, struct entry *entry)
{
	struct queued *culprit;
	struct error error;
	bool is_fine;
	if (!batch_send_now(batch, entry->call->queued_first, &culprit, &error))
		return false;
	if (culprit) {
		batch_judge_culprit(batch, entry, culprit, &error);
		return true;
	}
	if (!batch_check_constraints(batch, &is_fine, &error))
		return false;
	if (!is_fine)
		batch_judge_error(batch, entry, &error);
	return true;
}

/* The end of an event that read: the rest of its statements goes out now; what failed is undone; then nothing can undo
 * it but the end of the whole transaction. */
static bool batch_end_reading(struct batch *batch, struct entry *entry)
{
	batch->reads = false;
	if (entry->outcome == OUTCOME_DONE && !batch_finish_reading(batch, entry))
		return false;
	if (entry->outcome != OUTCOME_DONE && !batch_queue_ahead(batch, "ROLLBACK TO SAVEPOINT r"))
		return false;
	entry->settled = entry->outcome == OUTCOME_DONE;
	return batch_queue_ahead(batch, "RELEASE SAVEPOINT r");
}

static bool batch_handle_entry(struct batch *batch, struct entry *entry)
{
	entry->call = &batch->calls[entry->index];
	call_init(entry->call, &batch->context, &entry->event);
	plugin_event_view(batch->engine->plugin, &entry->event, &batch->arena, &entry->view);
	batch->current = entry;
	idem_verdict verdict = batch_call_handler(batch, entry);
	batch->current = NULL;
	if (batch->failure != BATCH_FINE)
		return false;
	if (batch_is_held_back(batch, entry))
		batch_hold_back(batch, entry);
	else
		batch_take_verdict(batch, entry, verdict);
	if (batch->reads)
		return batch_end_reading(batch, entry);
	if (entry->outcome == OUTCOME_DONE)
		batch->pending[batch->pending_count++] = entry;
	return true;
}

/* One look at the clock per event: behind all it waited for. */
static void batch_note_pace(struct batch *batch, struct record *record)
{
	int64_t now_ms = clock_monotonic_ms(), took_ms = now_ms - batch->now_ms;
	batch->now_ms = now_ms;
	record->pace = took_ms < batch->engine->pipeline->batch.max_ms ? PACE_QUICK : PACE_SLOW;
	if (record->pace == PACE_SLOW && batch->engine->pipeline->ordering != CONFIG_ORDERING_NONE) {
		batch->slow++;
		batch->slow_ms += took_ms;
	}
}

bool batch_handle(struct batch *batch)
{
	batch->pending = arena_alloc(&batch->arena, batch->count * sizeof(*batch->pending));
	batch->now_ms = clock_monotonic_ms();
	for (size_t i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entries[i];
		if (!entry->claimed || entry->outcome != OUTCOME_OPEN)
			continue;
		if (batch_is_held_back(batch, entry))
			batch_hold_back(batch, entry);
		else if (batch_should_stop(batch, entry))
			break;
		else if (!batch_handle_entry(batch, entry))
			return false;
		else
			batch_note_pace(batch, entry->record);
	}
	return true;
}
