/* What the workers of a pipeline know together about PostgreSQL: up, or away.  While it is away one of them tries to
 * connect once a second; the others wait. */
#ifndef IDEM_PIPELINE_GATE_H
#define IDEM_PIPELINE_GATE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define GATE_RETRY_MS 1000

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool down, probing, closed;
	int64_t next_try_ms;                      /* monotonic */
	void (*on_change)(void *self, bool down); /* called under the lock */
	void *self;
};

void gate_init(struct gate *gate, void (*on_change)(void *self, bool down), void *self);
void gate_done(struct gate *gate);
/* Something went wrong that a working database would not answer. */
void gate_lost(struct gate *gate);
/* Blocks while PostgreSQL is away, unless it is this caller's turn to try.  False: closed, give up.  After true the
 * caller tries, and answers with gate_found or gate_lost. */
bool gate_wait(struct gate *gate);
void gate_found(struct gate *gate);
void gate_close(struct gate *gate);
#endif
