/* Format 1, numbers big-endian: a byte 1, int64 timestamp, key, value, int32 number of headers, and name and value of
 * each.  Bytes are an int32 length, -1 for null, and as many bytes. */
#include "core/retry/parked_record.h"

#include <arpa/inet.h>
#include <endian.h>

#define FORMAT 1
#define HEADER_MIN_BYTES 8 /* two lengths */

/* ---- packing ---- */

static size_t packed_bytes(struct bytes bytes)
{
	return sizeof(uint32_t) + bytes.len;
}

static char *put_number(char *at, uint32_t number)
{
	number = htonl(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static char *put_bytes(char *at, struct bytes bytes)
{
	at = put_number(at, bytes.ptr ? (uint32_t)bytes.len : UINT32_MAX);
	if (bytes.len > 0)
		memcpy(at, bytes.ptr, bytes.len);
	return at + bytes.len;
}

struct bytes parked_record_pack(struct arena *arena, const struct kafka_record *record)
{
	size_t size = 1 + sizeof(int64_t) + packed_bytes(record->key) + packed_bytes(record->value) + sizeof(uint32_t);
	for (size_t i = 0; i < record->header_count; i++)
		size += packed_bytes(record->headers[i].name) + packed_bytes(record->headers[i].value);
	char *start = arena_alloc(arena, size), *at = start;
	uint64_t timestamp_ms = htobe64((uint64_t)record->timestamp_ms);
	*at++ = FORMAT;
	memcpy(at, &timestamp_ms, sizeof(timestamp_ms));
	at = put_bytes(at + sizeof(timestamp_ms), record->key);
	at = put_bytes(at, record->value);
	at = put_number(at, (uint32_t)record->header_count);
	for (size_t i = 0; i < record->header_count; i++) {
		at = put_bytes(at, record->headers[i].name);
		at = put_bytes(at, record->headers[i].value);
	}
	return (struct bytes){start, size};
}

/* ---- unpacking ---- */

static bool take_number(struct bytes *rest, uint32_t *out_number)
{
	uint32_t number;
	if (rest->len < sizeof(number))
		return false;
	memcpy(&number, rest->ptr, sizeof(number));
	*rest = (struct bytes){rest->ptr + sizeof(number), rest->len - sizeof(number)};
	*out_number = ntohl(number);
	return true;
}

static bool take_bytes(struct bytes *rest, struct bytes *out_bytes)
{
	uint32_t len;
	if (!take_number(rest, &len))
		return false;
	if (len == UINT32_MAX) {
		*out_bytes = BYTES_NONE;
		return true;
	}
	if (len > rest->len)
		return false;
	*out_bytes = (struct bytes){rest->ptr, len};
	*rest = (struct bytes){rest->ptr + len, rest->len - len};
	return true;
}

static bool take_headers(struct bytes *rest, struct arena *arena, struct kafka_record *record)
{
	uint32_t count;
	if (!take_number(rest, &count) || count > rest->len / HEADER_MIN_BYTES)
		return false;
	struct kafka_header *headers = arena_alloc(arena, (count + 1) * sizeof(*headers));
	for (uint32_t i = 0; i < count; i++)
		if (!take_bytes(rest, &headers[i].name) || !headers[i].name.ptr || !take_bytes(rest, &headers[i].value))
			return false;
	record->headers = headers;
	record->header_count = count;
	return rest->len == 0;
}

bool parked_record_unpack(struct bytes packed, struct arena *arena, struct kafka_record *out_record)
{
	uint64_t timestamp_ms;
	struct kafka_record record = {0};
	if (packed.len < 1 + sizeof(timestamp_ms) || packed.ptr[0] != FORMAT)
		return false;
	memcpy(&timestamp_ms, packed.ptr + 1, sizeof(timestamp_ms));
	record.timestamp_ms = (int64_t)be64toh(timestamp_ms);
	struct bytes rest = {packed.ptr + 1 + sizeof(timestamp_ms), packed.len - 1 - sizeof(timestamp_ms)};
	if (!take_bytes(&rest, &record.key) || !take_bytes(&rest, &record.value) ||
	    !take_headers(&rest, arena, &record))
		return false;
	*out_record = record;
	return true;
}
