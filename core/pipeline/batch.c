#include "core/pipeline/batch.h"

#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"

#define BATCH_ARENA_BYTES (256 * 1024)

void batch_init(struct batch *batch, struct engine *engine, struct watch *watch, uint32_t worker_index)
{
	*batch = (struct batch){.engine = engine,
	                        .watch = watch,
	                        .context = {engine->plugin, worker_index, &batch->arena, &batch_backend, batch}};
	arena_init(&batch->arena, BATCH_ARENA_BYTES);
	batch->calls_count = (size_t)engine->pipeline->batch.max + 1;
	batch->calls = calloc(batch->calls_count, sizeof(*batch->calls));
	ASSERT(batch->calls && worker_index < ENGINE_MAX_WORKERS);
	engine->calls[worker_index] = batch->calls;
}

void batch_reset(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->entries[i].call)
			call_done(batch->entries[i].call);
	if (batch->calls)
		call_done(&batch->calls[batch->calls_count - 1]); /* of handle_batch */
	arena_reset(&batch->arena);
	batch->entries = NULL;
	batch->count = batch->claim_count = batch->pending_count = batch->savepoints = batch->parked_count = 0;
	batch->transaction_id[0] = '\0';
	batch->checks_each_chunk = batch->had_miss = batch->reads = batch->holds = false;
	batch->has_released = false;
	batch->parked = NULL;
	batch->handled = batch->ahead = batch->slow = 0;
	batch->slow_ms = 0;
	batch->set_metrics = NULL;
	batch->current = NULL;
	batch->set = NULL;
	batch->failed = NULL;
	batch->culprit = NULL;
	batch->failure = BATCH_FINE;
}

void batch_done(struct batch *batch)
{
	batch_reset(batch);
	arena_done(&batch->arena);
}

/* ---- talking to the server ---- */

bool batch_fail(struct batch *batch, enum batch_failure failure, const struct error *error)
{
	batch->failure = failure;
	batch->error = *error;
	return false;
}

bool batch_fail_host(struct batch *batch, const struct error *error)
{
	if (pg_is_broken(batch->pg))
		return batch_fail(batch, BATCH_DATABASE, error);
	/* Our savepoint or our transaction is gone: a statement of the plugin ended it. */
	if (strcmp(error->sqlstate, "3B001") == 0 || strcmp(error->sqlstate, "25P01") == 0)
		return batch_fail(batch, BATCH_STOLEN, error);
	if (error->retriable)
		return batch_fail(batch, BATCH_AGAIN, error);
	switch (triage_sqlstate(error->sqlstate)) {
	case TRIAGE_DATABASE:
		return batch_fail(batch, BATCH_DATABASE, error);
	case TRIAGE_AGAIN:
		return batch_fail(batch, BATCH_AGAIN, error);
	case TRIAGE_RETRY:
		return batch_fail(batch, BATCH_CANCELLED, error);
	default:
		return batch_fail(batch, BATCH_HOST, error);
	}
}

bool batch_fail_if_not_events(struct batch *batch, uint32_t statement, const struct error *error)
{
	if (pg_is_broken(batch->pg))
		return !batch_fail(batch, BATCH_DATABASE, error);
	if (error->retriable)
		return !batch_fail(batch, BATCH_AGAIN, error);
	switch (triage_sqlstate(error->sqlstate)) {
	case TRIAGE_DATABASE:
		return !batch_fail(batch, BATCH_DATABASE, error);
	case TRIAGE_AGAIN:
		return !batch_fail(batch, BATCH_AGAIN, error);
	case TRIAGE_UNDECIDED:
		if (!statement || atomic_load(&batch->engine->proved[statement]))
			return false;
		return !batch_fail(batch, BATCH_UNDECIDED, error);
	case TRIAGE_RETRY:
	case TRIAGE_REJECT:
		break;
	}
	return false;
}

bool batch_queue_sql(struct batch *batch, const char *sql)
{
	struct error error;
	return pg_queue_sql(batch->pg, sql, &error) || batch_fail_host(batch, &error);
}

bool batch_sync(struct batch *batch)
{
	struct error error;
	return pg_sync(batch->pg, &error) || batch_fail_host(batch, &error);
}

bool batch_queue_ahead(struct batch *batch, const char *sql)
{
	if (!batch_queue_sql(batch, sql))
		return false;
	batch->ahead++;
	return true;
}

/* After the failure of what travelled ahead the server skips everything up to the sync point. */
static bool batch_drain(struct batch *batch)
{
	struct error error;
	PGresult *result;
	batch->ahead = 0;
	while (pg_next(batch->pg, &result, &error)) {
		if (!result)
			return false;
		PQclear(result);
	}
	return batch_fail_host(batch, &error);
}

bool batch_next(struct batch *batch, PGresult **out_result)
{
	struct error error;
	for (;;) {
		if (!pg_next(batch->pg, out_result, &error))
			return batch_fail_host(batch, &error);
		if (batch->ahead == 0)
			return true;
		ASSERT(*out_result);
		batch->ahead--;
		bool is_fine = PQresultStatus(*out_result) == PGRES_COMMAND_OK;
		if (!is_fine) {
			pg_result_error(*out_result, "transaction control", &error);
			batch_fail_host(batch, &error);
		}
		PQclear(*out_result);
		if (!is_fine)
			return batch_drain(batch);
	}
}

bool batch_read_to_sync(struct batch *batch)
{
	for (PGresult *result;; PQclear(result)) {
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			return batch->failure == BATCH_FINE;
		if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
			struct error error;
			pg_result_error(result, "statement of the host", &error);
			batch_fail_host(batch, &error);
		}
	}
}

bool batch_execute(struct batch *batch, const char *sql)
{
	return batch_queue_sql(batch, sql) && batch_sync(batch) && batch_read_to_sync(batch);
}

/* ---- deciding entries ---- */

void batch_reject(struct batch *batch, struct entry *entry, const char *reason, struct bytes text)
{
	(void)batch;
	entry->outcome = OUTCOME_DEAD;
	entry->reason = reason;
	entry->error_text = text;
}

void batch_retry(struct batch *batch, struct entry *entry, const char *reason, struct bytes text)
{
	if (entry->attempt > batch->engine->pipeline->retry.delays.count) {
		if (!text.ptr)
			text = bytes_from_string(reason);
		batch_reject(batch, entry, "attempts_exhausted", text);
		return;
	}
	entry->outcome = OUTCOME_RETRY;
	entry->reason = reason;
	entry->error_text = text;
	batch->holds = true;
}

void batch_hold_back(struct batch *batch, struct entry *entry)
{
	entry->outcome = OUTCOME_BACK;
	batch->holds = true;
}

void batch_judge_error(struct batch *batch, struct entry *entry, const struct error *error)
{
	struct bytes text = bytes_from_string(arena_printf(&batch->arena, "%s %s", error->sqlstate, error->text));
	if (triage_sqlstate(error->sqlstate) == TRIAGE_RETRY)
		batch_retry(batch, entry, "statement_timeout", text);
	else
		batch_reject(batch, entry, "statement_failed", text);
}

bool batch_is_held_back(const struct batch *batch, const struct entry *entry)
{
	if (!batch->engine->keeps_order || !batch->holds)
		return false;
	for (size_t i = 0; i < entry->index; i++) {
		const struct entry *earlier = &batch->entries[i];
		if ((earlier->outcome == OUTCOME_RETRY || earlier->outcome == OUTCOME_BACK) &&
		    earlier->record->lane == entry->record->lane)
			return true;
	}
	return false;
}

bool batch_should_stop(struct batch *batch, const struct entry *entry)
{
	if (lanes_should_stop(batch->engine->lanes, entry->record))
		return true;
	return batch->handled > 0 &&
	       (batch->slow > 0 || batch->now_ms - batch->begun_ms > batch->engine->pipeline->batch.max_ms);
}

const char *batch_event_name(const struct entry *entry)
{
	return entry->event.has_uuid ? entry->event.id_text.ptr : "without id";
}

/* ---- the steps ---- */

/* A released event has a row, whatever it turns out to be now. */
static bool batch_needs_transaction(const struct batch *batch)
{
	return batch->claim_count > 0 || batch->has_released;
}

/* Does what is decided about one of them hold for the other?  A replay starts anew. */
static bool batch_is_same(const struct entry *entry, const struct entry *original)
{
	return original->event.content_hash == entry->event.content_hash && original->event.round == entry->event.round;
}

/* A copy within the batch shares the fate of the first one.  Where that says nothing about other content under the same
 * id, or about a later attempt (a retry record beside an earlier one that came again), the copy is not begun: the next
 * batch judges it by itself. */
static void batch_judge_copies(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entries[i];
		const struct entry *original = entry->original;
		if (!original)
			continue;
		bool is_same = batch_is_same(entry, original);
		entry->outcome = OUTCOME_OPEN;
		if (original->outcome == OUTCOME_DONE || (original->outcome == OUTCOME_DUPLICATE && is_same)) {
			entry->outcome = OUTCOME_DUPLICATE;
			entry->is_conflict = !is_same || original->is_conflict;
		} else if (original->outcome == OUTCOME_PARKED && is_same) {
			entry->outcome = OUTCOME_DUPLICATE;
		} else if (original->outcome == OUTCOME_DEAD && is_same) {
			batch_reject(batch, entry, original->reason, original->error_text);
		} else if (original->outcome == OUTCOME_RETRY && is_same && !batch->engine->keeps_order &&
		           entry->attempt <= original->attempt) {
			entry->attempt = original->attempt;
			batch_retry(batch, entry, original->reason, original->error_text);
		} else if (original->outcome == OUTCOME_RETRY || original->outcome == OUTCOME_BACK) {
			batch_hold_back(batch, entry);
		}
	}
}

/* Same id, other content than what was processed: not equal to a duplicate. */
static void batch_judge_conflicts(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entries[i];
		if (!entry->is_conflict)
			continue;
		metrics_add(batch->engine->metrics, METRIC_id_reuse_conflicts, 1);
		log_write_limited(LOG_event_conflict, "event %.*s came again with other content",
		                  BYTES_ARG(entry->event.has_uuid ? entry->event.id_text : entry->event.business_key));
		if (batch->engine->pipeline->event.on_reuse == CONFIG_REUSE_DLQ)
			batch_reject(batch, entry, "id_reuse_conflict", BYTES_NONE);
	}
}

bool batch_run(struct batch *batch, struct record *const *records, size_t count)
{
	batch_open(batch, records, count);
	if (batch->failure != BATCH_FINE)
		return false;
	if (batch_needs_transaction(batch)) {
		bool is_fine = batch_claim(batch) &&
		               (batch->engine->has_batch ? batch_handle_sets(batch) : batch_handle(batch)) &&
		               batch_flush(batch);
		if (is_fine)
			batch_park_decide(batch);
		if (is_fine)
			batch_judge_copies(batch);
		if (!is_fine || !batch_commit(batch))
			return false;
	}
	batch_judge_conflicts(batch);
	return true;
}
