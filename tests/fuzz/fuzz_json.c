/* Any bytes as a payload.  What is accepted must be read the same by every way in. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/event/json_tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 32};

static void check_same(const struct json_value *a, const struct json_value *b)
{
	ASSERT(a->type == b->type && a->integer == b->integer);
	ASSERT(bytes_equal(a->text, b->text));
	ASSERT(memcmp(&a->real, &b->real, sizeof(a->real)) == 0);
}

/* A pointer to a child of the node `pointer` leads to. */
static char *pointer_to(struct arena *arena, const char *pointer, const struct json_node *child, size_t index)
{
	char *out = arena_alloc(arena, strlen(pointer) + 2 * (size_t)child->key_bytes + 32);
	size_t len = strlen(pointer);

	memcpy(out, pointer, len);
	out[len++] = '/';
	if (!child->key) {
		snprintf(out + len, 31, "%zu", index);
		return out;
	}
	for (uint32_t i = 0; i < child->key_bytes; i++) {
		char c = child->key[i];
		if (c == '~' || c == '/')
			out[len++] = '~';
		out[len++] = c == '~' ? '0' : c == '/' ? '1' : c;
	}
	out[len] = '\0';
	return out;
}

static void check_children(struct arena *arena, const struct json_document *document, struct bytes text,
                           uint32_t parent, const char *pointer)
{
	const struct json_node *nodes = document->nodes;
	size_t index = 0;

	for (uint32_t i = parent + 1; i < nodes[parent].end && index < 20; i = nodes[i].end, index++) {
		char *child = pointer_to(arena, pointer, &nodes[i], index);
		struct json_value parsed, scanned;
		ASSERT(nodes[i].end > i && nodes[i].end <= nodes[parent].end);
		ASSERT((nodes[parent].type == JSON_OBJECT) == (nodes[i].key != NULL));
		for (uint32_t j = parent + 1; nodes[i].key && j < i; j = nodes[j].end)
			ASSERT(nodes[j].key_bytes != nodes[i].key_bytes ||
			       memcmp(nodes[j].key, nodes[i].key, nodes[i].key_bytes) != 0);
		ASSERT(json_get(document, child, &parsed) == JSON_OK);
		ASSERT(parsed.text.ptr == nodes[i].text && parsed.text.len == nodes[i].text_bytes);
		ASSERT(json_scan_field(arena, text, child, limits.max_depth, &scanned) == JSON_OK);
		check_same(&parsed, &scanned);
		check_children(arena, document, text, i, child);
	}
}

static void check_containers(struct arena *arena, const struct json_document *document)
{
	const char *reason, *detail;

	for (uint32_t i = 0; i < document->count && i < 50; i++) {
		const struct json_node *node = &document->nodes[i];
		struct bytes raw = {node->text, node->text_bytes};
		if (node->type != JSON_OBJECT && node->type != JSON_ARRAY)
			continue;
		const struct json_document *again = json_parse(arena, raw, &limits, &reason, &detail);
		ASSERT(again && again->count == node->end - i);
	}
}

/* Nothing but space stands around the value. */
static void check_whole(const struct json_document *document, struct bytes text)
{
	struct json_value root;

	ASSERT(json_get(document, "", &root) == JSON_OK);
	if (root.type != JSON_OBJECT && root.type != JSON_ARRAY)
		return;
	for (const char *at = text.ptr; at < text.ptr + text.len; at++)
		ASSERT((at >= root.text.ptr && at < root.text.ptr + root.text.len) || strchr(" \t\r\n", *at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text = {size ? (const char *)data : "", size};
	const char *reason = NULL, *detail = NULL;
	struct json_value value;
	struct arena arena;

	arena_init(&arena, 4096);
	const struct json_document *document = json_parse(&arena, text, &limits, &reason, &detail);
	(void)json_scan_field(&arena, text, "a", limits.max_depth, &value);
	(void)json_scan_field(&arena, text, "/a/0", limits.max_depth, &value);
	ASSERT(!document == (reason && detail));
	if (document) {
		check_whole(document, text);
		check_children(&arena, document, text, 0, "");
		check_containers(&arena, document);
	}
	arena_done(&arena);
	return 0;
}
