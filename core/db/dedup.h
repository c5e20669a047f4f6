/* Where the id of an event is claimed, and how ids are forgotten (ENGINE section 1).
 *   v7 id from base_day on  -> the table of its day, made on demand (never below floor_day: too old to judge)
 *   any other id            -> processed_event_other
 *   business key            -> processed_message
 * The store caches the group's days.  All is [any thread]; what takes a connection runs on the caller's, outside a
 * transaction.  Statements name the group's own table, never the root. */
#ifndef IDEM_DB_DEDUP_H
#define IDEM_DB_DEDUP_H
#include "core/base/bytes.h"
#include "core/db/pg.h"
#include <stdint.h>

enum dedup_place_status { DEDUP_PLACED, DEDUP_DAY_MISSING, DEDUP_ID_TOO_OLD, DEDUP_ID_IN_FUTURE };

/* One table that ids are claimed in.  Lives as long as the store; statements are prepared per connection by address.
 * Parameters of claim: $1 uuid[] or text[] sorted, $2 bigint[] hashes, $3 text group; RETURNING the key (binary).
 * look_up: $1 array, $2 group; returns key, content_hash.  release: $1 array, $2 group; deletes, RETURNING the key. */
struct dedup_table {
	struct pg_statement claim, look_up, release;
	bool is_text; /* processed_message */
	int64_t day;  /* number of the day since 1970 in units of day_ms, -1: not a day */
};

struct dedup;
struct dedup_options {
	const char *schema, *group;
	int64_t retention_ms, day_ms, max_future_ms;
	int64_t (*now_ms)(void); /* injectable; NULL: the database's clock */
};
/* Registers the group when it is new (base_day = today - retention), loads its days, makes days three ahead. */
struct dedup *dedup_open(struct pg *side, const struct dedup_options *options, struct error *error);
void dedup_close(struct dedup *dedup);
/* time_ms: of a v7 id, or -1 for all others.  Future is judged by the database's clock (kept as an offset). */
enum dedup_place_status dedup_place(struct dedup *dedup, int64_t time_ms, const struct dedup_table **out_table);
const struct dedup_table *dedup_message_table(struct dedup *dedup);
/* Makes the day of time_ms (LIKE + ATTACH in a SECURITY DEFINER function); fine when another host just made it, or
 * forgot it: dedup_place knows then.  Fails when the table of a day that has begun was dropped by hand. */
bool dedup_make_day(struct dedup *dedup, struct pg *side, int64_t time_ms, struct error *error) MUST_CHECK;
/* Reads the catalogue again (a statement met 42P01: another host dropped a day). */
bool dedup_refresh(struct dedup *dedup, struct pg *side, struct error *error) MUST_CHECK;
/* This host's progress of one partition: the offset to be read next, and oldest_ms, before which nothing comes again:
 * the Kafka timestamp of the oldest unfinished record; when none is unfinished, that of the last finished one; when
 * moreover the partition was read to its end (lag 0), now.  -1: not known, what is stored stays.  Nothing processed
 * later than the smallest oldest_ms of the group is ever forgotten, so a partition that never says it keeps every day.
 * Written on assignment (before its first record is worked on), before each offset commit, and for every assigned
 * partition, idle or stuck, before each dedup_tend.  next_offset only rises; a row with a lower one is ignored. */
struct dedup_progress {
	const char *topic;
	int32_t partition;
	int64_t next_offset, oldest_ms;
	/* What must be stored at least, or the database went back and lost what came after (ENGINE section 5): what
	 * this host stored, or, by_group, the group's offset when the partition was assigned, which proves nothing
	 * where no row is (a group that used something else before).  -1: not known. */
	int64_t known_offset;
	bool by_group;
	/* Answer: -1, or where the database stands that went back; then nothing was written. */
	int64_t went_back_to;
};
bool dedup_report_progress(struct dedup *dedup, struct pg *side, struct dedup_progress *rows, size_t count,
                           struct error *error) MUST_CHECK;
/* Makes days ahead; drops the oldest day while its last insert is older than the retention and no partition's oldest
 * unfinished event is that old (lock_timeout 100 ms; busy: next time); deletes old rows of processed_event_other and
 * processed_message in batches.  *out_dropped: days forgotten. */
bool dedup_tend(struct dedup *dedup, struct pg *side, size_t *out_dropped, struct error *error) MUST_CHECK;
/* Host clock minus database clock, measured at open and tend. */
int64_t dedup_clock_skew_ms(const struct dedup *dedup);
size_t dedup_day_count(struct dedup *dedup);
/* An operator's release of an id_too_old event: claim in processed_event_other is allowed once. */
bool dedup_allow_old(struct dedup *dedup, struct pg *side, const char *event_id, struct error *error) MUST_CHECK;
bool dedup_is_allowed_old(struct dedup *dedup, const char *event_id); /* read at open, refresh and tend */
const struct dedup_table *dedup_other_table(struct dedup *dedup);
#endif
