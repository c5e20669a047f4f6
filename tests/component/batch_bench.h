/* What the tests of the transaction engine stand on: an engine with a real PostgreSQL and a plugin that the payloads
 * steer, records without Kafka, batches on connections of their own, and a router that only remembers. */
#ifndef TESTS_COMPONENT_BATCH_BENCH_H
#define TESTS_COMPONENT_BATCH_BENCH_H
#include "core/pipeline/batch.h"
#include "core/pipeline/tracker.h"
#include "core/pipeline/worker.h"
#include "tests/component/database.h"

#define STEER "tests/plugins/steer/"

enum { BENCH_RECORDS = 600, BENCH_SIDES = 2, BENCH_ROUTED = 100 };

struct bench_side { /* a connection with its batch */
	struct watch watch;
	struct batch batch;
	/* of a batch that runs in a thread */
	pthread_t thread;
	struct record **records;
	size_t count;
	bool result;
};

struct bench {
	struct config config;
	struct config_pipeline pipeline;
	struct engine engine;
	struct metrics_page *metrics;
	struct event_types *types;
	struct pg *pg; /* of the host's role, for the dedup store */
	struct partition *partition;
	struct record *records[BENCH_RECORDS]; /* in the order they were made */
	size_t count;
	struct bench_side sides[BENCH_SIDES];
	char state_dir[64];
	/* what went to the router */
	pthread_mutex_t lock;
	size_t routed_count;
	struct {
		enum route route;
		const char *reason;
		uint32_t attempt;
		char id[37];
	} routed[BENCH_ROUTED];
	int stop_status; /* -1: not stopped */
	struct worker *worker;
};

extern struct bench bench;
extern struct pg *owner;
void bench_setup(void); /* fresh tables: note, balance, parent, child; pipeline settings at their defaults */
void bench_teardown(void);
/* With what the test set in bench.pipeline and bench.config.  file: of STEER, without ".so". */
void bench_start(const char *file);

/* Reads the page that this process left, as the next process does. */
void bench_open_blame(bool *out_is_broken);

/* An event; lane: a letter per lane, for bench_run. */
struct record *bench_event(char lane, const char *script);
struct record *bench_copy(char lane, const struct record *original, const char *script);
/* The records made since the last run, in one transaction. */
bool bench_run(void);
bool bench_run_records(size_t side, struct record **records, size_t count);
void bench_run_in_thread(size_t side, struct record **records, size_t count);
bool bench_join(size_t side);
struct pg *bench_pg(size_t side);
void bench_reconnect(size_t side);
void bench_clean_up(size_t side); /* ROLLBACK of what failed */

/* "done, dead rejected, retry, back, open, duplicate, ignored": the outcomes of the last run. */
const char *bench_outcomes(size_t side);
/* The rows of `note`, in order, with a space between. */
const char *bench_notes(void);
int64_t bench_claims(void);
int64_t bench_balance(const char *key);
int64_t bench_counter(const char *name); /* of the plugin: runs, committed, committed_batches */

/* A real worker and real lanes. */
void bench_push(char lane, struct record *record);
void bench_push_all(const char *lanes, struct record *const *records); /* at once, one a lane */
void bench_start_worker(void);
void bench_stop_worker(void);
void bench_wait_finished(uint64_t count); /* records finished or routed */
#endif
