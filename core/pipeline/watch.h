/* The watchdog: a thread that sees handlers overrun.  Two steps: at the deadline the call is cancelled, and with it the
 * statement it waits for; a handler that has not come back `grace` later, and is not waiting inside the host, ends the
 * process.  A call whose event nobody waits for any more (its partition is gone, the drain is over) is cancelled, too.
 * Cancelling a statement is a connection of its own, which can take long: a second thread does it. */
#ifndef IDEM_PIPELINE_WATCH_H
#define IDEM_PIPELINE_WATCH_H
#include "core/base/metrics.h"
#include "core/db/pg.h"
#include "core/plugin/call.h"
#include <pthread.h>
#include <stdatomic.h>

enum watch_state {
	WATCH_IDLE,    /* no handler runs */
	WATCH_HANDLER, /* in the plugin's code */
	WATCH_QUERY,   /* the plugin waits in tx->query: its statement may be cancelled */
	WATCH_HOST /* the plugin waits in tx->query for statements of other events, which are not cancelled for it */
};

enum watch_cancel {
	CANCEL_NONE,
	CANCEL_WANTED,  /* the canceller will send it, unless the worker is faster */
	CANCEL_SENDING, /* the worker stays in QUERY until it is sent: so the connection stays, and no other statement
	                   is hit */
	CANCEL_SENT     /* if it was lost it is sent again a second later, as long as the worker is in QUERY */
};

struct entry;
struct watch {                /* one worker's; written by the worker, read by the watchdog */
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t sent;  /* cancel is no longer SENDING */
	enum watch_state state;
	enum watch_cancel cancel;
	struct idem_call *call;       /* never freed, only used again */
	struct entry *const *entries; /* the events it is about; valid while state is not IDLE */
	size_t count;
	struct pg *pg;
	int64_t sent_ms;  /* monotonic: the cancel, with CANCEL_SENT */
	int64_t since_ms; /* monotonic: the plugin's code runs again; time inside the host is no hang */
};

void watch_init(struct watch *watch);
void watch_done(struct watch *watch);
void watch_set_pg(struct watch *watch, struct pg *pg);
void watch_enter(struct watch *watch, struct idem_call *call, struct entry *const *entries, size_t count);
/* Between enter and leave: QUERY or HOST, then HANDLER again. */
void watch_wait(struct watch *watch, enum watch_state state);
void watch_leave(struct watch *watch);

struct engine;
struct watchdog;
/* Publishes the plugin's own metrics, too: once a second, and when it is stopped. */
struct watchdog *watchdog_start(struct watch *const *watches, size_t count, const struct engine *engine);
void watchdog_stop(struct watchdog *watchdog);
/* Ends the process with _exit(status) when it is still there after ms (a destructor that hangs). */
void watchdog_end_after(int64_t ms, int status);
#endif
