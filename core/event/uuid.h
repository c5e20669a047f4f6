/* Event ids.  libuuid parses and prints; version 7 and its time are ours (RFC 9562). */
#ifndef IDEM_EVENT_UUID_H
#define IDEM_EVENT_UUID_H
#include "core/base/bytes.h"
#include <stdbool.h>
#include <stdint.h>

struct uuid {
	uint8_t byte[16];
};
#define UUID_TEXT_BYTES 37 /* with the NUL */

/* 8-4-4-4-12 hexadecimal digits, either case, nothing else (no braces, no urn:uuid:, no spaces). */
bool uuid_from_text(struct bytes text, struct uuid *out_uuid);
void uuid_to_text(const struct uuid *uuid, char out_text[UUID_TEXT_BYTES]); /* lower case */
int uuid_version(const struct uuid *uuid);                                  /* 0 when the variant is not RFC 9562's */
int64_t uuid_time_ms(const struct uuid *uuid);                              /* of a version 7 id */
/* Strictly rising within the process, also within one millisecond.  [any thread] */
void uuid_make_v7(int64_t now_ms, struct uuid *out_uuid);
int uuid_compare(const struct uuid *a, const struct uuid *b); /* as PostgreSQL orders uuid */
#endif
