/* Batches run side by side, but for one that must be alone: an event that is suspected of ending the process. */
#ifndef IDEM_PIPELINE_SOLO_H
#define IDEM_PIPELINE_SOLO_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct solo {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t running, waiting; /* batches; those that want to be alone */
	bool is_alone;
};

void solo_init(struct solo *solo);
void solo_done(struct solo *solo);
/* Waits until a batch may run: alone, or beside others.  [worker] */
void solo_enter(struct solo *solo, bool is_alone);
void solo_leave(struct solo *solo);
#endif
