/* For json_against_python.py: documents on stdin, each behind its length (32 bits); a line for each on stdout: the
 * reason, or "ok" and every node as type:value and, behind a k, the key; strings in hexadecimal. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/event/json_tape.h"

static void print_hex(const char *text, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		printf("%02x", (unsigned char)text[i]);
}

static void print_node(const struct json_node *node)
{
	struct json_value value;

	printf(" %d:", node->type);
	if (node->type == JSON_STRING)
		print_hex(node->text, node->text_bytes);
	else if (node->type == JSON_BOOL)
		putchar(node->text[0]);
	if (node->type == JSON_INTEGER || node->type == JSON_REAL) {
		json_convert_number((struct bytes){node->text, node->text_bytes}, &value);
		if (value.type == JSON_INTEGER)
			printf("i%" PRId64, value.integer);
		else
			printf("r%.17g", value.real);
	}
	if (node->key) {
		putchar('k');
		print_hex(node->key, node->key_bytes);
	}
}

static void print_document(struct arena *arena, struct bytes text)
{
	static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
	const char *reason, *detail;
	const struct json_document *document = json_parse(arena, text, &limits, &reason, &detail);

	printf("%s", document ? "ok" : reason);
	for (uint32_t i = 0; document && i < document->count; i++)
		print_node(&document->nodes[i]);
	putchar('\n');
}

int main(void)
{
	struct arena arena;
	uint32_t bytes;

	arena_init(&arena, 64 * 1024);
	while (fread(&bytes, sizeof(bytes), 1, stdin) == 1) {
		char *text = malloc(bytes + 1); /* of its own, so that reading past its end is found */
		if (!text || fread(text, 1, bytes, stdin) != bytes)
			return EXIT_FAILURE;
		print_document(&arena, (struct bytes){text, bytes});
		free(text);
		arena_reset(&arena);
	}
	arena_done(&arena);
	return EXIT_SUCCESS;
}
