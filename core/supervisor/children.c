#include "core/supervisor/children.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static struct child *find(const struct children *children, const char *name)
{
	for (struct child *child = children->first; child; child = child->next)
		if (strcmp(child->plan.name, name) == 0)
			return child;
	return NULL;
}

/* ---- reload ---- */

/* Children for the plans whose names are new; everything that can fail happens here. */
static bool make_new(const struct children *children, struct child_plans *plans, struct children *out_new,
                     struct error *error)
{
	struct child **tail = &out_new->first;

	for (size_t i = 0; i < plans->count; i++) {
		if (find(children, plans->items[i].name))
			continue;
		*tail = child_create(&plans->items[i], error);
		if (!*tail)
			return false;
		tail = &(*tail)->next;
	}
	return true;
}

static void update(struct child *child, struct child_plan *plan, const struct supervisor_limits *limits)
{
	bool replaced = child->state == CHILD_STATE_STOPPING;
	const struct child_plan *current = replaced ? &child->successor : &child->plan;

	if (current->name && child_plan_equal(current, plan)) {
		if (child->state == CHILD_STATE_DOWN)
			child_retry(child);
		return;
	}
	log_write(LOG_reload, "pipeline %s: changed, it is replaced", plan->name);
	child_replace(child, plan, limits);
}

bool children_reload(struct children *children, struct child_plans *plans, const struct supervisor_limits *limits,
                     struct error *error)
{
	struct children fresh = {0};
	struct child **tail = &children->first;

	if (!make_new(children, plans, &fresh, error)) {
		children_done(&fresh);
		return false;
	}
	for (struct child *child = children->first; child; child = child->next) {
		struct child_plan *plan = child_plans_find(plans, child->plan.name);

		if (plan) {
			update(child, plan, limits);
		} else {
			log_write(LOG_reload, "pipeline %s: removed, it is drained", child->plan.name);
			child_stop(child, limits);
		}
	}
	while (*tail)
		tail = &(*tail)->next;
	*tail = fresh.first;
	return true;
}

/* ---- what is due ---- */

static void check_memory(struct child *child)
{
	char why[96];
	int64_t bytes;

	if (!child->plan.memory_max_bytes || !child->pid || child->killed)
		return;
	bytes = child_resident_bytes(child);
	if (bytes <= child->plan.memory_max_bytes)
		return;
	snprintf(why, sizeof(why), "it held %lld bytes of memory, memory_max is %lld", (long long)bytes,
	         (long long)child->plan.memory_max_bytes);
	child_kill(child, why);
}

static void tend(struct child *child, const struct supervisor_options *options, int64_t now_ms)
{
	if (child->state == CHILD_STATE_WAITING && now_ms >= child->due_ms)
		child_start(child, options);
	if (child->state == CHILD_STATE_STOPPING && now_ms >= child->due_ms) {
		log_write(LOG_drain_overrun, "pipeline %s: still there %lld ms after SIGTERM", child->plan.name,
		          (long long)options->limits.stop_ms);
		child_kill(child, "it did not stop in time");
	}
	check_memory(child);
	latency_window_tick(&child->latency, child->page, now_ms);
}

void children_tend(struct children *children, const struct supervisor_options *options)
{
	int64_t now_ms = clock_monotonic_ms();
	struct child **link = &children->first;

	while (*link) {
		struct child *child = *link;

		tend(child, options, now_ms);
		if (child->state == CHILD_STATE_GONE) {
			*link = child->next;
			child_destroy(child);
		} else {
			link = &child->next;
		}
	}
}

/* One that was given partitions was ready, also when it was so too shortly to be seen. */
void children_note_ready(struct children *children)
{
	for (struct child *child = children->first; child; child = child->next)
		if (child->pid &&
		    (atomic_load(&child->page->ready) == 1 || metrics_get(child->page, METRIC_rebalances) > 0))
			children->any_was_ready = true;
}

struct child *children_wait(struct children *children, int *out_wait_status)
{
	pid_t pid;

	while ((pid = waitpid(-1, out_wait_status, WNOHANG)) > 0)
		for (struct child *child = children->first; child; child = child->next)
			if (child->pid == pid)
				return child;
	return NULL;
}

bool children_all_down(const struct children *children)
{
	for (const struct child *child = children->first; child; child = child->next)
		if (child->state != CHILD_STATE_DOWN)
			return false;
	return true;
}

bool children_have_memory_max(const struct children *children)
{
	for (const struct child *child = children->first; child; child = child->next)
		if (child->pid && child->plan.memory_max_bytes)
			return true;
	return false;
}

int64_t children_due_ms(const struct children *children)
{
	int64_t due_ms = INT64_MAX;

	for (struct child *child = children->first; child; child = child->next)
		if (child_due_ms(child) < due_ms)
			due_ms = child_due_ms(child);
	return due_ms;
}

void children_done(struct children *children)
{
	struct child *next;

	for (struct child *child = children->first; child; child = next) {
		next = child->next;
		if (child->pid)
			kill(child->pid, SIGKILL);
		child->pid = 0;
		child_destroy(child);
	}
	children->first = NULL;
}
