/* The latency of the last minute or two, from a page that only counts up.  Embedded; zeroed is empty. [main] */
#ifndef IDEM_ADMIN_LATENCY_WINDOW_H
#define IDEM_ADMIN_LATENCY_WINDOW_H
#include "core/base/metrics.h"

#define LATENCY_WINDOW_MS 60000

struct latency_window {
	/* Counts as they were, a minute apart. */
	int64_t older[METRICS_LATENCY_BUCKETS], newer[METRICS_LATENCY_BUCKETS];
	int64_t next_ms; /* monotonic: newer becomes older */
};

/* To be called more often than once in a minute. */
void latency_window_tick(struct latency_window *window, const struct metrics_page *page, int64_t now_ms);
/* The latency that 95 % of what was observed since `older` stayed below; 0 when nothing was. */
int64_t latency_window_p95_us(const struct latency_window *window, const struct metrics_page *page);
#endif
