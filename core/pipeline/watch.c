#include "core/pipeline/watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/batch.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/tracker.h"

#define WATCH_TICK_MS 100
#define WATCH_CANCEL_AGAIN_MS 1000 /* a cancel can be lost on its way, or come a moment too early */
#define WATCH_PUBLISH_MS 1000

void watch_init(struct watch *watch)
{
	*watch = (struct watch){0};
	PTHREAD_OK(pthread_mutex_init(&watch->lock, NULL));
	PTHREAD_OK(pthread_cond_init(&watch->sent, NULL));
}

void watch_done(struct watch *watch)
{
	PTHREAD_OK(pthread_cond_destroy(&watch->sent));
	PTHREAD_OK(pthread_mutex_destroy(&watch->lock));
}

void watch_set_pg(struct watch *watch, struct pg *pg)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	ASSERT(watch->cancel != CANCEL_SENDING);
	watch->pg = pg;
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

void watch_enter(struct watch *watch, struct idem_call *call, struct entry *const *entries, size_t count)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	watch->state = WATCH_HANDLER;
	watch->cancel = CANCEL_NONE;
	watch->call = call;
	watch->entries = entries;
	watch->count = count;
	watch->since_ms = 0;
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

void watch_wait(struct watch *watch, enum watch_state state)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	while (watch->cancel == CANCEL_SENDING)
		PTHREAD_OK(pthread_cond_wait(&watch->sent, &watch->lock));
	watch->cancel = CANCEL_NONE;
	watch->state = state;
	watch->since_ms = clock_monotonic_ms();
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

void watch_leave(struct watch *watch)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	watch->state = WATCH_IDLE;
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

/* ---- the watchdog ---- */

struct watchdog {
	pthread_t thread, canceller;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* of both: stopping, or has_wanted */
	bool stopping;
	bool has_wanted; /* some watch is CANCEL_WANTED */
	struct watch *const *watches;
	size_t count;
	const struct engine *engine;
	int64_t next_publish_ms;
	uint64_t breaches; /* of plugin.h, counted so far */
};

static bool watch_is_given_up(const struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		if (partition_is_given_up(watch->entries[i]->record->partition))
			return true;
	return false;
}

static bool watch_cancel(struct watch *watch, enum call_cancel why)
{
	int32_t runs = CALL_RUNS;
	return atomic_compare_exchange_strong(&watch->call->cancelled, &runs, why);
}

static bool watch_cancel_is_due(const struct watch *watch, int64_t now_ms)
{
	return watch->cancel == CANCEL_NONE ||
	       (watch->cancel == CANCEL_SENT && now_ms - watch->sent_ms >= WATCH_CANCEL_AGAIN_MS);
}

static void watchdog_look_at_call(struct watchdog *watchdog, struct watch *watch, int64_t now_ms)
{
	const char *event = batch_event_name(watch->entries[0]);
	bool is_timed = watch->state == WATCH_HANDLER || watch->state == WATCH_QUERY;
	int64_t late_ms = is_timed ? now_ms - atomic_load(&watch->call->deadline_ms) : -1;
	if (late_ms >= 0 && watch_cancel(watch, CALL_OVERRUN)) {
		metrics_add(watchdog->engine->metrics, METRIC_handler_timeouts, 1);
		log_write(LOG_handler_timeout, "event %s overran its deadline and is cancelled", event);
	}
	if (watch_is_given_up(watch) && watch_cancel(watch, CALL_STOPPED))
		log_write(LOG_handler_stopped, "event %s: nobody waits for it any more, its handler is told", event);
	bool is_cancelled = call_cancel_of(watch->call) != CALL_RUNS;
	if (is_cancelled && watch->state == WATCH_QUERY && watch_cancel_is_due(watch, now_ms)) {
		watch->cancel = CANCEL_WANTED;
		watchdog->has_wanted = true;
		PTHREAD_OK(pthread_cond_broadcast(&watchdog->wake));
	}
	int64_t grace_ms = watchdog->engine->pipeline->plugin.grace_ms;
	bool is_over = late_ms > grace_ms && now_ms - watch->since_ms > grace_ms;
	if (is_over && watch->state == WATCH_HANDLER) {
		log_write(LOG_handler_hang, "event %s did not come back %lld ms after its deadline; the process ends",
		          event, (long long)late_ms);
		blame_note_hang(watchdog->engine->blame);
		_exit(CHILD_INTERNAL);
	}
}

static void watchdog_look(struct watchdog *watchdog, struct watch *watch, int64_t now_ms)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	if (watch->state != WATCH_IDLE)
		watchdog_look_at_call(watchdog, watch, now_ms);
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

static void watchdog_publish(struct watchdog *watchdog, int64_t now_ms)
{
	char *text;
	size_t len;
	if (now_ms < watchdog->next_publish_ms)
		return;
	uint64_t breaches = call_breaches();
	metrics_add(watchdog->engine->metrics, METRIC_contract_errors, (int64_t)(breaches - watchdog->breaches));
	watchdog->breaches = breaches;
	FILE *out = open_memstream(&text, &len);
	ASSERT(out);
	plugin_print_metrics(watchdog->engine->plugin, out);
	ASSERT(fclose(out) == 0);
	metrics_publish_text(watchdog->engine->metrics, text, len);
	free(text);
	watchdog->next_publish_ms = clock_monotonic_ms() + WATCH_PUBLISH_MS;
}

static void *watchdog_main(void *argument)
{
	struct watchdog *watchdog = argument;
	PTHREAD_OK(pthread_mutex_lock(&watchdog->lock));
	while (!watchdog->stopping) {
		int64_t now_ms = clock_monotonic_ms();
		for (size_t i = 0; i < watchdog->count; i++)
			watchdog_look(watchdog, watchdog->watches[i], now_ms);
		watchdog_publish(watchdog, now_ms);
		struct timespec until = clock_deadline(WATCH_TICK_MS);
		(void)clock_wait_until(&watchdog->wake, &watchdog->lock, &until);
	}
	PTHREAD_OK(pthread_mutex_unlock(&watchdog->lock));
	return NULL;
}

/* Without the watch's lock: a server that does not answer holds up nobody but the worker that waits for it anyway. */
static void canceller_send(struct watch *watch)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	if (watch->cancel == CANCEL_WANTED) {
		watch->cancel = CANCEL_SENDING;
		PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
		pg_cancel(watch->pg);
		PTHREAD_OK(pthread_mutex_lock(&watch->lock));
		watch->cancel = CANCEL_SENT;
		watch->sent_ms = clock_monotonic_ms();
		PTHREAD_OK(pthread_cond_signal(&watch->sent));
	}
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

static void *canceller_main(void *argument)
{
	struct watchdog *watchdog = argument;
	PTHREAD_OK(pthread_mutex_lock(&watchdog->lock));
	while (!watchdog->stopping) {
		if (!watchdog->has_wanted) {
			PTHREAD_OK(pthread_cond_wait(&watchdog->wake, &watchdog->lock));
			continue;
		}
		watchdog->has_wanted = false;
		PTHREAD_OK(pthread_mutex_unlock(&watchdog->lock));
		for (size_t i = 0; i < watchdog->count; i++)
			canceller_send(watchdog->watches[i]);
		PTHREAD_OK(pthread_mutex_lock(&watchdog->lock));
	}
	PTHREAD_OK(pthread_mutex_unlock(&watchdog->lock));
	return NULL;
}

struct watchdog *watchdog_start(struct watch *const *watches, size_t count, const struct engine *engine)
{
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog));
	ASSERT(watchdog);
	watchdog->watches = watches;
	watchdog->count = count;
	watchdog->engine = engine;
	PTHREAD_OK(pthread_mutex_init(&watchdog->lock, NULL));
	PTHREAD_OK(pthread_cond_init(&watchdog->wake, NULL));
	PTHREAD_OK(pthread_create(&watchdog->thread, NULL, watchdog_main, watchdog));
	PTHREAD_OK(pthread_create(&watchdog->canceller, NULL, canceller_main, watchdog));
	return watchdog;
}

void watchdog_stop(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	PTHREAD_OK(pthread_mutex_lock(&watchdog->lock));
	watchdog->stopping = true;
	PTHREAD_OK(pthread_cond_broadcast(&watchdog->wake));
	PTHREAD_OK(pthread_mutex_unlock(&watchdog->lock));
	PTHREAD_OK(pthread_join(watchdog->thread, NULL));
	PTHREAD_OK(pthread_join(watchdog->canceller, NULL));
	watchdog_publish(watchdog, INT64_MAX);
	PTHREAD_OK(pthread_cond_destroy(&watchdog->wake));
	PTHREAD_OK(pthread_mutex_destroy(&watchdog->lock));
	free(watchdog);
}

/* ---- the end of the process ---- */

struct end {
	int64_t at_ms;
	int status;
};

static void *end_main(void *argument)
{
	struct end *end = argument;
	for (int64_t left_ms; (left_ms = end->at_ms - clock_monotonic_ms()) > 0;) {
		struct timespec wait = {left_ms / 1000, left_ms % 1000 * 1000000};
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL); /* cut short by a signal: go round */
	}
	_exit(end->status);
}

void watchdog_end_after(int64_t ms, int status)
{
	static struct end end;
	pthread_t thread;
	end = (struct end){clock_monotonic_ms() + ms, status};
	PTHREAD_OK(pthread_create(&thread, NULL, end_main, &end));
	PTHREAD_OK(pthread_detach(thread));
}
