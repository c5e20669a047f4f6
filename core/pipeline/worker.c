#include "core/pipeline/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/crash.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/settle.h"
#include "core/pipeline/tracker.h"

#define COPY_HOLD_MS 250       /* how long a copy of an id in an open transaction is left alone */
#define UNDECIDED_HOLD_MS 1000 /* and an event whose statement never worked for anybody */
#define UNDECIDED_PAUSE_MS 5000
#define SUSPECT_HOLD_MS 200  /* a suspect waits for a success of others, … */
#define SUSPECT_WAIT_MS 2000 /* … but not for ever: there may be no others */
#define REDO_ALONE_MAX 10    /* dead-locks of one event alone before it counts as an attempt */

struct worker {
	struct engine *engine;
	uint32_t index;
	pthread_t thread;
	struct pg *pg;
	struct watch watch;
	struct batch batch;
	size_t limit;          /* of the next batch: follows the measured time per event, halved by failures */
	double event_us;       /* measured, smoothed; 0: never ran */
	unsigned seed;         /* of the jitter */
	int64_t undecided_ms;  /* monotonic: since then only undecided statements, 0: none */
	unsigned refreshed;    /* times the catalogue was read since a batch went through */
	unsigned cancelled;    /* times a statement of the host's was cancelled since then */
	struct record **taken; /* what lanes_take gave */
	struct record **work;  /* of it, what is still to be done, in order */
	struct record **open;  /* not begun by the batch that just ran */
	struct lanes_return *back;
	size_t back_count;
	bool is_robbed; /* a transaction was stolen: nothing more is begun */
};

/* ---- the connection ---- */

static void worker_disconnect(struct worker *worker)
{
	watch_set_pg(&worker->watch, NULL);
	pg_close(worker->pg);
	worker->pg = worker->batch.pg = NULL;
}

/* Blocks until there is a connection.  False: the pipeline stops. */
static bool worker_connect(struct worker *worker)
{
	char name[128];
	struct error error;
	snprintf(name, sizeof(name), "idem %.40s worker %u", worker->engine->pipeline->name, worker->index);
	while (!worker->pg) {
		if (!gate_wait(&worker->engine->gate))
			return false;
		worker->pg = pg_open(&worker->engine->config->database, name,
		                     engine_idle_in_transaction_ms(worker->engine), &error);
		if (worker->pg) {
			gate_found(&worker->engine->gate);
			break;
		}
		metrics_add(worker->engine->metrics, METRIC_database_errors, 1);
		log_write_limited(LOG_database_lost, "%s", error.text);
		gate_lost(&worker->engine->gate);
	}
	worker->batch.pg = worker->pg;
	watch_set_pg(&worker->watch, worker->pg);
	return true;
}

/* After a failed batch: no transaction, no answers outstanding, or no connection. */
static void worker_clean_up(struct worker *worker)
{
	struct batch *batch = &worker->batch;
	if (worker->pg && !pg_is_broken(worker->pg) && PQtransactionStatus(pg_handle(worker->pg)) != PQTRANS_IDLE) {
		batch->failure = BATCH_FINE;
		if (!batch_execute(batch, "ROLLBACK") || PQtransactionStatus(pg_handle(worker->pg)) != PQTRANS_IDLE)
			worker_disconnect(worker);
	}
	if (worker->pg && pg_is_broken(worker->pg))
		worker_disconnect(worker);
}

/* isolation = "event": nothing of one event reaches the next, not even what outlives a transaction. */
static void worker_isolate(struct worker *worker)
{
	struct error error;
	if (worker->engine->pipeline->isolation != CONFIG_ISOLATION_EVENT || !worker->pg || pg_is_broken(worker->pg))
		return;
	if (!pg_reset(worker->pg, &error))
		worker_disconnect(worker);
}

/* ---- the size of a batch ---- */

static size_t worker_begun(const struct batch *batch)
{
	size_t begun = 0;
	for (size_t i = 0; i < batch->count; i++)
		begun += batch->entries[i].outcome != OUTCOME_OPEN;
	return begun;
}

/* By what the quick events took: a slow one's lane is not taken with others. */
static void worker_grow(struct worker *worker, int64_t took_us)
{
	const struct config_batch *batch = &worker->engine->pipeline->batch;
	size_t begun = worker_begun(&worker->batch);
	if (begun <= worker->batch.slow)
		return;
	begun -= worker->batch.slow;
	took_us -= worker->batch.slow_ms * 1000;
	double event_us = (double)took_us / (double)begun;
	worker->event_us = worker->event_us > 0 ? (3 * worker->event_us + event_us) / 4 : event_us;
	double fits = (double)batch->max_ms * 1000 / (worker->event_us + 1);
	size_t limit = worker->limit * 4; /* a plugin's first batch is one event */
	if (fits < (double)limit)
		limit = (size_t)fits;
	if (limit > (size_t)batch->max)
		limit = (size_t)batch->max;
	worker->limit = limit ? limit : 1;
}

/* Two batches that met will not meet again at once. */
static void worker_jitter(struct worker *worker)
{
	struct timespec wait = {0, (rand_r(&worker->seed) % 20 + 1) * 1000000};
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
}

/* ---- what to do about a batch that failed ---- */

/* Alone and again and again: in the end it counts as an attempt, like any failure of the event's own. */
static bool worker_is_stuck(struct worker *worker, struct record *record, size_t count)
{
	return count == 1 && worker->batch.failure == BATCH_AGAIN && ++record->redone >= REDO_ALONE_MAX;
}

static bool worker_give_up(struct worker *worker)
{
	struct batch *batch = &worker->batch;
	batch->entries[0].record->redone = 0; /* the next attempt has as many */
	batch->failure = BATCH_FINE;
	batch_retry(batch, &batch->entries[0], "conflict", BYTES_LITERAL("dead-locks again and again"));
	return worker_connect(worker) && batch_write_alone(batch);
}

static void worker_wait_for_host(struct worker *worker)
{
	gate_lost(&worker->engine->gate); /* a second, with readiness red */
	if (gate_wait(&worker->engine->gate))
		gate_found(&worker->engine->gate);
}

/* A table of the batch is gone: forgotten by another host, which the catalogue tells. */
static void worker_refresh_catalogue(struct worker *worker)
{
	struct error error = worker->batch.error;
	if (worker->pg && dedup_refresh(worker->engine->dedup, worker->pg, &error) && worker->refreshed++ == 0)
		return;
	log_write_limited(LOG_dedup_failed, "%s", error.text); /* it does not help */
	worker_wait_for_host(worker);
}

static bool worker_commit_unknown(struct record *const *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (records[i]->commit_sent)
			return true;
	return false;
}

static void worker_database_lost(struct worker *worker, struct record *const *records, size_t count)
{
	if (worker_commit_unknown(records, count)) {
		metrics_add(worker->engine->metrics, METRIC_commits_unknown, 1);
		log_write(LOG_commit_unknown, "%s; the batch runs again", worker->batch.error.text);
	}
	metrics_add(worker->engine->metrics, METRIC_database_errors, 1);
	log_write_limited(LOG_database_lost, "%s", worker->batch.error.text);
	worker_disconnect(worker);
	gate_lost(&worker->engine->gate);
}

static void worker_stolen(struct worker *worker)
{
	struct batch *batch = &worker->batch;
	log_write(LOG_transaction_stolen, "%s; first event %s", batch->error.text,
	          batch_event_name(&batch->entries[0]));
	batch->failure = BATCH_FINE;
	if (!worker->pg || !batch_release_stolen(batch))
		log_write(LOG_transaction_stolen,
		          "the claims of %zu events from %s on could not be looked after: "
		          "those without an effect are lost as duplicates",
		          batch->count, batch_event_name(&batch->entries[0]));
	worker->is_robbed = true;
	worker->engine->stop(worker->engine->self, CHILD_STOLEN);
}

static void worker_host_failed(struct worker *worker)
{
	const struct error *error = &worker->batch.error;
	log_write_limited(LOG_host_statement_failed, "%s %s; no event is blamed, the pipeline waits", error->sqlstate,
	                  error->text);
	worker_wait_for_host(worker);
}

/* By an administrator, or by a time-out that a locked table ran into.  That passes; but not what it meets again. */
static void worker_cancelled(struct worker *worker)
{
	const struct error *error = &worker->batch.error;
	if (worker->cancelled++ == 0)
		log_write_limited(LOG_batch_redone, "at once again: %s %s", error->sqlstate, error->text);
	else
		worker_host_failed(worker);
}

static void worker_recover(struct worker *worker, struct record *const *records, size_t count)
{
	const struct error *error = &worker->batch.error;
	enum batch_failure failure = worker->batch.failure;
	metrics_add(worker->engine->metrics, METRIC_batches_redone, 1);
	worker_clean_up(worker);
	switch (failure) {
	case BATCH_AGAIN:
		metrics_add(worker->engine->metrics, METRIC_deadlocks, 1);
		log_write_limited(LOG_batch_redone, "%zu events again in smaller transactions: %s %s", count,
		                  error->sqlstate, error->text);
		worker->limit = count > 1 ? count / 2 : 1;
		worker_jitter(worker);
		break;
	case BATCH_CANCELLED:
		worker_cancelled(worker);
		break;
	case BATCH_CATALOGUE:
		worker_refresh_catalogue(worker);
		break;
	case BATCH_UNDECIDED: /* not alone */
		worker->limit = count / 2;
		break;
	case BATCH_HOST:
		worker_host_failed(worker);
		break;
	case BATCH_DATABASE:
		worker_database_lost(worker, records, count);
		break;
	case BATCH_STOLEN:
		worker_stolen(worker);
		break;
	case BATCH_FINE:
	case BATCH_BUSY:
	case BATCH_SUSPECT:
		break;
	}
}

/* Its lane waits a moment, this worker does not: what else it holds goes first. */
static void worker_put_aside(struct worker *worker, struct record *record, int64_t hold_ms)
{
	worker->back[worker->back_count++] = (struct lanes_return){record, hold_ms};
}

/* Is its statement wrong for every event?  Others get the chance to prove that it is not; when there are none, or none
 * did for a while, the pipeline waits with readiness red. */
static void worker_undecided(struct worker *worker, struct record *record, bool is_last)
{
	int64_t now_ms = clock_monotonic_ms();
	if (worker->undecided_ms == 0)
		worker->undecided_ms = now_ms;
	bool is_pause = now_ms - worker->undecided_ms > UNDECIDED_PAUSE_MS ||
	                (is_last && lanes_queued(worker->engine->lanes) == 0);
	if (is_pause)
		worker_host_failed(worker);
	worker_put_aside(worker, record, is_pause ? 0 : UNDECIDED_HOLD_MS);
}

/* One event alone, through no fault of its own: others first.  False: it is something else. */
static bool worker_leave_alone(struct worker *worker, size_t size, size_t left)
{
	struct record *record = worker->work[0];
	switch (worker->batch.failure) {
	case BATCH_BUSY:
		worker_clean_up(worker);
		worker_put_aside(worker, record, COPY_HOLD_MS);
		return true;
	case BATCH_UNDECIDED:
		if (size > 1)
			return false;
		worker_clean_up(worker);
		worker_undecided(worker, record, left == 1);
		return true;
	default:
		return false;
	}
}

/* ---- suspects ---- */

/* A batch ends before the first suspect, and a suspect is a batch. */
static size_t worker_batch_size(const struct worker *worker, size_t count)
{
	size_t limit = count < worker->limit ? count : worker->limit;
	for (size_t i = 0; i < limit; i++)
		if (worker->work[i]->is_suspect)
			return i ? i : 1;
	return limit;
}

/* Between two lone runs something else shall succeed: what kills every event is no event's fault. */
static bool worker_leave_suspect(struct worker *worker)
{
	struct record *record = worker->work[0];
	int64_t now_ms = clock_monotonic_ms();
	if (record->suspect_ms == 0)
		record->suspect_ms = now_ms;
	if (blame_take_success(worker->engine->blame) || now_ms - record->suspect_ms >= SUSPECT_WAIT_MS)
		return false;
	worker_put_aside(worker, record, SUSPECT_HOLD_MS);
	return true;
}

static bool worker_run_alone_or_beside(struct worker *worker, size_t size)
{
	struct batch *batch = &worker->batch;
	batch->is_alone = worker->work[0]->is_suspect;
	solo_enter(&worker->engine->solo, batch->is_alone);
	bool is_fine = batch_run(batch, worker->work, size);
	solo_leave(&worker->engine->solo);
	return is_fine;
}

/* ---- the loop ---- */

/* Whoever is free may have what is left behind a slow event, and its lane is known to be slow by then. */
static size_t worker_let_go(struct worker *worker, size_t from, size_t count)
{
	for (size_t i = from; i < count; i++)
		worker_put_aside(worker, worker->work[i], 0);
	return count;
}

/* One transaction with the first records of the work left; answers how many of them are off the worker's hands or back.
 */
static size_t worker_run_batch(struct worker *worker, size_t count)
{
	if (worker->work[0]->is_suspect && worker_leave_suspect(worker))
		return 1;
	size_t size = worker_batch_size(worker, count);
	struct settlement settlement = {worker->open, 0, worker->back, worker->back_count};
	int64_t started_us = clock_monotonic_us();
	bool is_fine = worker_run_alone_or_beside(worker, size);
	size = worker->batch.count; /* fewer, when they are large */
	if (!is_fine && worker_is_stuck(worker, worker->work[0], size)) {
		worker_clean_up(worker);
		is_fine = worker_give_up(worker);
	}
	if (!is_fine) {
		bool is_gone = worker_leave_alone(worker, size, count);
		if (!is_gone)
			worker_recover(worker, worker->work, size);
		worker_isolate(worker);
		return is_gone;
	}
	worker->refreshed = worker->cancelled = 0;
	worker->undecided_ms = 0;
	worker_grow(worker, clock_monotonic_us() - started_us);
	settle_batch(&worker->batch, &settlement);
	worker->back_count = settlement.back_count;
	/* What was not begun goes first the next time. */
	size_t gone = size - settlement.open_count;
	memcpy(worker->work + gone, worker->open, settlement.open_count * sizeof(*worker->open));
	worker_isolate(worker);
	return worker->batch.slow > 0 ? worker_let_go(worker, gone, count) : gone;
}

/* Records of a lane that an earlier one holds back must not be begun. */
static size_t worker_leave_held_back(struct worker *worker, size_t count)
{
	size_t kept = 0, returned = worker->back_count;
	if (!worker->engine->keeps_order || returned == 0)
		return count;
	for (size_t i = 0; i < count; i++) {
		bool is_held = false;
		for (size_t j = 0; j < returned && !is_held; j++)
			is_held = worker->back[j].record->lane == worker->work[i]->lane;
		if (is_held)
			worker->back[worker->back_count++] = (struct lanes_return){worker->work[i], 0};
		else
			worker->work[kept++] = worker->work[i];
	}
	return kept;
}

/* A partition was revoked, or the pipeline drains: whoever waits for it waits for all this worker took, so all of it
 * goes back; what is still ours is taken again at once. */
static bool worker_should_stop(struct worker *worker, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (lanes_should_stop(worker->engine->lanes, worker->work[i]))
			return true;
	return false;
}

static void worker_process(struct worker *worker, size_t taken)
{
	size_t left = taken;
	worker->back_count = 0;
	memcpy(worker->work, worker->taken, taken * sizeof(*worker->work));
	while (!worker->is_robbed && (left = worker_leave_held_back(worker, left)) > 0) {
		if (worker_should_stop(worker, left) || !worker_connect(worker))
			break;
		size_t gone = worker_run_batch(worker, left);
		left -= gone;
		memmove(worker->work, worker->work + gone, left * sizeof(*worker->work));
	}
	for (size_t i = 0; i < left; i++)
		worker->back[worker->back_count++] = (struct lanes_return){worker->work[i], 0};
	batch_reset(&worker->batch);
	lanes_give_back(worker->engine->lanes, worker->taken, taken, worker->back, worker->back_count);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	size_t taken;
	void *stack = crash_enter_thread();
	while (!worker->is_robbed && worker_connect(worker) &&
	       (taken = lanes_take(worker->engine->lanes, worker->limit, -1, worker->taken)) > 0)
		worker_process(worker, taken);
	worker_disconnect(worker);
	crash_leave_thread(stack);
	return NULL;
}

struct worker *worker_create(struct engine *engine, uint32_t index)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	size_t max = (size_t)engine->pipeline->batch.max;
	ASSERT(worker);
	worker->engine = engine;
	worker->index = index;
	worker->limit = 1;
	worker->seed = (unsigned)clock_monotonic_us() + index;
	worker->taken = calloc(max, sizeof(*worker->taken));
	worker->work = calloc(max, sizeof(*worker->work));
	worker->open = calloc(max, sizeof(*worker->open));
	worker->back = calloc(max, sizeof(*worker->back));
	ASSERT(worker->taken && worker->work && worker->open && worker->back);
	watch_init(&worker->watch);
	batch_init(&worker->batch, engine, &worker->watch, index);
	return worker;
}

void worker_start(struct worker *worker)
{
	PTHREAD_OK(pthread_create(&worker->thread, NULL, worker_main, worker));
}

void worker_join(struct worker *worker)
{
	PTHREAD_OK(pthread_join(worker->thread, NULL));
}

void worker_detach(struct worker *worker)
{
	PTHREAD_OK(pthread_detach(worker->thread));
}

void worker_destroy(struct worker *worker)
{
	if (!worker)
		return;
	batch_done(&worker->batch);
	watch_done(&worker->watch);
	free(worker->taken);
	free(worker->work);
	free(worker->open);
	free(worker->back);
	free(worker);
}

struct watch *worker_watch(struct worker *worker)
{
	return &worker->watch;
}
