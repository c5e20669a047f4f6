/* One strict JSON document, parsed once by yajl into the batch's arena; the plugin reads fields from this parse.
 * Refused beyond RFC 8259: duplicate keys at any level, U+0000, lone surrogates, bad UTF-8, more than max_depth levels,
 * more than max_bytes, anything behind the value.  Time and memory are linear in the input.  [worker], no locks. */
#ifndef IDEM_EVENT_JSON_H
#define IDEM_EVENT_JSON_H
#include "core/base/arena.h"
#include "core/base/bytes.h"
#include <stdint.h>

enum json_type {
	JSON_NULL = 1,
	JSON_BOOL,
	JSON_INTEGER,
	JSON_REAL,
	JSON_STRING,
	JSON_OBJECT,
	JSON_ARRAY
}; /* as in plugin.h */

struct json_value {
	enum json_type type;
	int64_t integer;   /* JSON_INTEGER exact, JSON_BOOL 0/1; an integer that does not fit 64 bits is JSON_REAL */
	double real;       /* JSON_REAL and JSON_INTEGER; independent of the locale */
	struct bytes text; /* strings decoded; numbers as written; objects and arrays their raw JSON;
	                      "true"/"false"/"null" */
};

enum json_status { JSON_OK, JSON_NOT_FOUND, JSON_BAD_POINTER };

struct json_limits {
	size_t max_bytes, max_depth;
};
struct json_document;

/* The document borrows `text`.  NULL when refused: *out_reason is one of "malformed", "duplicate_key", "too_deep",
 * "too_big" (DLQ detail) and *out_text (in the arena) says what and at which byte, without quoting the payload. */
struct json_document *json_parse(struct arena *arena, struct bytes text, const struct json_limits *limits,
                                 const char **out_reason, const char **out_text);
/* RFC 6901 ("" is the whole document, "/a/0/b", ~0 ~1). */
enum json_status json_get(const struct json_document *document, const char *pointer, struct json_value *out_value);
/* A field name or, beginning with '/', a pointer: what settings accept. */
enum json_status json_get_field(const struct json_document *document, const char *field, struct json_value *out_value);
/* The text of a value that can be (part of) a key: strings, numbers as written, true, false.  Absent: null, object,
 * array. */
struct bytes json_scalar_text(const struct json_value *value);
/* What one field holds, without building a document; stops early; for the poll thread's lane key.  Lenient: a document
 * that is refused later may still yield a key here.  The text of *out_value is a part of `text`, or in the arena. */
enum json_status json_scan_field(struct arena *arena, struct bytes text, const char *field, size_t max_depth,
                                 struct json_value *out_value);
#endif
