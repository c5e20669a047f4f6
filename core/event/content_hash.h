/* What tells a copy of an event from another event under the same id. */
#ifndef IDEM_EVENT_CONTENT_HASH_H
#define IDEM_EVENT_CONTENT_HASH_H
#include "core/base/bytes.h"
#include <stdint.h>

/* The first 8 bytes of the SHA-256 of the value, big-endian, as PostgreSQL's bigint; absent counts as empty. */
int64_t content_hash(struct bytes value);
#endif
