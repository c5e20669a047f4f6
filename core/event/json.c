#include "core/event/json.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/random.h>
#include <yajl/yajl_parse.h>

#include "core/base/assert.h"
#include "core/event/json_tape.h"

#define NO_NODE UINT32_MAX
#define FIRST_NODES_MAX 1024
#define PAIRWISE_MAX 16 /* fields up to which comparing each with each is cheaper than hashing */

struct json_parser {
	struct arena *arena;
	struct bytes text;
	const struct json_limits *limits;
	yajl_handle yajl;
	struct json_node *nodes;
	uint32_t count, capacity;
	uint32_t open; /* the innermost array or object that is not closed yet */
	size_t depth;
	size_t end;      /* behind the whole value; 0: not there yet */
	const char *key; /* of the value that comes next */
	uint32_t key_bytes;
	uint64_t *slots; /* scratch for many fields: upper half hash, lower half node; 0: free */
	size_t slot_capacity;
	const char *reason, *problem; /* why a callback cancelled */
};

/* yajl allocates from the batch's arena too: nothing is freed, the arena's reset takes it all. */
struct json_allocation {
	_Alignas(16) size_t bytes;
};

static void *allocate(void *context, size_t bytes)
{
	struct json_allocation *allocation = arena_alloc(context, sizeof(*allocation) + bytes);

	allocation->bytes = bytes;
	return allocation + 1;
}

static void *reallocate(void *context, void *old, size_t bytes)
{
	if (!old)
		return allocate(context, bytes);
	size_t old_bytes = ((struct json_allocation *)old - 1)->bytes;
	if (bytes <= old_bytes)
		return old;
	/* yajl grows its stack in fixed steps: without doubling, depth would cost its square. */
	void *grown = allocate(context, bytes > 2 * old_bytes ? bytes : 2 * old_bytes);
	return memcpy(grown, old, old_bytes);
}

static void deallocate(void *context, void *old)
{
	(void)context;
	(void)old;
}

static void grow_nodes(struct json_parser *parser)
{
	uint32_t capacity = parser->capacity * 2;

	if (!capacity) { /* a value each 16 bytes is usual; a long text may also be one long string */
		size_t guess = parser->text.len / 16 + 16;
		capacity = (uint32_t)(guess < FIRST_NODES_MAX ? guess : FIRST_NODES_MAX);
	}
	struct json_node *nodes = arena_alloc(parser->arena, capacity * sizeof(*nodes));
	if (parser->count)
		memcpy(nodes, parser->nodes, parser->count * sizeof(*nodes));
	parser->nodes = nodes;
	parser->capacity = capacity;
}

static struct json_node *push(struct json_parser *parser, enum json_type type, const char *text, size_t text_bytes)
{
	if (parser->count == parser->capacity)
		grow_nodes(parser);
	struct json_node *node = &parser->nodes[parser->count++];
	*node = (struct json_node){.key = parser->key,
	                           .key_bytes = parser->key_bytes,
	                           .text = text,
	                           .text_bytes = (uint32_t)text_bytes,
	                           .end = parser->count,
	                           .type = (uint8_t)type};
	parser->key = NULL;
	parser->key_bytes = 0;
	return node;
}

static int push_scalar(struct json_parser *parser, enum json_type type, const char *text, size_t text_bytes)
{
	push(parser, type, text, text_bytes);
	if (parser->open == NO_NODE)
		parser->end = yajl_get_bytes_consumed(parser->yajl);
	return 1;
}

static int refuse(struct json_parser *parser, const char *reason, const char *problem)
{
	parser->reason = reason;
	parser->problem = problem;
	return 0;
}

/* yajl hands out pieces of the text itself, which stay, or of a buffer of its own, which does not. */
static const char *keep(struct json_parser *parser, const char *piece, size_t bytes)
{
	uintptr_t offset = (uintptr_t)piece - (uintptr_t)parser->text.ptr;

	if (offset < parser->text.len)
		return piece;
	return arena_copy(parser->arena, (struct bytes){piece, bytes}).ptr;
}

static int on_null(void *context)
{
	return push_scalar(context, JSON_NULL, "null", 4);
}

static int on_boolean(void *context, int value)
{
	return push_scalar(context, JSON_BOOL, value ? "true" : "false", value ? 4 : 5);
}

static int on_number(void *context, const char *text, size_t bytes)
{
	struct json_parser *parser = context;
	bool is_real = memchr(text, '.', bytes) || memchr(text, 'e', bytes) || memchr(text, 'E', bytes);

	return push_scalar(parser, is_real ? JSON_REAL : JSON_INTEGER, keep(parser, text, bytes), bytes);
}

static int on_string(void *context, const unsigned char *text, size_t bytes)
{
	struct json_parser *parser = context;

	return push_scalar(parser, JSON_STRING, keep(parser, (const char *)text, bytes), bytes);
}

static int on_key(void *context, const unsigned char *text, size_t bytes)
{
	struct json_parser *parser = context;

	parser->key = keep(parser, (const char *)text, bytes);
	parser->key_bytes = (uint32_t)bytes;
	return 1;
}

static int open_container(struct json_parser *parser, enum json_type type)
{
	if (++parser->depth > parser->limits->max_depth)
		return refuse(parser, "too_deep", "more levels than event.max_depth allows");
	/* yajl has just consumed the bracket. */
	struct json_node *node = push(parser, type, parser->text.ptr + yajl_get_bytes_consumed(parser->yajl) - 1, 0);
	node->end = parser->open;
	parser->open = parser->count - 1;
	return 1;
}

static int on_object_start(void *context)
{
	return open_container(context, JSON_OBJECT);
}

static int on_array_start(void *context)
{
	return open_container(context, JSON_ARRAY);
}

static struct json_node *close_container(struct json_parser *parser)
{
	struct json_node *node = &parser->nodes[parser->open];

	size_t end = yajl_get_bytes_consumed(parser->yajl);

	parser->open = node->end;
	parser->depth--;
	node->end = parser->count;
	node->text_bytes = (uint32_t)(parser->text.ptr + end - node->text);
	if (parser->open == NO_NODE)
		parser->end = end;
	return node;
}

static int on_array_end(void *context)
{
	close_container(context);
	return 1;
}

static bool same_key(const struct json_node *a, const struct json_node *b)
{
	return a->key_bytes == b->key_bytes && memcmp(a->key, b->key, a->key_bytes) == 0;
}

static uint64_t hash_seed[2];

static void make_hash_seed(void)
{
	/* At most 256 bytes are never cut short. */
	ASSERT(getrandom(hash_seed, sizeof(hash_seed), 0) == sizeof(hash_seed));
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Seeded, so that nobody can choose fields that collide. */
static uint64_t hash_key(const struct json_node *node)
{
	const char *key = node->key;
	size_t left = node->key_bytes;
	uint64_t hash = hash_seed[0] ^ left, word;

	for (; left >= sizeof(word); left -= sizeof(word), key += sizeof(word)) {
		memcpy(&word, key, sizeof(word));
		hash = mix(hash ^ word, hash_seed[1] | 1);
	}
	word = 0;
	memcpy(&word, key, left);
	return mix(hash ^ word, hash_seed[1] | 1);
}

static size_t clear_slots(struct json_parser *parser, size_t fields)
{
	size_t wanted = 2 * PAIRWISE_MAX;

	while (wanted < 2 * fields)
		wanted *= 2;
	if (wanted > parser->slot_capacity) {
		parser->slots = arena_alloc(parser->arena, wanted * sizeof(*parser->slots));
		parser->slot_capacity = wanted;
	}
	memset(parser->slots, 0, wanted * sizeof(*parser->slots));
	return wanted;
}

static bool has_duplicate_hashed(struct json_parser *parser, uint32_t first, uint32_t end, size_t fields)
{
	static pthread_once_t seeded = PTHREAD_ONCE_INIT;
	PTHREAD_OK(pthread_once(&seeded, make_hash_seed));
	size_t mask = clear_slots(parser, fields) - 1;

	for (uint32_t i = first; i < end; i = parser->nodes[i].end) {
		uint64_t hash = hash_key(&parser->nodes[i]);
		size_t at = hash & mask;
		for (; parser->slots[at]; at = (at + 1) & mask) {
			if (parser->slots[at] >> 32 == hash >> 32 &&
			    same_key(&parser->nodes[i], &parser->nodes[(uint32_t)parser->slots[at]]))
				return true;
		}
		parser->slots[at] = (hash & ~(uint64_t)UINT32_MAX) | i; /* a child's index is never 0 */
	}
	return false;
}

static bool has_duplicate_pairwise(const struct json_node *nodes, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i = nodes[i].end) {
		for (uint32_t j = first; j < i; j = nodes[j].end) {
			if (same_key(&nodes[i], &nodes[j]))
				return true;
		}
	}
	return false;
}

static bool has_duplicate(struct json_parser *parser, const struct json_node *object)
{
	uint32_t first = (uint32_t)(object - parser->nodes) + 1;
	size_t fields = 0;

	for (uint32_t i = first; i < object->end; i = parser->nodes[i].end)
		fields++;
	if (fields <= PAIRWISE_MAX)
		return has_duplicate_pairwise(parser->nodes, first, object->end);
	return has_duplicate_hashed(parser, first, object->end, fields);
}

static int on_object_end(void *context)
{
	struct json_parser *parser = context;

	if (has_duplicate(parser, close_container(parser)))
		return refuse(parser, "duplicate_key", "an object that ends here has the same field twice");
	return 1;
}

static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_object_start,
        .yajl_map_key = on_key,
        .yajl_end_map = on_object_end,
        .yajl_start_array = on_array_start,
        .yajl_end_array = on_array_end,
};

static struct json_document *explain(struct json_parser *parser, const char *reason, const char *problem, size_t at,
                                     const char **out_reason, const char **out_text)
{
	*out_reason = reason;
	*out_text = arena_printf(parser->arena, "%s, at byte %zu of %zu", problem, at, parser->text.len);
	return NULL;
}

/* yajl's own words, which hold nothing of the text when asked so; they end with a newline. */
static const char *yajl_words(struct json_parser *parser)
{
	const char *words = (const char *)yajl_get_error(parser->yajl, 0, NULL, 0);
	struct bytes text = bytes_from_string(words ? words : "not JSON");

	while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '.'))
		text.len--;
	return arena_string(parser->arena, text);
}

/* False: refused; *out_at is where. */
static bool run(struct json_parser *parser, size_t *out_at)
{
	const unsigned char *text = (const unsigned char *)parser->text.ptr;
	yajl_status status = yajl_parse(parser->yajl, text, parser->text.len);

	*out_at = yajl_get_bytes_consumed(parser->yajl);
	if (status != yajl_status_ok)
		return false;
	*out_at = parser->end ? parser->end : parser->text.len; /* a number may end with the text */
	/* yajl takes a string behind the value for nothing when it does not end. */
	for (; *out_at < parser->text.len; (*out_at)++) {
		if (!strchr(" \t\r\n", text[*out_at]))
			return refuse(parser, "malformed", "something behind the value");
	}
	return yajl_complete_parse(parser->yajl) == yajl_status_ok;
}

struct json_document *json_parse(struct arena *arena, struct bytes text, const struct json_limits *limits,
                                 const char **out_reason, const char **out_text)
{
	struct json_parser parser = {.arena = arena, .text = text, .limits = limits, .open = NO_NODE};
	yajl_alloc_funcs functions = {allocate, reallocate, deallocate, arena};
	size_t at = 0;

	if (text.len > limits->max_bytes || text.len >= UINT32_MAX / 2)
		return explain(&parser, "too_big", "longer than event.max_bytes allows", text.len, out_reason,
		               out_text);
	const char *problem = json_check_text(text, &at);
	if (problem)
		return explain(&parser, "malformed", problem, at, out_reason, out_text);
	parser.yajl = yajl_alloc(&callbacks, &functions, &parser);
	ASSERT(parser.yajl);
	ASSERT(yajl_config(parser.yajl, yajl_dont_validate_strings, 1)); /* json_check_text has, and more strictly */
	if (!run(&parser, &at)) {
		if (parser.reason)
			return explain(&parser, parser.reason, parser.problem, at, out_reason, out_text);
		return explain(&parser, "malformed", yajl_words(&parser), at, out_reason, out_text);
	}
	struct json_document *document = arena_alloc(arena, sizeof(*document));
	*document = (struct json_document){.nodes = parser.nodes, .count = parser.count};
	return document;
}
