#include "core/base/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct metrics_page *metrics_map(int fd, struct error *error)
{
	struct stat status;
	void *page;

	if (fstat(fd, &status) != 0) {
		error_set(error, ERROR_IO, "metrics page: %s", strerror(errno));
		return NULL;
	}
	if (status.st_size < (off_t)sizeof(struct metrics_page)) {
		error_set(error, ERROR_IO, "metrics page: has %lld bytes, needs %zu", (long long)status.st_size,
		          sizeof(struct metrics_page));
		return NULL;
	}
	page = mmap(NULL, sizeof(struct metrics_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		error_set(error, ERROR_IO, "metrics page: %s", strerror(errno));
		return NULL;
	}
	return page;
}

void metrics_unmap(struct metrics_page *page)
{
	if (page)
		munmap(page, sizeof(*page));
}

/* Exact below 2 x METRICS_LATENCY_STEPS, then that many steps to each power of two. */
static size_t bucket_of(int64_t us)
{
	int exponent;
	size_t bucket;

	if (us < 2 * METRICS_LATENCY_STEPS)
		return us < 0 ? 0 : (size_t)us;
	exponent = 63 - __builtin_clzll((unsigned long long)us) - METRICS_LATENCY_STEPS_LOG2;
	bucket = (size_t)exponent * METRICS_LATENCY_STEPS + (size_t)(us >> exponent);
	return bucket < METRICS_LATENCY_BUCKETS ? bucket : METRICS_LATENCY_BUCKETS - 1;
}

int64_t metrics_latency_floor_us(size_t bucket)
{
	size_t exponent;

	if (bucket < 2 * METRICS_LATENCY_STEPS)
		return (int64_t)bucket;
	exponent = bucket / METRICS_LATENCY_STEPS - 1;
	return (int64_t)(bucket - exponent * METRICS_LATENCY_STEPS) << exponent;
}

void metrics_observe_latency(struct metrics_page *page, int64_t us)
{
	atomic_fetch_add_explicit(&page->latency[bucket_of(us)], 1, memory_order_relaxed);
}

int64_t metrics_counts_quantile_us(const int64_t counts[METRICS_LATENCY_BUCKETS], double quantile)
{
	int64_t total = 0, below = 0, floor_us, width_us;
	double rank;
	size_t bucket = 0;

	for (size_t i = 0; i < METRICS_LATENCY_BUCKETS; i++)
		total += counts[i];
	if (total == 0)
		return 0;
	rank = quantile * (double)total;
	while (bucket < METRICS_LATENCY_BUCKETS - 1 && (double)(below + counts[bucket]) < rank)
		below += counts[bucket++];
	floor_us = metrics_latency_floor_us(bucket);
	width_us = metrics_latency_floor_us(bucket + 1) - floor_us;
	if (counts[bucket] == 0)
		return floor_us;
	return floor_us + (int64_t)((double)(width_us - 1) * (rank - (double)below) / (double)counts[bucket]);
}

void metrics_set_ready(struct metrics_page *page, bool ready, const char *reason)
{
	if (!ready)
		snprintf(page->not_ready_reason, sizeof(page->not_ready_reason), "%s", reason);
	atomic_store(&page->ready, ready);
}

void metrics_publish_text(struct metrics_page *page, const char *text, size_t len)
{
	struct metrics_text *plugin = &page->plugin;
	uint32_t version = atomic_load(&plugin->version) + 1;

	if (len > METRICS_TEXT_BYTES) {
		const char *end = memrchr(text, '\n', METRICS_TEXT_BYTES);

		len = end ? (size_t)(end - text) + 1 : 0;
	}
	memcpy(plugin->text[version & 1], text, len);
	atomic_store(&plugin->len[version & 1], (uint32_t)len);
	atomic_store(&plugin->version, version);
}

size_t metrics_read_text(const struct metrics_page *page, char *out)
{
	const struct metrics_text *plugin = &page->plugin;

	/* The copy read is written again only after the other one was: twice within a few microseconds is a child gone
	 * mad. */
	for (int tries = 0; tries < 3; tries++) {
		uint32_t version = atomic_load(&plugin->version), len = atomic_load(&plugin->len[version & 1]);

		if (len > METRICS_TEXT_BYTES)
			break;
		memcpy(out, plugin->text[version & 1], len);
		out[len] = '\0';
		if (atomic_load(&plugin->version) - version <= 1)
			return len;
	}
	out[0] = '\0';
	return 0;
}
