#include "core/pipeline/watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/engine.h"
#include "core/pipeline/pipeline.h"

#define WATCH_TICK_MS 100
#define WATCH_PUBLISH_MS 1000

void watch_init(struct watch *watch)
{
	*watch = (struct watch){0};
	PTHREAD_OK(pthread_mutex_init(&watch->lock, NULL));
}

void watch_done(struct watch *watch)
{
	PTHREAD_OK(pthread_mutex_destroy(&watch->lock));
}

void watch_set_pg(struct watch *watch, struct pg *pg)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	watch->pg = pg;
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

void watch_enter(struct watch *watch, struct idem_call *call, const char *event_id)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	watch->state = WATCH_HANDLER;
	watch->call = call;
	watch->event_id = event_id;
	watch->cancel_sent = false;
	watch->since_ms = 0;
	PTHREAD_OK(pthread_mutex_unlock(&watch->lock));
}

void watch_wait(struct watch *watch, enum watch_state state)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
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
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping;
	struct watch *const *watches;
	size_t count;
	const struct engine *engine;
	int64_t next_publish_ms;
	uint64_t breaches; /* of plugin.h, counted so far */
};

static void watchdog_look(struct watchdog *watchdog, struct watch *watch, int64_t now_ms)
{
	PTHREAD_OK(pthread_mutex_lock(&watch->lock));
	bool is_timed = watch->state == WATCH_HANDLER || watch->state == WATCH_QUERY;
	int64_t late_ms = is_timed ? now_ms - atomic_load(&watch->call->deadline_ms) : -1;
	if (late_ms >= 0 && !atomic_exchange(&watch->call->cancelled, 1)) {
		metrics_add(watchdog->engine->metrics, METRIC_handler_timeouts, 1);
		log_write(LOG_handler_timeout, "event %s overran its deadline and is cancelled", watch->event_id);
	}
	if (late_ms >= 0 && watch->state == WATCH_QUERY && !watch->cancel_sent) {
		watch->cancel_sent = true;
		pg_cancel(watch->pg);
	}
	int64_t grace_ms = watchdog->engine->pipeline->plugin.grace_ms;
	bool is_over = late_ms > grace_ms && now_ms - watch->since_ms > grace_ms;
	if (is_over && watch->state == WATCH_HANDLER) {
		log_write(LOG_handler_hang, "event %s did not come back %lld ms after its deadline; the process ends",
		          watch->event_id, (long long)late_ms);
		blame_note_hang(watchdog->engine->blame);
		_exit(CHILD_INTERNAL);
	}
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
	return watchdog;
}

void watchdog_stop(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	PTHREAD_OK(pthread_mutex_lock(&watchdog->lock));
	watchdog->stopping = true;
	PTHREAD_OK(pthread_cond_signal(&watchdog->wake));
	PTHREAD_OK(pthread_mutex_unlock(&watchdog->lock));
	PTHREAD_OK(pthread_join(watchdog->thread, NULL));
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
