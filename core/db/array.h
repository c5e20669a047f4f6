/* One-dimensional PostgreSQL arrays in the binary format, built in an arena. */
#ifndef IDEM_DB_ARRAY_H
#define IDEM_DB_ARRAY_H
#include "core/base/arena.h"
#include "core/base/bytes.h"
#include <stdint.h>

/* Types of parameters. */
enum {
	OID_BYTEA = 17,
	OID_INT8 = 20,
	OID_TEXT = 25,
	OID_BYTEA_ARRAY = 1001,
	OID_TEXT_ARRAY = 1009,
	OID_INT8_ARRAY = 1016,
	OID_UUID_ARRAY = 2951
};
enum array_type { ARRAY_BYTEA = 17, ARRAY_INT8 = 20, ARRAY_TEXT = 25, ARRAY_UUID = 2950 }; /* oids of the elements */

/* items: for ARRAY_UUID 16 bytes each, for ARRAY_TEXT text; none absent. */
struct bytes array_from_bytes(struct arena *arena, enum array_type type, const struct bytes *items, size_t count);
struct bytes array_from_int8(struct arena *arena, const int64_t *items, size_t count);
#endif
