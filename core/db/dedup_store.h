/* The inside of the dedup store, shared by dedup*.c only. */
#ifndef IDEM_DB_DEDUP_STORE_H
#define IDEM_DB_DEDUP_STORE_H
#include <pthread.h>
#include <stdatomic.h>

#include "core/db/dedup.h"

struct dedup_entry { /* never freed before dedup_close: its statements are prepared by address */
	struct dedup_table table;
	struct dedup_entry *next; /* all that were ever known */
};

struct dedup_allowed {
	char event_id[37];
};

struct dedup {
	char *schema, *group; /* schema is a quoted identifier */
	int64_t retention_ms, max_future_ms;
	int64_t day_ms, base_day; /* as registered, fixed */
	int64_t (*now_ms)(void);
	_Atomic int64_t clock_offset_ms, clock_skew_ms; /* database minus monotonic clock; host minus database */
	struct dedup_entry *other, *message;
	struct pg_statement report;

	pthread_rwlock_t lock; /* of entries and what follows */
	struct dedup_entry *entries;
	int64_t floor_day;
	struct dedup_entry **days; /* sorted */
	size_t day_count;
	struct dedup_allowed *allowed; /* sorted */
	size_t allowed_count;
};

#define DEDUP_DAYS_AHEAD 3

/* A number as a text parameter. */
struct dedup_number {
	char text[24];
};
struct dedup_number dedup_number(int64_t number);
int64_t dedup_int64(const PGresult *result, int row, int column);

/* pg_run of a formatted statement. */
struct dedup_values {
	const char *const *items;
	int count;
};
PGresult *dedup_run(struct pg *side, const struct dedup_values *values, struct error *error, const char *format, ...)
        PRINTF_LIKE(4, 5);
#define DEDUP_VALUES(...)                                                                                              \
	&(struct dedup_values)                                                                                         \
	{                                                                                                              \
		(const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)        \
	}

int64_t dedup_now_ms(const struct dedup *dedup);
bool dedup_measure_clock(struct dedup *dedup, struct pg *side, struct error *error) MUST_CHECK;
int64_t dedup_day_of(const struct dedup *dedup, int64_t time_ms);
bool dedup_make_ahead(struct dedup *dedup, struct pg *side, struct error *error) MUST_CHECK;
/* Under the lock; NULL: not known. */
struct dedup_entry *dedup_find(const struct dedup *dedup, int64_t day);

/* A table's statements; under the lock once the store is shared; name is an identifier of the catalogue, day -1 for
 * none. */
struct dedup_entry *dedup_entry_create(struct dedup *dedup, const char *name, int64_t day, bool is_text);
void dedup_entry_destroy(struct dedup_entry *entry);
#endif
