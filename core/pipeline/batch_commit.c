/* Step 7: claims of what is not done are released, the transaction is checked to be the one that was begun, COMMIT. */
#include <stdio.h>

#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/pipeline/batch.h"

/* A plugin may have hidden set_config('synchronous_commit', …) in a function: the host has the last word, with the
 * value that was looked at when the connection was opened. */
static const struct pg_statement durable = {.sql = "SET LOCAL synchronous_commit TO DEFAULT"};
/* Fails with 22012 when somebody ended our transaction and another one runs now (COMMIT AND CHAIN passes every check of
 * the status). */
static const struct pg_statement same_transaction = {.sql = "SELECT 1 / (pg_current_xact_id() = $1::text::xid8)::int"};

static bool commit_has_done(const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->entries[i].claimed && batch->entries[i].outcome == OUTCOME_DONE)
			return true;
	return false;
}

/* The claims of a table that must not stay: events not done, and those not begun. */
static struct claim_group commit_not_done(struct batch *batch, const struct claim_group *group)
{
	struct claim_group found = {.table = group->table,
	                            .entries = arena_alloc(&batch->arena, group->count * sizeof(*found.entries))};
	for (size_t i = 0; i < group->count; i++)
		if (group->entries[i]->claimed && group->entries[i]->outcome != OUTCOME_DONE)
			found.entries[found.count++] = group->entries[i];
	return found;
}

static bool commit_release_failed(struct batch *batch, size_t expected, size_t found)
{
	struct error error;
	error_set(&error, ERROR_DB, "released %zu claims, expected %zu: the batch is given up", found, expected);
	return batch_fail(batch, BATCH_HOST, &error);
}

/* Right before COMMIT and not earlier: a release would be undone by going back to a savepoint, and the event lost as a
 * duplicate. */
static bool commit_release(struct batch *batch)
{
	size_t expected = 0, found = 0;
	for (size_t i = 0; i < batch->claim_count; i++) {
		struct claim_group group = commit_not_done(batch, &batch->claims[i]);
		expected += group.count;
		if (group.count && !batch_queue_release(batch, &group))
			return false;
	}
	if (expected == 0 && !batch_attempts_to_write(batch))
		return true;
	if (!batch_attempts_queue(batch) || !batch_sync(batch))
		return false;
	for (PGresult *result;; PQclear(result)) {
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			break;
		if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
			struct error error;
			pg_result_error(result, "releasing claims", &error);
			batch_fail_host(batch, &error);
		}
		found += (size_t)PQntuples(result);
	}
	if (batch->failure != BATCH_FINE)
		return false;
	return found == expected || commit_release_failed(batch, expected, found);
}

/* Should the answer be lost, the rows tell. */
static void commit_note_sent(struct entry *entry)
{
	if (entry->claimed && entry->outcome == OUTCOME_DONE)
		entry->record->commit_sent = true;
	if (entry->claimed && entry->outcome == OUTCOME_PARKED)
		entry->record->park_sent = true;
}

static bool commit_send(struct batch *batch)
{
	const char *values[] = {batch->transaction_id};
	struct pg_params params = {values, NULL, NULL, 1};
	struct error error;
	if (!pg_queue(batch->pg, &durable, NULL, &error) || !pg_queue(batch->pg, &same_transaction, &params, &error) ||
	    !pg_queue_sql(batch->pg, "COMMIT", &error))
		return batch_fail_host(batch, &error);
	for (size_t i = 0; i < batch->count; i++)
		commit_note_sent(&batch->entries[i]);
	return batch_sync(batch);
}

static bool commit_stolen(struct batch *batch)
{
	struct error error;
	error_set(&error, ERROR_PLUGIN,
	          "the transaction that was begun is not the one that runs: a statement of the plugin "
	          "ended it");
	return batch_fail(batch, BATCH_STOLEN, &error);
}

/* The answer is in: the outcome is known, whatever it is. */
static void commit_known(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->entries[i].claimed)
			batch->entries[i].record->commit_sent = batch->entries[i].record->park_sent = false;
}

/* The transaction is gone.  Alone, it is the event's failure. */
static bool commit_refused(struct batch *batch, const struct error *error)
{
	struct entry *entry = &batch->entries[0];
	commit_known(batch);
	if (batch_fail_if_not_events(batch, 0, error))
		return false;
	if (batch->count > 1)
		return batch_fail(batch, BATCH_AGAIN, error);
	batch_judge_error(batch, entry, error);
	return batch_write_alone(batch);
}

static void commit_succeeded(struct batch *batch)
{
	(void)FAILPOINT("after_commit");
	metrics_add(batch->engine->metrics, METRIC_batches_committed, 1);
	if (commit_has_done(batch))
		blame_succeeded(batch->engine->blame);
}

static bool commit_read(struct batch *batch)
{
	/* In the order of commit_send; only COMMIT's own tag is a success. */
	enum { ANSWER_DURABLE, ANSWER_SAME, ANSWER_COMMIT, ANSWERS };
	struct error error, refused;
	bool is_committed = false, is_refused = false, is_stolen = false;
	for (size_t at = 0;; at++) {
		PGresult *result;
		if (!batch_next(batch, &result))
			return false;
		if (!result)
			break;
		if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
			pg_result_error(result, at == ANSWER_COMMIT ? "commit" : "before commit", &error);
			is_stolen |= at == ANSWER_SAME && strcmp(error.sqlstate, "22012") == 0;
			refused = error;
			is_refused = true;
		}
		if (at == ANSWER_COMMIT && PQresultStatus(result) == PGRES_COMMAND_OK)
			is_committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
		PQclear(result);
	}
	if (is_stolen || PQtransactionStatus(pg_handle(batch->pg)) == PQTRANS_INTRANS)
		return commit_stolen(batch);
	if (is_refused)
		return commit_refused(batch, &refused);
	commit_known(batch);
	if (is_committed) {
		commit_succeeded(batch);
		return true;
	}
	error_set(&error, ERROR_DB, "COMMIT was answered with ROLLBACK");
	return batch_fail(batch, BATCH_AGAIN, &error);
}

bool batch_write_alone(struct batch *batch)
{
	batch_park_decide(batch);
	return (!batch_attempts_to_write(batch) && !batch_park_to_write(batch)) ||
	       (batch_execute(batch, batch_begin) && batch_park_write(batch) && batch_attempts_queue(batch) &&
	        batch_queue_sql(batch, "COMMIT") && batch_sync(batch) && batch_read_to_sync(batch));
}

bool batch_commit(struct batch *batch)
{
	if (!commit_has_done(batch) && !batch_attempts_to_write(batch) && !batch_park_to_write(batch))
		return batch_execute(batch, "ROLLBACK");
	(void)FAILPOINT("before_commit");
	return batch_park_write(batch) && commit_release(batch) && commit_send(batch) && commit_read(batch);
}

/* ---- after a theft ---- */

static struct claim_group commit_not_settled(struct batch *batch, const struct claim_group *group)
{
	struct claim_group found = {.table = group->table,
	                            .entries = arena_alloc(&batch->arena, group->count * sizeof(*found.entries))};
	for (size_t i = 0; i < group->count; i++)
		if (group->entries[i]->claimed && !group->entries[i]->settled)
			found.entries[found.count++] = group->entries[i];
	return found;
}

bool batch_release_stolen(struct batch *batch)
{
	if (!batch_execute(batch, "BEGIN"))
		return false;
	for (size_t i = 0; i < batch->claim_count; i++) {
		struct claim_group group = commit_not_settled(batch, &batch->claims[i]);
		if (group.count && !batch_queue_release(batch, &group))
			return false;
	}
	return batch_sync(batch) && batch_read_to_sync(batch) && batch_execute(batch, "COMMIT");
}
