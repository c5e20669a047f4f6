#include "core/supervisor/child.h"
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/pipeline.h"
#include "core/supervisor/spawn.h"
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *child_state_name(enum child_state state)
{
	switch (state) {
	case CHILD_STATE_WAITING:
		return "waiting";
	case CHILD_STATE_RUNNING:
		return "running";
	case CHILD_STATE_STOPPING:
		return "stopping";
	case CHILD_STATE_DOWN:
		return "down";
	case CHILD_STATE_GONE:
		return "gone";
	}
	return "?";
}

/* Every transition; due_ms: see the states. */
static void set_state(struct child *child, enum child_state state, int64_t due_ms)
{
	child->state = state;
	child->due_ms = due_ms;
}

static void set_reason(struct child *child, const char *format, ...) PRINTF_LIKE(2, 3);
static void set_reason(struct child *child, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(child->reason, sizeof(child->reason), format, arguments);
	va_end(arguments);
}

struct child *child_create(struct child_plan *plan, struct error *error)
{
	struct child *child = calloc(1, sizeof(*child));

	ASSERT(child);
	child->pipe_fd = -1;
	child->metrics_fd = spawn_create_page(sizeof(struct metrics_page), error);
	if (child->metrics_fd >= 0)
		child->page = metrics_map(child->metrics_fd, error);
	if (!child->page) {
		child_destroy(child);
		return NULL;
	}
	child->plan = child_plan_take(plan);
	set_state(child, child->plan.refusal ? CHILD_STATE_DOWN : CHILD_STATE_WAITING, 0);
	if (child->plan.refusal) {
		set_reason(child, "%s", child->plan.refusal);
		log_write(LOG_plugin_refused, "pipeline %s stays down: %s", child->plan.name, child->plan.refusal);
	}
	return child;
}

void child_destroy(struct child *child)
{
	if (!child)
		return;
	ASSERT(child->pid == 0);
	metrics_unmap(child->page);
	if (child->metrics_fd >= 0)
		close(child->metrics_fd);
	child_plan_done(&child->plan);
	child_plan_done(&child->successor);
	free(child);
}

/* Without a process nothing is ready, assigned or queued; counters stay. */
static void clear_gauges(struct metrics_page *page)
{
	static const bool is_gauge[METRIC_COUNT] = {
#define IS_GAUGE_COUNTER false
#define IS_GAUGE_GAUGE true
#define METRIC(name, kind, help) [METRIC_##name] = IS_GAUGE_##kind,
#include "core/base/metrics.def"
#undef METRIC
	};

	metrics_set_ready(page, false, "");
	for (size_t id = 0; id < METRIC_COUNT; id++)
		if (is_gauge[id])
			metrics_set(page, (enum metric_id)id, 0);
	for (size_t i = 0; i < METRICS_PARTITIONS; i++)
		atomic_store(&page->lag[i].used, 0);
}

static void wait_for_restart(struct child *child, const struct supervisor_limits *limits)
{
	int64_t now_ms = clock_monotonic_ms();

	if (child->backoff_ms == 0 || now_ms - child->started_ms >= limits->backoff_reset_ms)
		child->backoff_ms = limits->backoff_first_ms;
	else if (child->backoff_ms < limits->backoff_max_ms)
		child->backoff_ms *= 2;
	if (child->backoff_ms > limits->backoff_max_ms)
		child->backoff_ms = limits->backoff_max_ms;
	set_state(child, CHILD_STATE_WAITING, now_ms + child->backoff_ms);
}

void child_start(struct child *child, const struct supervisor_options *options)
{
	struct spawn_options spawn = {options->self_path, options->environment, &child->plan, child->metrics_fd};
	bool again = child->backoff_ms > 0;
	struct error error;

	ASSERT(child->state == CHILD_STATE_WAITING);
	child->started_ms = clock_monotonic_ms();
	child->killed = false;
	if (!spawn_child(&spawn, &child->pid, &child->pipe_fd, &error)) {
		set_reason(child, "%s", error.text);
		wait_for_restart(child, &options->limits);
		log_write(LOG_child_died, "pipeline %s: %s; next try in %lld ms", child->plan.name, error.text,
		          (long long)child->backoff_ms);
		return;
	}
	set_state(child, CHILD_STATE_RUNNING, INT64_MAX);
	child->restarts += again;
	child->reason[0] = '\0';
	log_write(again ? LOG_child_restart : LOG_child_started, "pipeline %s: process %ld", child->plan.name,
	          (long)child->pid);
}

void child_stop(struct child *child, const struct supervisor_limits *limits)
{
	child_plan_done(&child->successor);
	switch (child->state) {
	case CHILD_STATE_RUNNING:
		kill(child->pid, SIGTERM);
		set_state(child, CHILD_STATE_STOPPING, clock_monotonic_ms() + limits->stop_ms);
		return;
	case CHILD_STATE_STOPPING:
		return;
	case CHILD_STATE_WAITING:
	case CHILD_STATE_DOWN:
	case CHILD_STATE_GONE:
		set_state(child, CHILD_STATE_GONE, INT64_MAX);
		return;
	}
}

static void begin_anew(struct child *child)
{
	child->backoff_ms = 0;
	set_state(child, CHILD_STATE_WAITING, clock_monotonic_ms());
}

void child_replace(struct child *child, struct child_plan *plan, const struct supervisor_limits *limits)
{
	if (child->pid) {
		child_stop(child, limits);
		child->successor = child_plan_take(plan);
		return;
	}
	child_plan_done(&child->plan);
	child->plan = child_plan_take(plan);
	begin_anew(child);
}

void child_retry(struct child *child)
{
	ASSERT(child->state == CHILD_STATE_DOWN);
	begin_anew(child);
}

void child_kill(struct child *child, const char *reason)
{
	set_reason(child, "killed by the host: %s", reason);
	child->killed = true;
	kill(child->pid, SIGKILL);
	if (child->state == CHILD_STATE_STOPPING)
		child->due_ms = INT64_MAX;
}

static bool said_stopped(struct child *child)
{
	char word = 0;
	bool said = read(child->pipe_fd, &word, 1) == 1 && word == 'S';

	close(child->pipe_fd);
	child->pipe_fd = -1;
	return said;
}

static const char *stay_down_reason(int status)
{
	switch (status) {
	case CHILD_BREAKER:
		return "it died again and again while it handled events, and nothing succeeded between; no event is "
		       "given up for that; it stays down until the plugin is replaced and the configuration is "
		       "reloaded";
	case CHILD_STOLEN:
		return "the plugin ended the host's transaction itself; it stays down until its cause is removed and "
		       "the "
		       "configuration is reloaded";
	case CHILD_PLUGIN_REFUSED:
		return "the plugin was refused; it stays down until the plugin is replaced and the configuration is "
		       "reloaded";
	case CHILD_CONFIG:
		return "its configuration was refused; it stays down until it is corrected and reloaded";
	}
	return NULL;
}

/* Tells how it ended and puts that into reason. */
static enum child_end judge_end(struct child *child, int wait_status)
{
	bool said = said_stopped(child);
	int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;

	if (status == CHILD_STOPPED && said) {
		set_reason(child, "stopped cleanly");
		return CHILD_END_CLEAN;
	}
	if (stay_down_reason(status)) {
		set_reason(child, "%s", stay_down_reason(status));
		return CHILD_END_REFUSED;
	}
	if (status == CHILD_SERVICE_MISSING) {
		set_reason(child, "postgresql or kafka could not be reached at its start");
		return CHILD_END_MISSING;
	}
	if (status == CHILD_STOPPED)
		set_reason(child, "exited with status 0 without stopping: something in it called exit");
	else if (status >= 0)
		set_reason(child, "exited with status %d", status);
	else if (!child->killed)
		set_reason(child, "killed by signal %d (%s)", WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	return CHILD_END_DEATH;
}

enum child_end child_reap(struct child *child, int wait_status, const struct supervisor_limits *limits, bool *out_asked)
{
	enum child_end end = judge_end(child, wait_status);

	*out_asked = child->state == CHILD_STATE_STOPPING;
	child->pid = 0;
	clear_gauges(child->page);
	if (child->successor.name) {
		child_plan_done(&child->plan);
		child->plan = child_plan_take(&child->successor);
		begin_anew(child);
	} else if (*out_asked) {
		set_state(child, CHILD_STATE_GONE, INT64_MAX);
	} else if (end == CHILD_END_REFUSED) {
		set_state(child, CHILD_STATE_DOWN, INT64_MAX);
	} else {
		wait_for_restart(child, limits);
	}
	return end;
}

int64_t child_due_ms(const struct child *child)
{
	return child->state == CHILD_STATE_WAITING || child->state == CHILD_STATE_STOPPING ? child->due_ms : INT64_MAX;
}

int64_t child_resident_bytes(const struct child *child)
{
	char path[64];
	long long pages = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%ld/statm", (long)child->pid);
	in = fopen(path, "re");
	if (!in)
		return 0;
	if (fscanf(in, "%*s %lld", &pages) != 1)
		pages = 0;
	fclose(in);
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}
