/* Memory that is freed all at once: one per batch, reset after its COMMIT.  Not thread-safe; one owner at a time.
 * Allocation never fails: out of memory ends the process (the parent restarts it, the records come again). */
#ifndef IDEM_BASE_ARENA_H
#define IDEM_BASE_ARENA_H
#include "core/base/bytes.h"
#include "core/base/error.h"
#include <stddef.h>

struct arena_block;
struct arena {                      /* embed it; arena_init / arena_done */
	struct arena_block *blocks; /* newest first */
	size_t block_bytes;
	size_t used_bytes; /* handed out since the last reset, for limits */
};

void arena_init(struct arena *arena, size_t block_bytes);
/* Everything handed out becomes invalid; the first block is kept for reuse. */
void arena_reset(struct arena *arena);
void arena_done(struct arena *arena);
/* 16-byte aligned, not zeroed. */
void *arena_alloc(struct arena *arena, size_t bytes) __attribute__((malloc, alloc_size(2), returns_nonnull));
void *arena_zalloc(struct arena *arena, size_t bytes) __attribute__((malloc, alloc_size(2), returns_nonnull));
/* A copy with a NUL behind it; absent stays absent. */
struct bytes arena_copy(struct arena *arena, struct bytes bytes);
char *arena_string(struct arena *arena, struct bytes bytes);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
#endif
