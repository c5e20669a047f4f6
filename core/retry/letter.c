#include "core/retry/letter.h"
#include "core/base/assert.h"
#include "core/base/escape.h"
#include "core/retry/outgoing.h"
#include <stdlib.h>
#include <string.h>

#define LETTER_TEXT_MAX 256 /* bytes of what somebody else wrote */

static struct bytes escaped(struct bytes text, struct arena *arena)
{
	char *memory;
	size_t len;
	FILE *out = open_memstream(&memory, &len);
	ASSERT(out);
	escape_text(text, out);
	ASSERT(fclose(out) == 0);
	struct bytes copy = arena_copy(arena, (struct bytes){memory, len});
	free(memory);
	return copy;
}

/* PostgreSQL refuses NUL and what is no UTF-8. */
static struct bytes storable(struct bytes text, size_t max, struct arena *arena)
{
	if (!text.ptr)
		return BYTES_NONE;
	text = outgoing_cut(text, max);
	bool is_storable = escape_is_utf8(text) && !memchr(text.ptr, '\0', text.len);
	return is_storable ? arena_copy(arena, text) : escaped(text, arena);
}

struct letter letter_of_event(const struct event *event, struct bytes reason, struct bytes error_text,
                              struct arena *arena)
{
	const struct kafka_header *given = kafka_record_header(&event->record, HEADER_EVENT_ID);
	struct letter letter = {
	        .uuid = event->has_uuid ? arena_copy(arena, event->id_text) : BYTES_NONE,
	        .type = storable(event->type, LETTER_TEXT_MAX, arena),
	        .reason = storable(reason, OUTGOING_REASON_MAX, arena),
	        .error_text = storable(error_text, OUTGOING_ERROR_MAX, arena),
	        .content_hash = event->content_hash,
	        .origin_topic = arena_string(arena, bytes_from_string(event->origin_topic)),
	        .origin_partition = event->origin_partition,
	        .origin_offset = event->origin_offset,
	        .origin_ms = event->origin_timestamp_ms,
	        .attempt = event->attempt,
	        .round = event->round,
	};
	if (event->has_id)
		letter.key = event->business_key.ptr ? storable(event->business_key, SIZE_MAX, arena) : letter.uuid;
	if (given && !event->has_uuid)
		letter.given_id = storable(given->value, LETTER_TEXT_MAX, arena);
	return letter;
}
