/* A parked event that is due, on its way through the lanes like any record: a copy of its row of parked_event. */
#ifndef IDEM_PIPELINE_RELEASED_H
#define IDEM_PIPELINE_RELEASED_H
#include <stdatomic.h>

#include "core/db/parked.h"
#include "core/kafka/record.h"

/* A key of which records are in the lanes: it is not taken from the database again before the last one is gone. */
struct release {
	struct release *next;
	struct bytes key;              /* stands behind it */
	_Atomic size_t records, bytes; /* that are not destroyed */
	bool is_used;                  /* some were pushed [poll] */
};

struct released {
	struct arena arena;         /* holds what is below */
	struct bytes key;           /* of parked_key */
	const char *event_id;       /* of parked_event */
	struct kafka_record record; /* as it was read */
	uint32_t attempt;           /* tries so far */
	bool is_buried;             /* its dead letter is acknowledged: only its row has to go [poll, then a worker] */
	struct release *release;
	size_t bytes;
};
/* NULL: the row holds no record that this program can read.  Counts in the release until it is destroyed. */
struct released *released_create(const struct parked_row *row, struct release *release);
void released_destroy(struct released *released); /* NULL allowed [any thread] */
#endif
