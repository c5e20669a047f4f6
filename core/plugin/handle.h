/* Handles: an address with the number of a run in its upper 16 bits, which user space never uses.  A kept handle is
 * told from the one of a later run, for the next 65534 runs.  Handles are opaque to plugins; only the tables look
 * inside. */
#ifndef IDEM_PLUGIN_HANDLE_H
#define IDEM_PLUGIN_HANDLE_H
#include "core/base/assert.h"
#include <stdbool.h>
#include <stdint.h>

#define HANDLE_SHIFT 48
#define HANDLE_ADDRESS ((UINT64_C(1) << HANDLE_SHIFT) - 1)

/* Never 0, so that a bare address is no handle. */
static inline uint64_t handle_tag(uint32_t run)
{
	return (run - 1) % 65535 + 1;
}

static inline uintptr_t handle_make(const void *object, uint32_t run)
{
	ASSERT((uintptr_t)object <= HANDLE_ADDRESS);
	return (uintptr_t)object | handle_tag(run) << HANDLE_SHIFT;
}

static inline uintptr_t handle_address(const void *handle)
{
	return (uintptr_t)handle & HANDLE_ADDRESS;
}

static inline bool handle_is_of(const void *handle, uint32_t run)
{
	return run != 0 && (uintptr_t)handle >> HANDLE_SHIFT == handle_tag(run);
}
#endif
