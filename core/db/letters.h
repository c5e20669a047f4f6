/* The index of a group's dead letters, dead_letter in the database (ENGINE section 7): a row for each record of the
 * DLQ, written before the offset of what it came from may be committed.  Failures: false with *error.  [any thread, one
 * connection each] */
#ifndef IDEM_DB_LETTERS_H
#define IDEM_DB_LETTERS_H
#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/db/pg.h"
#include <stdint.h>

struct letter { /* a row; text is UTF-8 without NUL, absent where there is none */
	int32_t partition;
	int64_t offset, died_ms; /* its place in the DLQ, and when it came there */
	struct bytes key;        /* what is claimed, as text; absent: nothing can be */
	struct bytes uuid, given_id, type, reason, error_text;
	struct bytes payload; /* only when it is not in the record */
	int64_t content_hash;
	const char *origin_topic;
	int32_t origin_partition;
	int64_t origin_offset, origin_ms; /* origin_ms -1: not known */
	uint32_t attempt, round;
};

struct letters;
/* Strings are copied; schema as configured. */
struct letters *letters_create(struct pg *pg, const char *schema, const char *group);
void letters_destroy(struct letters *letters); /* NULL allowed */
/* One statement for all that have no payload, one for each that has.  A row that is there for the same event stays as
 * it is; one of another event is of a topic that was there before, and replaced. */
bool letters_store(struct letters *letters, struct pg *pg, const struct letter *const *rows, size_t count,
                   struct error *error) MUST_CHECK;

#define LETTERS_MAX 2000000 /* at once */

struct letter_filter {          /* all that is given must hold */
	const char *const *ids; /* what is claimed, the id, or what stood in its place: one of them; NULL: any */
	size_t id_count;
	const char *reason, *origin_topic;                          /* NULL: any */
	int64_t origin_partition, origin_offset, partition, offset; /* -1: any */
	int64_t since_ms, until_ms;                                 /* died_ms, the latter not included; -1: any */
	bool open;                                                  /* neither replayed nor discarded */
};
struct letter_row {           /* valid during the visit */
	struct letter letter; /* without its payload */
	bool has_payload;
	size_t copies;     /* rows of this event, this one included */
	const char *state; /* open, replayed, discarded */
};
typedef bool letters_visit(void *self, const struct letter_row *row); /* false: enough */
/* The newest row of each event (of equal ones the first) that passes, in order of its place: rows are one event's by
 * what is claimed and the content, else by the origin.  since, until and the place decide what is looked at at all.
 * Memory: about 500 bytes a row; more than LETTERS_MAX: ERROR_LIMIT.  The visitor may use the connection. */
bool letters_each(struct letters *letters, struct pg *pg, const struct letter_filter *filter, letters_visit *visit,
                  void *self, struct error *error) MUST_CHECK;
/* Who did what with some of them, in one transaction; action: replayed or discarded. */
struct letter_place {
	int32_t partition;
	int64_t offset;
};
struct letter_places {
	const struct letter_place *items;
	size_t count;
};
bool letters_mark(struct letters *letters, struct pg *pg, const char *action, const char *actor,
                  struct letter_places places, struct error *error) MUST_CHECK;
/* The payload that did not fit; absent: there is none, or no row.  In the arena. */
bool letters_payload(struct letters *letters, struct pg *pg, struct letter_place place, struct arena *arena,
                     struct bytes *out_payload, struct error *error) MUST_CHECK;
/* Deletes the rows of what died before that time and is at none of these places; *out_count: how many. */
bool letters_keep_only(struct letters *letters, struct pg *pg, struct letter_places places, int64_t before_ms,
                       size_t *out_count, struct error *error) MUST_CHECK;
#endif
