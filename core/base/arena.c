#include "core/base/arena.h"
#include "core/base/assert.h"
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Under AddressSanitizer what was not handed out is poisoned, so that use after a reset is found. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(ptr, bytes) ASAN_POISON_MEMORY_REGION(ptr, bytes)
#define UNPOISON(ptr, bytes) ASAN_UNPOISON_MEMORY_REGION(ptr, bytes)
#else
#define POISON(ptr, bytes) ((void)(ptr), (void)(bytes))
#define UNPOISON(ptr, bytes) ((void)(ptr), (void)(bytes))
#endif

#define ALIGNMENT 16

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	alignas(ALIGNMENT) char data[];
};

void arena_init(struct arena *arena, size_t block_bytes)
{
	ASSERT(block_bytes > 0);
	*arena = (struct arena){.block_bytes = (block_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1)};
}

static void block_free(struct arena_block *block)
{
	UNPOISON(block->data, block->size);
	free(block);
}

void arena_reset(struct arena *arena)
{
	struct arena_block *kept = NULL, *next;

	for (struct arena_block *block = arena->blocks; block; block = next) {
		next = block->next;
		if (!kept && block->size == arena->block_bytes)
			kept = block;
		else
			block_free(block);
	}
	if (kept) {
		POISON(kept->data, kept->size);
		kept->next = NULL;
		kept->used = 0;
	}
	arena->blocks = kept;
	arena->used_bytes = 0;
}

void arena_done(struct arena *arena)
{
	arena_reset(arena);
	if (arena->blocks)
		block_free(arena->blocks);
	arena->blocks = NULL;
}

/* What is too large for a block gets one of its own, behind the newest, whose rest stays in use. */
static struct arena_block *block_add(struct arena *arena, size_t bytes)
{
	size_t size = bytes > arena->block_bytes ? bytes : arena->block_bytes;
	struct arena_block **place = size > arena->block_bytes && arena->blocks ? &arena->blocks->next : &arena->blocks;
	struct arena_block *block = malloc(sizeof(*block) + size);

	ASSERT(block);
	*block = (struct arena_block){.next = *place, .size = size};
	POISON(block->data, size);
	*place = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	struct arena_block *block = arena->blocks;
	size_t taken;
	char *ptr;

	ASSERT(bytes < PTRDIFF_MAX / 2);
	taken = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!block || block->size - block->used < taken)
		block = block_add(arena, taken);
	ptr = block->data + block->used;
	block->used += taken;
	arena->used_bytes += taken;
	UNPOISON(ptr, bytes);
	return ptr;
}

void *arena_zalloc(struct arena *arena, size_t bytes)
{
	return memset(arena_alloc(arena, bytes), 0, bytes);
}

struct bytes arena_copy(struct arena *arena, struct bytes bytes)
{
	return (struct bytes){arena_string(arena, bytes), bytes.len};
}

char *arena_string(struct arena *arena, struct bytes bytes)
{
	char *copy;

	if (!bytes.ptr)
		return NULL;
	copy = arena_alloc(arena, bytes.len + 1);
	memcpy(copy, bytes.ptr, bytes.len);
	copy[bytes.len] = '\0';
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments, again;
	int length;
	char *text;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	ASSERT(length >= 0);
	text = arena_alloc(arena, (size_t)length + 1);
	vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	return text;
}
