/* The side thread: one more connection for what must not hold up a batch: the progress of the partitions before each
 * offset commit, the index of the dead letters that were acknowledged, at most ten statements a second however many
 * they are, and the care of the dedup tables once a minute. */
#ifndef IDEM_PIPELINE_SIDE_H
#define IDEM_PIPELINE_SIDE_H
#include "core/db/letters.h"
#include "core/pipeline/engine.h"

struct side;
/* What it answers with; [side thread]. */
struct side_answers {
	void (*on_written)(void *self, bool written, const struct dedup_progress *rows, size_t count); /* its rows */
	void (*on_parked)(void *self, struct parked_take *take); /* who takes it */
	void (*on_indexed)(void *self, void *opaque);            /* its dead letter's row is written */
	void *self;
};
struct side *side_start(struct engine *engine, struct pg *pg, const struct side_answers *answers); /* takes pg */
/* Copies the letter and returns at once; tried once a second for as long as the database does not take it.  What is not
 * written when the side stops is not answered: its record comes again. [any thread] */
void side_index(struct side *side, const struct letter *letter, void *opaque);
/* Copies the rows and returns at once; one request at a time. [poll] */
void side_progress(struct side *side, const struct dedup_progress *rows, size_t count);
/* The same and waits for the answer; false also when the database went back. [poll] */
bool side_progress_wait(struct side *side, const struct dedup_progress *rows, size_t count, int timeout_ms);
/* Looks for what is parked and due; takes it, and answers with on_parked. [poll] */
void side_take_parked(struct side *side, struct parked_take *take);
void side_stop(struct side *side); /* NULL allowed */
#endif
