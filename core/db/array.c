#include "core/db/array.h"

#include <arpa/inet.h>
#include <endian.h>

/* ndim, has-null flag, element oid, length, lower bound */
#define ARRAY_HEADER_BYTES 20

static char *array_put_int4(char *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static char *array_put_header(char *at, enum array_type type, size_t count)
{
	const uint32_t header[] = {1, 0, (uint32_t)type, (uint32_t)count, 1};
	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		at = array_put_int4(at, header[i]);
	return at;
}

struct bytes array_from_bytes(struct arena *arena, enum array_type type, const struct bytes *items, size_t count)
{
	size_t size = ARRAY_HEADER_BYTES;
	for (size_t i = 0; i < count; i++)
		size += sizeof(uint32_t) + items[i].len;
	char *start = arena_alloc(arena, size);
	char *at = array_put_header(start, type, count);
	for (size_t i = 0; i < count; i++) {
		at = array_put_int4(at, (uint32_t)items[i].len);
		memcpy(at, items[i].ptr, items[i].len);
		at += items[i].len;
	}
	return (struct bytes){start, size};
}

struct bytes array_from_int8(struct arena *arena, const int64_t *items, size_t count)
{
	size_t size = ARRAY_HEADER_BYTES + count * (sizeof(uint32_t) + sizeof(int64_t));
	char *start = arena_alloc(arena, size);
	char *at = array_put_header(start, ARRAY_INT8, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t value = htobe64((uint64_t)items[i]);
		at = array_put_int4(at, sizeof(value));
		memcpy(at, &value, sizeof(value));
		at += sizeof(value);
	}
	return (struct bytes){start, size};
}
