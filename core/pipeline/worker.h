/* A worker: a thread with one PostgreSQL connection.  It takes what its lanes hold now, gives it transactions, and
 * hands every event to its end: finished, routed, or back to its lane. */
#ifndef IDEM_PIPELINE_WORKER_H
#define IDEM_PIPELINE_WORKER_H
#include "core/pipeline/batch.h"
#include "core/pipeline/engine.h"

struct worker;
struct worker *worker_create(struct engine *engine, uint32_t index);
void worker_start(struct worker *worker);
/* lanes_close and gate_close first. */
void worker_join(struct worker *worker);
void worker_detach(struct worker *worker); /* instead: its handler does not come back, and the process ends */
void worker_destroy(struct worker *worker);
struct watch *worker_watch(struct worker *worker);
#endif
