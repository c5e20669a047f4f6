/* Counters and gauges of one child: a page of atomics in a file mapped by the child and by the supervisor, which prints
 * them as Prometheus text.  One row of metrics.def each.  Writing is [any thread], relaxed atomics. */
#ifndef IDEM_BASE_METRICS_H
#define IDEM_BASE_METRICS_H
#include "core/base/error.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum metric_id {
#define METRIC(name, kind, help) METRIC_##name,
#include "core/base/metrics.def"
#undef METRIC
	METRIC_COUNT
};

/* Latency buckets: each microsecond below 32, then 16 steps to each power of two, up to 19 hours: a quantile is off by
 * 6 % at most. */
#define METRICS_LATENCY_STEPS_LOG2 4
#define METRICS_LATENCY_STEPS (1 << METRICS_LATENCY_STEPS_LOG2)
#define METRICS_LATENCY_BUCKETS 528
#define METRICS_PARTITIONS 1024 /* lag rows; partitions beyond that show none */

struct metrics_lag { /* one assigned partition; used 0: empty row */
	_Atomic uint32_t used;
	int32_t partition;
	char topic[250];
	_Atomic int64_t lag;
};

#define METRICS_TEXT_BYTES 131072

/* The plugin's own metrics, as Prometheus text, printed by the child about once a second.  Two copies: one is read
 * while the other is written. */
struct metrics_text {
	_Atomic uint32_t version; /* its lowest bit says which copy counts */
	_Atomic uint32_t len[2];
	char text[2][METRICS_TEXT_BYTES];
};

struct metrics_page { /* mapped; both sides are the same build */
	_Atomic int64_t value[METRIC_COUNT];
	_Atomic int64_t latency[METRICS_LATENCY_BUCKETS];
	struct metrics_lag lag[METRICS_PARTITIONS];
	_Atomic int32_t ready;      /* 1: consuming or honestly idle */
	char not_ready_reason[128]; /* written before ready is cleared */
	struct metrics_text plugin;
};

/* Map fd (a memfd or file of the page's size); the descriptor may be closed after.  NULL and *error on failure. */
struct metrics_page *metrics_map(int fd, struct error *error);
void metrics_unmap(struct metrics_page *page);

static inline void metrics_add(struct metrics_page *page, enum metric_id id, int64_t n)
{
	atomic_fetch_add_explicit(&page->value[id], n, memory_order_relaxed);
}
static inline void metrics_set(struct metrics_page *page, enum metric_id id, int64_t n)
{
	atomic_store_explicit(&page->value[id], n, memory_order_relaxed);
}
static inline int64_t metrics_get(const struct metrics_page *page, enum metric_id id)
{
	return atomic_load_explicit(&page->value[id], memory_order_relaxed);
}
/* Readiness, and for people why it is not there (shown only while not ready). */
void metrics_set_ready(struct metrics_page *page, bool ready, const char *reason);
/* Lines that do not fit any more are left out.  One thread of the child. */
void metrics_publish_text(struct metrics_page *page, const char *text, size_t len);
/* A whole copy, NUL-terminated, into out (METRICS_TEXT_BYTES + 1 bytes); its length. */
size_t metrics_read_text(const struct metrics_page *page, char *out);
void metrics_observe_latency(struct metrics_page *page, int64_t us);
/* The latency that the part `quantile` (0.95: 95 %) of what was counted stayed below; 0 when nothing was. */
int64_t metrics_counts_quantile_us(const int64_t counts[METRICS_LATENCY_BUCKETS], double quantile);
/* The smallest latency counted in latency[bucket]; that of bucket + 1 is the bucket's end. */
int64_t metrics_latency_floor_us(size_t bucket);
#endif
