#include "core/pipeline/blame.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/base/log.h"
#include "core/db/attempts.h"

#define PAGE_MAGIC UINT64_C(0x3130656d616c6269) /* "iblame01" */
#define ID_MAX 1000                             /* bytes: 200 characters of a business key, escaped */
#define FD_FLOOR 200    /* a number that nobody gets again soon once it was closed: the lowest free one is given out */
#define HANG UINT32_MAX /* as a cause, beside the numbers of signals */

struct page { /* the file begins with it; the slots follow */
	uint64_t magic;
	uint64_t slot_bytes, slot_count;
	_Atomic uint32_t is_running; /* 0: the process stopped of its own will */
	_Atomic uint32_t cause;      /* of its death, as far as it could tell */
	_Atomic uint64_t successes;  /* of this process */
	uint32_t deaths;             /* without a success between, with events to suspect */
	uint32_t is_several;         /* … and not always the same one */
	char last_suspect[ID_MAX];
};

struct slot { /* of one worker; packed records follow: length, round, id */
	_Atomic uint32_t count;
	uint32_t is_alone;
};
struct packed {
	uint32_t length, round;
};

struct suspect {
	char id[ID_MAX + 1];
	uint32_t round;
	bool was_alone;
};

struct blame {
	struct blame_options options;
	char *path;
	int fd;
	struct page *page;
	size_t page_bytes;
	struct suspect *suspects;
	size_t suspect_count, suspect_room;
	bool has_died;
	_Atomic uint64_t taken; /* of the page's successes, by blame_take_success */
	struct page before;     /* of the process before; its numbers only */
};

/* ---- the file ---- */

static size_t slot_bytes(const struct blame *blame)
{
	size_t bytes = sizeof(struct slot) + blame->options.batch_max * (sizeof(struct packed) + ID_MAX);
	return (bytes + 63) / 64 * 64;
}

static struct slot *page_slot(const struct page *page, size_t number)
{
	return (struct slot *)(uintptr_t)((const char *)page + (sizeof(*page) + 63) / 64 * 64 +
	                                  number * page->slot_bytes);
}

static size_t page_size(size_t bytes_per_slot, size_t count)
{
	return (sizeof(struct page) + 63) / 64 * 64 + bytes_per_slot * count;
}

static void blame_suspect(struct blame *blame, const struct slot *slot, const struct packed *packed)
{
	if (blame->suspect_count == blame->suspect_room) {
		blame->suspect_room = blame->suspect_room ? 2 * blame->suspect_room : 16;
		blame->suspects = realloc(blame->suspects, blame->suspect_room * sizeof(*blame->suspects));
		ASSERT(blame->suspects);
	}
	struct suspect *suspect = &blame->suspects[blame->suspect_count++];
	suspect->round = packed->round;
	suspect->was_alone = slot->is_alone;
	memcpy(suspect->id, packed + 1, packed->length);
	suspect->id[packed->length] = '\0';
}

/* A process that died while it wrote left a slot whose count is 0, or one that is whole. */
static void blame_read_slot(struct blame *blame, const struct slot *slot, size_t bytes)
{
	const char *at = (const char *)(slot + 1), *end = (const char *)slot + bytes;
	for (uint32_t i = 0; i < atomic_load(&slot->count); i++) {
		const struct packed *packed = (const struct packed *)(uintptr_t)at;
		if ((size_t)(end - at) < sizeof(*packed) || packed->length > ID_MAX ||
		    (size_t)(end - at) < sizeof(*packed) + packed->length)
			return;
		blame_suspect(blame, slot, packed);
		at += (sizeof(*packed) + packed->length + 7) / 8 * 8;
	}
}

/* What cannot be read was written by another version, or damaged: nobody is suspected. */
static void blame_read(struct blame *blame, const struct page *page, size_t bytes)
{
	if (bytes < sizeof(*page) || page->magic != PAGE_MAGIC || page->slot_bytes < sizeof(struct slot) ||
	    page->slot_bytes > bytes || page->slot_count > bytes / page->slot_bytes ||
	    page_size(page->slot_bytes, page->slot_count) > bytes)
		return;
	memcpy(&blame->before, page, sizeof(*page));
	blame->before.last_suspect[ID_MAX - 1] = '\0';
	blame->has_died = atomic_load(&blame->before.is_running) != 0;
	for (size_t i = 0; blame->has_died && i < page->slot_count; i++)
		blame_read_slot(blame, page_slot(page, i), page->slot_bytes);
}

static bool blame_fail(struct blame *blame, const char *what, struct error *error)
{
	return error_set(error, ERROR_IO, "blame page %s: %s: %s", blame->path, what, strerror(errno));
}

static bool blame_read_file(struct blame *blame, struct error *error)
{
	struct stat status;
	int fd = open(blame->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return blame_fail(blame, "opening", error);
	blame->fd = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);
	close(fd);
	if (blame->fd < 0 || fstat(blame->fd, &status) != 0)
		return blame_fail(blame, "opening", error);
	if (status.st_size == 0)
		return true;
	void *old = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, blame->fd, 0);
	if (old == MAP_FAILED)
		return blame_fail(blame, "reading", error);
	blame_read(blame, old, (size_t)status.st_size);
	ASSERT(munmap(old, (size_t)status.st_size) == 0);
	return true;
}

struct blame *blame_open(const struct blame_options *options, struct error *error)
{
	struct blame *blame = calloc(1, sizeof(*blame));
	char *folder;
	ASSERT(blame && asprintf(&folder, "%s/blame", options->state_dir) > 0);
	blame->options = *options;
	blame->fd = -1;
	ASSERT(asprintf(&blame->path, "%s/%s", folder, options->pipeline) > 0);
	bool is_fine = mkdir(folder, 0700) == 0 || errno == EEXIST || blame_fail(blame, "making its folder", error);
	free(folder);
	if (is_fine && blame_read_file(blame, error))
		return blame;
	blame_close(blame);
	return NULL;
}

void blame_close(struct blame *blame)
{
	if (!blame)
		return;
	if (blame->page)
		ASSERT(munmap(blame->page, blame->page_bytes) == 0);
	if (blame->fd >= 0)
		close(blame->fd);
	free(blame->suspects);
	free(blame->path);
	free(blame);
}

/* ---- after a death ---- */

static bool blame_is_hang(const struct blame *blame)
{
	return atomic_load(&blame->before.cause) == HANG;
}

static void blame_describe(const struct blame *blame, char *out, size_t size)
{
	uint32_t cause = atomic_load(&blame->before.cause);
	if (cause == HANG)
		snprintf(out, size, "the handler did not come back after its time-out");
	else if (cause)
		snprintf(out, size, "the process died of signal %u (%s)", cause, strsignal((int)cause));
	else
		snprintf(out, size, "the process died");
}

static bool blame_count(struct blame *blame, struct pg *pg, const char *schema, struct error *error)
{
	char text[100];
	blame_describe(blame, text, sizeof(text));
	for (size_t i = 0; i < blame->suspect_count; i++) {
		const struct suspect *suspect = &blame->suspects[i];
		const struct attempt_death death = {
		        .group = blame->options.pipeline,
		        .id = suspect->id,
		        .round = suspect->round,
		        .was_alone = suspect->was_alone,
		        .reason = blame_is_hang(blame) ? "handler_hang" : "process_crash",
		        .error_text = text,
		};
		int64_t deaths;
		if (!attempts_count_death(pg, schema, &death, &deaths, error))
			return false;
		log_write(LOG_event_suspect, "event %s: %s while it was handled%s (%" PRId64 " times): it runs alone",
		          suspect->id, text, suspect->was_alone ? " alone" : "", deaths);
	}
	return true;
}

/* The numbers go from page to page. */
static void blame_count_row(struct blame *blame)
{
	struct page *page = &blame->before;
	if (!blame->has_died || blame->suspect_count == 0)
		return;
	const char *suspect = blame->suspects[0].id;
	if (atomic_load(&page->successes) > 0)
		page->deaths = page->is_several = 0;
	if (page->deaths > 0 && strncmp(page->last_suspect, suspect, ID_MAX - 1) != 0)
		page->is_several = 1;
	page->deaths++;
	memcpy(page->last_suspect, suspect, strnlen(suspect, ID_MAX - 1));
	page->last_suspect[strnlen(suspect, ID_MAX - 1)] = '\0';
}

static bool blame_make_page(struct blame *blame, struct error *error)
{
	size_t bytes = slot_bytes(blame);
	blame->page_bytes = page_size(bytes, blame->options.workers);
	if (ftruncate(blame->fd, 0) != 0 || ftruncate(blame->fd, (off_t)blame->page_bytes) != 0)
		return blame_fail(blame, "making it", error);
	void *page = mmap(NULL, blame->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, blame->fd, 0);
	if (page == MAP_FAILED)
		return blame_fail(blame, "mapping it", error);
	blame->page = page;
	memcpy(blame->page, &blame->before, sizeof(blame->before));
	blame->page->magic = PAGE_MAGIC;
	blame->page->slot_bytes = bytes;
	blame->page->slot_count = blame->options.workers;
	atomic_store(&blame->page->cause, 0);
	atomic_store(&blame->page->successes, 0);
	atomic_store(&blame->taken, 0);
	atomic_store(&blame->page->is_running, 1);
	return true;
}

bool blame_begin(struct blame *blame, struct pg *pg, const char *schema, bool *out_is_broken, struct error *error)
{
	if (!blame_count(blame, pg, schema, error))
		return false;
	blame_count_row(blame);
	*out_is_broken = blame->before.deaths >= BLAME_BREAKER_DEATHS && blame->before.is_several;
	if (*out_is_broken)
		blame->before.deaths = blame->before.is_several = 0;
	return blame_make_page(blame, error);
}

void blame_end(struct blame *blame)
{
	atomic_store(&blame->page->is_running, 0);
}

/* ---- while it runs ---- */

/* A handler that closed what is not its own: the next connection would get the number of somebody else's socket, who
 * would write into it.  Ended while the event stands on the page. */
static void blame_check_descriptors(const struct blame *blame)
{
	bool descriptors_are_left_open_by_the_handler = fcntl(blame->fd, F_GETFD) >= 0;
	ASSERT(descriptors_are_left_open_by_the_handler);
}

void blame_enter(struct blame *blame, uint32_t worker, bool is_alone, const struct blame_event *events, size_t count)
{
	struct slot *slot = page_slot(blame->page, worker);
	char *at = (char *)(slot + 1), *end = (char *)slot + blame->page->slot_bytes;
	uint32_t written = 0;
	slot->is_alone = is_alone;
	for (size_t i = 0; i < count; i++) {
		struct packed packed = {(uint32_t)events[i].id.len, events[i].round};
		size_t bytes = (sizeof(packed) + packed.length + 7) / 8 * 8;
		if (packed.length > ID_MAX || (size_t)(end - at) < bytes)
			break;
		memcpy(at, &packed, sizeof(packed));
		memcpy(at + sizeof(packed), events[i].id.ptr, packed.length);
		at += bytes;
		written++;
	}
	atomic_store_explicit(&slot->count, written, memory_order_release);
}

void blame_leave(struct blame *blame, uint32_t worker)
{
	blame_check_descriptors(blame);
	atomic_store_explicit(&page_slot(blame->page, worker)->count, 0, memory_order_release);
}

void blame_succeeded(struct blame *blame)
{
	atomic_fetch_add_explicit(&blame->page->successes, 1, memory_order_relaxed);
}

bool blame_take_success(struct blame *blame)
{
	uint64_t taken = atomic_load(&blame->taken), successes = atomic_load(&blame->page->successes);
	return successes > taken && atomic_compare_exchange_strong(&blame->taken, &taken, successes);
}

void blame_note_hang(struct blame *blame)
{
	atomic_store(&blame->page->cause, HANG);
}

_Atomic uint32_t *blame_cause(struct blame *blame)
{
	return &blame->page->cause;
}
