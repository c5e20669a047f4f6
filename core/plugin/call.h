/* A call: what a handler sees of one event's transaction (struct idem_call of plugin.h).  Made by the worker, used by the
 * tables, read by the batch.  Belongs to one worker thread; dead once its callback returned (late use answers INVALID). */
#ifndef IDEM_PLUGIN_CALL_H
#define IDEM_PLUGIN_CALL_H
#include <idem/plugin.h>
#include <pthread.h>
#include <stdatomic.h>
#include "core/base/arena.h"
#include "core/db/pg.h"
#include "core/event/event.h"

struct plugin;
struct idem_call;

struct queued { /* one tx->queue'd execution, parameters copied into the batch's arena */
	struct queued *next;
	struct idem_call *call;
	uint32_t statement;          /* index into the plugin's declared statements */
	struct pg_params params;
	bool expects;
	int64_t expect_min, expect_max;
	idem_verdict on_miss;
	struct bytes reason;
};

struct recorded_metric { struct recorded_metric *next; uint32_t id; double value; bool is_counter; }; /* applied after COMMIT */

/* What the pipeline does for a call that has to wait.  Every function runs on the call's worker. */
struct call_backend {
	/* Flushes what is queued before (of this and earlier calls of the batch), runs one statement and waits.
	 * statement: declared or ad hoc; *out_result belongs to the call (freed with it).  Fills call->error on failure and
	 * returns IDEM_E_DB or IDEM_E_CANCELLED. */
	idem_status (*query)(void *self, struct idem_call *call, const struct pg_statement *statement, const struct pg_params *params, PGresult **out_result);
	int64_t (*deadline_moved)(void *self, struct idem_call *call); /* after extend */
};

struct idem_rows { struct idem_rows *next; struct idem_call *call; PGresult *result; uint32_t magic; };

struct idem_call {
	uint32_t magic;              /* CALL_MAGIC while its callback runs, CALL_DEAD after */
	pthread_t owner;
	struct plugin *plugin;
	uint32_t worker_index;
	const struct event *event;   /* NULL: the batch call of handle_batch */
	struct arena *arena;
	struct queued *queued_first, **queued_tail; size_t queued_count; size_t queued_bytes;
	struct recorded_metric *metrics;
	struct idem_rows *rows;
	struct bytes reason;
	struct idem_error error; bool has_error;
	bool has_queried;            /* it made a query: its statements can't be replayed without calling it again */
	bool failed;                 /* a statement failed: its part of the transaction is dead, DONE becomes REJECT tx_aborted_by_handler */
	_Atomic int64_t deadline_ms; /* monotonic; moved by extend, read by the watchdog */
	_Atomic int32_t cancelled;
	const struct call_backend *backend; void *backend_self;
};
#define CALL_MAGIC 0x1de3ca11u
#define CALL_DEAD 0x1de3deadu

void call_init(struct idem_call *call, struct plugin *plugin, const struct event *event, struct arena *arena, uint32_t worker_index, const struct call_backend *backend, void *backend_self);
/* Before and after the callback: owner, magic, deadline. */
void call_enter(struct idem_call *call, int64_t timeout_ms);
void call_leave(struct idem_call *call);
/* Throws away what the run collected (queued, metrics, rows, reason, error) so that the handler can be called again. */
void call_restart(struct idem_call *call);
void call_apply_metrics(struct idem_call *call); /* its transaction committed */
void call_done(struct idem_call *call);          /* frees results; the arena frees the rest */
#endif
