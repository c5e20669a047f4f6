/* How many records a second go through lanes and tracker alone: one thread pushes fetches of 500, workers take batches
 * and finish them at once.  micro_lanes [records [workers]] */
#include <pthread.h>
#include <stdio.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/pipeline/lanes.h"
#include "core/pipeline/tracker.h"
#include "tests/unit/fake_message.h"

enum { FETCH = 500, BATCH = 500, PARTITIONS = 6, KEYS = 10000, WORKERS_MAX = 64, QUEUE_MAX = 32000 };

struct run {
	struct lanes *lanes;
	struct partition *partitions[PARTITIONS];
	_Atomic long batches, finished;
	pthread_mutex_t lock;
	pthread_cond_t progress;
};

static void *work(void *self)
{
	struct run *run = self;
	struct record *records[BATCH];
	size_t count;
	while ((count = lanes_take(run->lanes, BATCH, -1, records)) > 0) {
		record_finish_many(records, count);
		lanes_give_back(run->lanes, records, count, NULL, 0);
		atomic_fetch_add(&run->batches, 1);
		PTHREAD_OK(pthread_mutex_lock(&run->lock));
		atomic_fetch_add(&run->finished, (long)count);
		PTHREAD_OK(pthread_cond_signal(&run->progress));
		PTHREAD_OK(pthread_mutex_unlock(&run->lock));
	}
	return NULL;
}

static void wait_until_finished(struct run *run, long count)
{
	PTHREAD_OK(pthread_mutex_lock(&run->lock));
	while (run->finished < count)
		PTHREAD_OK(pthread_cond_wait(&run->progress, &run->lock));
	PTHREAD_OK(pthread_mutex_unlock(&run->lock));
}

static void push_fetch(struct run *run, long first)
{
	struct lanes_item items[FETCH];
	char keys[FETCH][16];
	for (int i = 0; i < FETCH; i++) {
		long number = first + i;
		struct record *record =
		        record_create(fake_message(number), run->partitions[first / FETCH % PARTITIONS]);
		record_begin(record, 0);
		int len = snprintf(keys[i], sizeof(keys[i]), "order-%ld", number * 7919 % KEYS);
		items[i] = (struct lanes_item){record, {keys[i], (size_t)len}};
	}
	lanes_push(run->lanes, items, FETCH);
}

static void measure(enum config_ordering ordering, const char *name, long records, int workers)
{
	struct run run = {.lanes = lanes_create(ordering)};
	pthread_t threads[WORKERS_MAX];
	PTHREAD_OK(pthread_mutex_init(&run.lock, NULL));
	PTHREAD_OK(pthread_cond_init(&run.progress, NULL));
	for (int i = 0; i < PARTITIONS; i++)
		run.partitions[i] = partition_create("bench", i, 0);
	for (int i = 0; i < workers; i++)
		PTHREAD_OK(pthread_create(&threads[i], NULL, work, &run));
	int64_t since_us = clock_monotonic_us();
	for (long first = 0; first < records; first += FETCH) {
		wait_until_finished(&run, first - QUEUE_MAX);
		push_fetch(&run, first);
	}
	wait_until_finished(&run, records);
	int64_t took_us = clock_monotonic_us() - since_us;
	lanes_close(run.lanes);
	for (int i = 0; i < workers; i++)
		PTHREAD_OK(pthread_join(threads[i], NULL));
	printf("ordering=%-9s workers=%-2d records/s=%-9.0f records/batch=%.0f\n", name, workers,
	       (double)records * 1e6 / (double)took_us, (double)records / (double)run.batches);
	lanes_destroy(run.lanes);
	for (int i = 0; i < PARTITIONS; i++)
		partition_unref(run.partitions[i]);
}

int main(int argc, char **argv)
{
	long records = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
	int workers = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 12;
	if (records < FETCH || workers < 1 || workers > WORKERS_MAX) {
		fprintf(stderr, "usage: micro_lanes [records, at least %d [workers, 1 to %d]]\n", FETCH, WORKERS_MAX);
		return 2;
	}
	records -= records % FETCH;
	measure(CONFIG_ORDERING_PARTITION, "partition", records, workers);
	measure(CONFIG_ORDERING_KEY, "key", records, workers);
	measure(CONFIG_ORDERING_NONE, "none", records, workers);
	return 0;
}
