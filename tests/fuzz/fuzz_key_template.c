/* "template\njson": a template that is accepted keeps its fields apart, whatever they hold. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/event/event.h"
#include "core/event/json_tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_colons_outside_fields(const char *template)
{
	size_t colons = 0;

	for (bool inside = false; *template; template ++) {
		inside = *template == '{' || (inside && *template != '}');
		colons += !inside && *template == ':';
	}
	return colons;
}

static void check_key(const char *template, struct bytes key)
{
	size_t characters = 0, colons = 0;

	for (size_t i = 0; i < key.len; i++) {
		characters += (key.ptr[i] & 0xc0) != 0x80;
		colons += key.ptr[i] == ':';
	}
	ASSERT(characters > 0 && characters <= 200);
	ASSERT(colons == count_colons_outside_fields(template));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 32};
	const char *newline = size ? memchr(data, '\n', size) : NULL, *reason = NULL, *detail = NULL;
	struct event event = {
	        .type = BYTES_LITERAL("a:type"), .has_uuid = size % 2 == 0, .id_text = BYTES_LITERAL("id")};
	struct error error;
	struct arena arena;

	if (!newline)
		return 0;
	arena_init(&arena, 4096);
	size_t len = (size_t)(newline - (const char *)data);
	char *text = arena_string(&arena, (struct bytes){(const char *)data, len});
	struct key_template *template = key_template_create(text, &error);
	struct bytes json = {newline + 1, size - len - 1};
	event.document = json_parse(&arena, json, &limits, &reason, &detail);
	if (template) {
		reason = detail = NULL;
		struct bytes key = key_template_apply(template, &event, &arena, &reason, &detail);
		ASSERT(!key.ptr == (reason && detail));
		if (key.ptr)
			check_key(text, key);
		key_template_destroy(template);
	}
	arena_done(&arena);
	return 0;
}
