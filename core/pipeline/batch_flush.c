/* Step 6, second half: what the handlers queued goes out in one pipeline, in chunks that each begin with a savepoint. A
 * statement that fails is found by its position; the transaction goes back to the savepoint of its chunk and on without
 * its event.  Only events that read nothing are here, so sending their statements again is safe (a read would have to
 * be done again too: going back releases row locks, and a stale write would win). */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/pipeline/batch.h"

#define CHUNK_EVENTS 20

struct op { /* one queued statement on its way */
	struct queued *queued;
	struct entry *entry;
	size_t sequence; /* as queued */
};

enum slot_kind { SLOT_HOST, SLOT_OP, SLOT_CHECK };
struct slot { /* one answer to come */
	enum slot_kind kind;
	size_t op, chunk;
};

struct flush {
	struct batch *batch;
	struct op *ops;
	size_t count;
	size_t *starts; /* chunk c holds ops starts[c] up to starts[c + 1] */
	size_t chunks;
	size_t standing;     /* the savepoint of this chunk is there already: the transaction went back to it */
	size_t single_until; /* ops before this one go one event to a chunk: one of them violates a deferred constraint
	                      */
	struct slot *slots;
	size_t slot_count;
};

struct fault {               /* the first thing that went wrong */
	enum slot_kind kind; /* SLOT_HOST: nothing did */
	size_t op, chunk;
	struct error error;
};

/* ---- order ---- */

static int op_compare_sequence(const void *a, const void *b)
{
	const struct op *left = a, *right = b;
	return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

static int op_compare(const void *a, const void *b)
{
	const struct op *left = a, *right = b;
	int order = batch_compare_locks(left->queued, right->queued);
	return order ? order : op_compare_sequence(a, b);
}

static void flush_collect(struct flush *flush)
{
	struct batch *batch = flush->batch;
	size_t count = 0;
	for (size_t i = 0; i < batch->pending_count; i++)
		count += batch->pending[i]->call->queued_count;
	flush->ops = arena_alloc(&batch->arena, (count + 1) * sizeof(*flush->ops));
	flush->starts = arena_alloc(&batch->arena, (count + 2) * sizeof(*flush->starts));
	flush->slots = arena_alloc(&batch->arena, (count * 5 + 4) * sizeof(*flush->slots));
	for (size_t i = 0; i < batch->pending_count; i++)
		for (struct queued *each = batch->pending[i]->call->queued_first; each;
		     each = each->next, flush->count++)
			flush->ops[flush->count] = (struct op){each, batch->pending[i], flush->count};
	ASSERT(flush->count == count);
	if (plugin_has_lock_params(batch->engine->plugin))
		qsort(flush->ops, count, sizeof(*flush->ops), op_compare);
}

/* Cuts the ops from chunk `from` on into chunks. */
static void flush_plan(struct flush *flush, size_t from)
{
	size_t events = 0;
	size_t start = from ? flush->starts[from] : 0;
	flush->chunks = from;
	for (size_t i = start; i < flush->count; i++) {
		bool is_other_event = i > start && flush->ops[i].entry != flush->ops[i - 1].entry;
		size_t limit = i < flush->single_until + 1 && flush->single_until ? 1 : CHUNK_EVENTS;
		if (i == start || (is_other_event && events >= limit)) {
			flush->starts[flush->chunks++] = i;
			events = 0;
		}
		if (events == 0 || is_other_event)
			events++;
	}
	flush->starts[flush->chunks] = flush->count;
}

/* ---- sending ---- */

static bool flush_send_host(struct flush *flush, enum slot_kind kind, size_t chunk, const char *sql)
{
	flush->slots[flush->slot_count++] = (struct slot){kind, 0, chunk};
	return batch_queue_sql(flush->batch, sql);
}

/* Finds deferred violations and keeps the deferral: set for good, it would break a child before its parent in the next
 * chunk. */
static bool flush_send_check(struct flush *flush, size_t chunk)
{
	return flush_send_host(flush, SLOT_HOST, chunk, "SAVEPOINT k") &&
	       flush_send_host(flush, SLOT_CHECK, chunk, "SET CONSTRAINTS ALL IMMEDIATE") &&
	       flush_send_host(flush, SLOT_HOST, chunk, "ROLLBACK TO SAVEPOINT k");
}

static bool flush_send_chunk(struct flush *flush, size_t chunk)
{
	char savepoint[40];
	snprintf(savepoint, sizeof(savepoint), "SAVEPOINT c%zu", chunk);
	if (chunk != flush->standing && !flush_send_host(flush, SLOT_HOST, chunk, savepoint))
		return false;
	if (flush->batch->savepoints <= chunk)
		flush->batch->savepoints = chunk + 1;
	for (size_t i = flush->starts[chunk]; i < flush->starts[chunk + 1]; i++) {
		flush->slots[flush->slot_count++] = (struct slot){SLOT_OP, i, chunk};
		if (!batch_queue_statement(flush->batch, flush->ops[i].queued))
			return false;
	}
	return !flush->batch->checks_each_chunk || flush_send_check(flush, chunk);
}

static bool flush_send(struct flush *flush, size_t from, size_t until)
{
	flush->slot_count = 0;
	for (size_t chunk = from; chunk < until; chunk++)
		if (!flush_send_chunk(flush, chunk))
			return false;
	if (until == flush->chunks && !flush->batch->checks_each_chunk && !flush_send_check(flush, until - 1))
		return false;
	flush->standing = SIZE_MAX;
	return batch_sync(flush->batch);
}

/* ---- answers ---- */

/* A statement ended the transaction: what went out before it is committed, the rest is not. */
static void flush_settle_before(struct flush *flush, size_t thief)
{
	for (size_t i = 0; i < flush->count; i++)
		flush->ops[i].entry->settled = true;
	for (size_t i = thief; i < flush->count; i++)
		flush->ops[i].entry->settled = false;
}

static void flush_look(struct flush *flush, const struct slot *slot, PGresult *result, struct fault *fault)
{
	bool is_fine = true;
	switch (slot->kind) {
	case SLOT_OP:
		is_fine = batch_check_answer(flush->batch, flush->ops[slot->op].queued, result, &fault->error);
		if (flush->batch->failure == BATCH_STOLEN)
			flush_settle_before(flush, slot->op);
		break;
	case SLOT_CHECK:
		if (PQresultStatus(result) == PGRES_FATAL_ERROR)
			is_fine = pg_result_error(result, "deferred constraint", &fault->error);
		break;
	case SLOT_HOST:
		if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
			pg_result_error(result, "savepoint", &fault->error);
			batch_fail_host(flush->batch, &fault->error);
		}
		break;
	}
	if (!is_fine)
		*fault = (struct fault){slot->kind, slot->op, slot->chunk, fault->error};
}

static bool flush_read(struct flush *flush, struct fault *fault)
{
	*fault = (struct fault){.kind = SLOT_HOST};
	for (size_t i = 0;; i++) {
		PGresult *result;
		if (!batch_next(flush->batch, &result))
			return false;
		if (!result)
			return flush->batch->failure == BATCH_FINE;
		ASSERT(i < flush->slot_count);
		if (fault->kind == SLOT_HOST && flush->batch->failure == BATCH_FINE)
			flush_look(flush, &flush->slots[i], result, fault);
		PQclear(result);
	}
}

/* ---- going on without an event ---- */

static bool flush_go_back(struct flush *flush, size_t chunk)
{
	char sql[48];
	snprintf(sql, sizeof(sql), "ROLLBACK TO SAVEPOINT c%zu", chunk);
	flush->standing = chunk;
	flush_plan(flush, chunk);
	return batch_queue_ahead(flush->batch, sql);
}

/* Events behind it in its lane go with it: they would overtake it. */
static void flush_hold_back(struct flush *flush, const struct entry *entry)
{
	struct batch *batch = flush->batch;
	if (!batch->engine->keeps_order || entry->outcome != OUTCOME_RETRY)
		return;
	for (size_t i = 0; i < batch->pending_count; i++)
		if (batch->pending[i]->index > entry->index && batch->pending[i]->record->lane == entry->record->lane)
			batch_hold_back(batch, batch->pending[i]);
}

/* Takes out the ops of events that are not DONE any more and goes back to the first chunk that held one. */
static bool flush_drop(struct flush *flush, size_t *out_chunk)
{
	size_t kept = 0, first = flush->chunks;
	for (size_t chunk = 0, i = 0; i < flush->count; i++) {
		while (i >= flush->starts[chunk + 1])
			chunk++;
		if (flush->ops[i].entry->outcome == OUTCOME_DONE)
			flush->ops[kept++] = flush->ops[i];
		else if (chunk < first)
			first = chunk;
	}
	flush->count = kept;
	*out_chunk = first;
	return flush_go_back(flush, first);
}

static size_t flush_chunk_events(const struct flush *flush, size_t chunk)
{
	size_t events = 1;
	for (size_t i = flush->starts[chunk] + 1; i < flush->starts[chunk + 1]; i++)
		events += flush->ops[i].entry != flush->ops[i - 1].entry;
	return events;
}

/* A deferred constraint does not say whose it is: first per chunk, then per event. */
static bool flush_narrow(struct flush *flush, const struct fault *fault, size_t *out_chunk)
{
	struct batch *batch = flush->batch;
	if (batch_fail_if_not_events(batch, 0, &fault->error))
		return false;
	if (!batch->checks_each_chunk) {
		batch->checks_each_chunk = true;
		/* Event by event, or what one event sends later would be missing; the rows it locks now come in any
		 * order, which a dead-lock would undo. */
		qsort(flush->ops, flush->count, sizeof(*flush->ops), op_compare_sequence);
		*out_chunk = 0;
		return flush_go_back(flush, 0);
	}
	if (flush_chunk_events(flush, fault->chunk) > 1) {
		flush->single_until = flush->starts[fault->chunk + 1];
		*out_chunk = fault->chunk;
		return flush_go_back(flush, fault->chunk);
	}
	struct entry *culprit = flush->ops[flush->starts[fault->chunk]].entry;
	batch_judge_error(batch, culprit, &fault->error);
	flush_hold_back(flush, culprit);
	return flush_drop(flush, out_chunk);
}

static bool flush_repair(struct flush *flush, const struct fault *fault, size_t *out_chunk)
{
	struct batch *batch = flush->batch;
	if (fault->kind == SLOT_CHECK)
		return flush_narrow(flush, fault, out_chunk);
	struct op *op = &flush->ops[fault->op];
	if (fault->error.code == ERROR_DB) {
		if (batch_fail_if_not_events(batch, op->queued->statement, &fault->error))
			return false;
	} else {
		batch->had_miss = true; /* the server went on behind it: verify before sending more */
	}
	batch_judge_culprit(batch, op->entry, op->queued, &fault->error);
	flush_hold_back(flush, op->entry);
	return flush_drop(flush, out_chunk);
}

static bool flush_run(struct flush *flush)
{
	size_t verified = 0;
	flush_plan(flush, 0);
	while (verified < flush->chunks) {
		struct fault fault;
		size_t until = flush->batch->had_miss ? verified + 1 : flush->chunks;
		if (!flush_send(flush, verified, until) || !flush_read(flush, &fault))
			return false;
		if (fault.kind == SLOT_HOST)
			verified = until;
		else if (!flush_repair(flush, &fault, &verified))
			return false;
	}
	return true;
}

bool batch_flush(struct batch *batch)
{
	struct flush flush = {.batch = batch, .standing = SIZE_MAX};
	if (batch->savepoints > 0 && !batch_queue_ahead(batch, "RELEASE SAVEPOINT c0"))
		return false;
	batch->savepoints = 0;
	if (batch->pending_count == 0)
		return true;
	flush_collect(&flush);
	if (!flush_run(&flush))
		return false;
	for (size_t i = 0; i < batch->pending_count; i++)
		batch->pending[i]->settled = batch->pending[i]->outcome == OUTCOME_DONE;
	batch->pending_count = 0;
	return true;
}
