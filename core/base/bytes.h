/* Borrowed bytes: a pointer and a length, never NUL-terminated by promise. */
#ifndef IDEM_BASE_BYTES_H
#define IDEM_BASE_BYTES_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ptr NULL means absent (SQL NULL, Kafka null); a non-NULL ptr with len 0 is empty, which is something else. */
struct bytes {
	const char *ptr;
	size_t len;
};

#define BYTES_NONE ((struct bytes){NULL, 0})
#define BYTES_LITERAL(text) ((struct bytes){(text), sizeof(text) - 1})
/* For printf: "%.*s", BYTES_ARG(b). */
#define BYTES_ARG(b) (int)(b).len, (b).ptr ? (b).ptr : ""

static inline struct bytes bytes_from_string(const char *text)
{
	return (struct bytes){text, text ? strlen(text) : 0};
}

/* Absent equals absent only. */
static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	if (!a.ptr || !b.ptr)
		return !a.ptr && !b.ptr;
	return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static inline bool bytes_equal_string(struct bytes a, const char *text)
{
	return bytes_equal(a, bytes_from_string(text));
}
#endif
