/* A host as the dedup tests see it: a connection with least rights and the store; time is given by the test. */
#ifndef TESTS_COMPONENT_DEDUP_HOST_H
#define TESTS_COMPONENT_DEDUP_HOST_H
#include "tests/component/database.h"

#define GROUP "billing-order-confirmed"
#define RETENTION_MS (7 * DAY_MS)
#define HOUR_MS INT64_C(3600000)
#define MINUTE_MS INT64_C(60000)

extern int64_t now_ms;     /* what the hosts take for the time */
extern int64_t started_ms; /* the database's real time, which processed_at comes from */
extern struct pg *owner;
TCase *dedup_tests(Suite *suite, const char *name); /* with a fresh schema per test */

struct host {
	struct pg *pg;
	struct dedup *dedup;
};
struct dedup_options options_of(const char *group);
struct host host_start_with(const struct dedup_options *options);
struct host host_start(const char *group);
void host_stop(struct host *host);

size_t tend(struct host *host);
void report(struct host *host, int partition, int64_t next_offset, int64_t oldest_ms);
/* What the database answers: -1, or where it stands. */
int64_t report_knowing(struct host *host, int partition, int64_t next_offset, int64_t oldest_ms, int64_t known_offset,
                       bool by_group);

struct id {
	char text[48];
};
struct id id_at(int64_t ms, int number);
/* The table of that time, made when it is missing. */
const struct dedup_table *place(struct host *host, int64_t time_ms);
enum dedup_place_status status_of(struct host *host, int64_t time_ms);

/* As a batch sends them; keys: with commas between. */
PGresult *run_claim(struct pg *pg, const struct dedup_table *table, const char *keys, const char *group);
PGresult *run_keys(struct pg *pg, const struct pg_statement *statement, const char *keys, const char *group);
/* How many of the keys were new. */
int claim(struct pg *pg, const struct dedup_table *table, const char *keys, const char *group);

/* A claim in a thread of its own. */
struct waiting_claim {
	struct host host;
	struct id id;
	int claimed;
};
void *claim_in_thread(void *waiting_claim);
#endif
