#include "core/pipeline/released.h"

#include <stdlib.h>

#include "core/base/assert.h"
#include "core/retry/parked_record.h"

struct released *released_create(const struct parked_row *row, struct release *release)
{
	struct released *released = calloc(1, sizeof(*released));
	ASSERT(released);
	arena_init(&released->arena, row->record.len + row->key.len + 512);
	struct bytes packed = arena_copy(&released->arena, row->record);
	if (!parked_record_unpack(packed, &released->arena, &released->record)) {
		arena_done(&released->arena);
		free(released);
		return NULL;
	}
	released->key = arena_copy(&released->arena, row->key);
	released->event_id = arena_string(&released->arena, bytes_from_string(row->event_id));
	released->record.topic = arena_string(&released->arena, bytes_from_string(row->topic));
	released->record.partition = row->partition;
	released->record.offset = row->offset;
	released->attempt = row->attempt;
	released->bytes = sizeof(*released) + released->arena.used_bytes;
	released->release = release;
	atomic_fetch_add_explicit(&release->bytes, released->bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&release->records, 1, memory_order_relaxed);
	return released;
}

void released_destroy(struct released *released)
{
	if (!released)
		return;
	atomic_fetch_sub_explicit(&released->release->bytes, released->bytes, memory_order_relaxed);
	/* Last: at zero the release may be freed. */
	atomic_fetch_sub_explicit(&released->release->records, 1, memory_order_release);
	arena_done(&released->arena);
	free(released);
}
