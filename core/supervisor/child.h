/* One pipeline's process, over all its lives.  Embedded in nothing: a list of the supervisor holds it. [main] */
#ifndef IDEM_SUPERVISOR_CHILD_H
#define IDEM_SUPERVISOR_CHILD_H
#include "core/admin/latency_window.h"
#include "core/base/metrics.h"
#include "core/supervisor/plan.h"
#include "core/supervisor/supervisor.h"
#include <stdbool.h>
#include <sys/types.h>

enum child_state {
	CHILD_STATE_WAITING,  /* no process; one is started at due_ms */
	CHILD_STATE_RUNNING,  /* a process that was not asked to stop */
	CHILD_STATE_STOPPING, /* a process that was sent SIGTERM; it gets SIGKILL at due_ms */
	CHILD_STATE_DOWN,     /* no process, and none until a reload: the alarm is in reason */
	CHILD_STATE_GONE      /* no process, none wanted: the supervisor frees it */
};

enum child_end {
	CHILD_END_CLEAN,   /* it said 'S' and exited 0 */
	CHILD_END_MISSING, /* it found PostgreSQL or Kafka missing when it connected first */
	CHILD_END_REFUSED, /* a status that a restart does not cure */
	CHILD_END_DEATH
};

struct child {
	struct child *next;
	struct child_plan plan;      /* of the process that runs, or that is started next */
	struct child_plan successor; /* takes plan's place when the process has ended; name NULL: none */
	enum child_state state;
	pid_t pid;      /* 0: no process */
	int pipe_fd;    /* read end of the pipe to it, -1 */
	int metrics_fd; /* the page's memfd: outlives every process, so that counters go on */
	struct metrics_page *page;
	struct latency_window latency;
	int64_t due_ms; /* monotonic; see the states */
	int64_t started_ms, backoff_ms;
	int64_t restarts; /* processes started after a death */
	bool killed;      /* SIGKILL was sent by us, reason says why */
	char reason[256]; /* of the last end, for log and admin port */
};

/* Takes the plan. */
struct child *child_create(struct child_plan *plan, struct error *error);
void child_destroy(struct child *child); /* no process; NULL allowed */

/* WAITING -> RUNNING, or WAITING with a back-off when the process can't be made. */
void child_start(struct child *child, const struct supervisor_options *options);
/* Ask the process to stop; without one: GONE.  The deadline of an earlier request stays. */
void child_stop(struct child *child, const struct supervisor_limits *limits);
/* A new plan is to take over: now, or when the running process has drained. */
void child_replace(struct child *child, struct child_plan *plan, const struct supervisor_limits *limits);
/* DOWN -> WAITING. */
void child_retry(struct child *child);
/* SIGKILL, with the reason for log and admin port. */
void child_kill(struct child *child, const char *reason);
/* The process ended with this wait status: the state moves on.  *out_asked: it had been told to stop. */
enum child_end child_reap(struct child *child, int wait_status, const struct supervisor_limits *limits,
                          bool *out_asked);
/* When something is due for it (monotonic ms), or INT64_MAX. */
int64_t child_due_ms(const struct child *child);
/* memory_max: resident bytes of the process, 0 when unknown. */
int64_t child_resident_bytes(const struct child *child);
const char *child_state_name(enum child_state state);
#endif
