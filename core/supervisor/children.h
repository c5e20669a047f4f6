/* All children of the parent, and what concerns several of them. [main] */
#ifndef IDEM_SUPERVISOR_CHILDREN_H
#define IDEM_SUPERVISOR_CHILDREN_H
#include "core/supervisor/child.h"

struct children {
	struct child *first; /* in the order of the configuration that brought them */
	bool any_was_ready;  /* since the parent started: a missing service is an outage now, not a mistake */
};

/* Makes the children fit the plans (which are used up): new ones wait to be started, changed ones are drained and
 * started again, those without a plan are drained and go; one that is down is tried again.  On failure nothing was
 * changed. */
bool children_reload(struct children *children, struct child_plans *plans, const struct supervisor_limits *limits,
                     struct error *error) MUST_CHECK;
/* Does what is due: starts, kills what overran its time or its memory, frees what is gone. */
void children_tend(struct children *children, const struct supervisor_options *options);
void children_note_ready(struct children *children);
/* The next child whose process ended, with its wait status; NULL: none.  Others that ended are reaped on the way: as
 * the first process of a container the host inherits what plugins leave behind. */
struct child *children_wait(struct children *children, int *out_wait_status);
bool children_all_down(const struct children *children);
bool children_have_memory_max(const struct children *children); /* a process whose memory is to be looked at */
int64_t children_due_ms(const struct children *children);       /* INT64_MAX: nothing */
/* Kills what is left. */
void children_done(struct children *children);
#endif
