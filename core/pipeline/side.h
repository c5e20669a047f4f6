/* The side thread: one more connection for what must not hold up a batch: the progress of the partitions before each
 * offset commit, and the care of the dedup tables once a minute. */
#ifndef IDEM_PIPELINE_SIDE_H
#define IDEM_PIPELINE_SIDE_H
#include "core/pipeline/engine.h"

struct side;
/* Takes pg.  on_written answers side_progress, on the side thread, with its rows. */
typedef void side_written(void *self, bool written, const struct dedup_progress *rows, size_t count);
typedef void side_parked(void *self, struct parked_take *take); /* who takes it */
struct side *side_start(struct engine *engine, struct pg *pg, side_written *on_written, side_parked *on_parked,
                        void *self);
/* Copies the rows and returns at once; one request at a time. [poll] */
void side_progress(struct side *side, const struct dedup_progress *rows, size_t count);
/* The same and waits for the answer; false also when the database went back. [poll] */
bool side_progress_wait(struct side *side, const struct dedup_progress *rows, size_t count, int timeout_ms);
/* Looks for what is parked and due; takes it, and answers with on_parked. [poll] */
void side_take_parked(struct side *side, struct parked_take *take);
void side_stop(struct side *side); /* NULL allowed */
#endif
