/* Who is to blame when the process dies (ENGINE section 6): the events that handlers work on right now stand in a file
 * of state_dir, which outlives the process and its parent.  The next process finds them there, counts the death in
 * event_attempt, so that other hosts know too, and runs each of them alone until it is proved harmless or has been
 * fatal too often. */
#ifndef IDEM_PIPELINE_BLAME_H
#define IDEM_PIPELINE_BLAME_H
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/db/pg.h"
#include <stdatomic.h>

/* Deaths without a success between, on two events or more: a broken build, which must not drain a topic. */
#define BLAME_BREAKER_DEATHS 5

struct blame;
struct blame_options {
	const char *state_dir, *pipeline;
	size_t workers, batch_max;
};
/* Reads what the process before left.  The folder is made. */
struct blame *blame_open(const struct blame_options *options, struct error *error);
void blame_close(struct blame *blame); /* NULL allowed */
/* Counts the death of the process before, if it died, and begins a page of our own.  *out_is_broken: the breaker: do
 * not go on (the next start tries again). */
bool blame_begin(struct blame *blame, struct pg *pg, const char *schema, bool *out_is_broken,
                 struct error *error) MUST_CHECK;
/* This process stops of its own will. */
void blame_end(struct blame *blame);

struct blame_event {
	struct bytes id; /* as in event_attempt */
	uint32_t round;
};
/* A handler begins with these; alone: nothing else is in flight.  [worker] */
void blame_enter(struct blame *blame, uint32_t worker, bool is_alone, const struct blame_event *events, size_t count);
/* Ends the process when the handler closed the host's descriptors. */
void blame_leave(struct blame *blame, uint32_t worker);
void blame_succeeded(struct blame *blame); /* an event was committed [any thread] */
/* Was an event committed in this process since this last answered yes?  Each success lets one suspect run alone (ENGINE
 * 6). [any thread] */
bool blame_take_success(struct blame *blame);
void blame_note_hang(struct blame *blame); /* the watchdog is about to end the process */

_Atomic uint32_t *blame_cause(struct blame *blame); /* where the number of a fatal signal is left */
#endif
