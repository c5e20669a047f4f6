/* A call: what a handler sees of one event's transaction (struct idem_call of plugin.h).  Made by the worker, used by
 * the tables, read by the batch.  Belongs to one worker thread; dead once its callback returned (late use answers
 * INVALID).
 *
 * The memory of a call must stay readable for ever, because a plugin may keep the pointer: a worker keeps its calls in
 * a pool that is never freed and uses them again (zeroed when made, then call_init each time).  So that a kept pointer
 * does not reach the next event of the same call, plugins are never given the address itself but the *handle*
 * call_enter answers: the address with the number of the run in its upper 16 bits, which the tables check. */
#ifndef IDEM_PLUGIN_CALL_H
#define IDEM_PLUGIN_CALL_H
#include "core/base/arena.h"
#include "core/db/pg.h"
#include "core/event/event.h"
#include <idem/plugin.h>
#include <stdatomic.h>

struct plugin;
struct idem_call;

struct queued { /* one tx->queue'd execution, parameters copied into the batch's arena */
	struct queued *next;
	struct idem_call *call;
	uint32_t statement; /* number of a declared statement */
	struct pg_params params;
	bool expects;
	int64_t expect_min, expect_max;
	idem_verdict on_miss;
	struct bytes reason;
};

struct recorded_metric {
	struct recorded_metric *next;
	uint32_t id;
	double value;
	bool is_counter;
}; /* applied after COMMIT */

/* What the pipeline does for a call that has to wait.  Every function runs on the call's worker. */
struct call_backend {
	/* Flushes what is queued before (of this and earlier calls of the batch), runs one statement and waits.
	 * call: the call itself, not its handle.  statement: declared, or of query_sql: then plugin_statement_number()
	 * is 0, its address means nothing later and it goes out by pg_queue_once.  *out_result belongs to the call
	 * (freed with it). On failure: call_set_error, then IDEM_E_DB (the tables set call->failed) or IDEM_E_CANCELLED
	 * (set call->failed here when the transaction was touched). */
	idem_status (*query)(void *self, struct idem_call *call, const struct pg_statement *statement,
	                     const struct pg_params *params, PGresult **out_result);
	int64_t (*deadline_moved)(void *self, struct idem_call *call); /* after extend */
};

enum call_cancel {
	CALL_RUNS,
	CALL_OVERRUN, /* past its deadline: an attempt of the event's */
	CALL_STOPPED  /* nobody waits for it any more: its partition is gone, or the drain is over; no fault of its own
	               */
};

struct idem_rows; /* made by the tables; never freed, used again by the same call */

struct idem_call {
	_Atomic uint32_t run; /* the number of the callback's run, 0: none runs (before call_enter, after call_leave) */
	uint32_t runs;        /* entered so far */
	_Atomic(const void *) owner; /* the mark of the thread that entered it */
	struct plugin *plugin;
	uint32_t worker_index;
	const struct event *event; /* NULL: the batch call of handle_batch */
	struct arena *arena;
	struct queued *queued_first, **queued_tail;
	size_t queued_count;
	size_t queued_bytes;
	struct recorded_metric *metrics;
	struct idem_rows *rows, *free_rows;
	struct bytes reason; /* absent: none given */
	struct idem_error error;
	bool has_error;
	bool has_queried;              /* it made a query: its statements can't be replayed without calling it again */
	bool failed;                   /* a statement failed: its part of the transaction is dead, DONE becomes REJECT
	                                  tx_aborted_by_handler */
	_Atomic int64_t deadline_ms;   /* monotonic; moved by extend, read by the watchdog */
	_Atomic int32_t cancelled;     /* enum call_cancel; set once, by the watchdog */
	const struct idem_call *whole; /* of an item of handle_batch: the call of the batch, and with it the item is
	                                  cancelled; else NULL */
	const struct call_backend *backend;
	void *backend_self;
};

#define CALL_MAX_QUEUED 2000                      /* statements of one call; more answers TOO_BIG */
#define CALL_MAX_QUEUED_BYTES (16u * 1024 * 1024) /* of their parameters */
#define CALL_MAX_EXTEND_MS (60 * 60 * 1000)       /* one extend() moves the deadline at most this far */

struct call_context { /* the same for all calls of a worker */
	struct plugin *plugin;
	uint32_t worker_index;
	struct arena *arena; /* of what a run collects */
	const struct call_backend *backend;
	void *backend_self;
};
/* event NULL: the batch call of handle_batch; it stays readable until call_done.  The context is copied. */
void call_init(struct idem_call *call, const struct call_context *context, const struct event *event);
/* Before and after the callback.  call_enter gives the handle that goes to the plugin (as argument, as idem_item.call).
 */
struct idem_call *call_enter(struct idem_call *call, int64_t timeout_ms);
void call_leave(struct idem_call *call);
void call_apply_metrics(struct idem_call *call); /* its transaction committed */
enum call_cancel call_cancel_of(const struct idem_call *call);
/* Throws away what the run collected: results are freed, the arena frees the rest.  call_init makes it anew. */
void call_done(struct idem_call *call);
/* What tx->error() shows; the text is copied.  sqlstate may be NULL. */
void call_set_error(struct idem_call *call, idem_status code, const char *sqlstate, bool retriable, const char *format,
                    ...) PRINTF_LIKE(5, 6);
/* The call behind a handle when it is live and this thread's; NULL otherwise: logged and counted as a breach. */
struct idem_call *call_of_handle(const struct idem_call *handle);
/* Rules of plugin.h broken in this process so far (METRIC contract_errors).  [any thread] */
uint64_t call_breaches(void);
void call_breach(const char *format, ...) PRINTF_LIKE(1, 2); /* counts one more, logs it (limited) */
#endif
