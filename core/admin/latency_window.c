#include "core/admin/latency_window.h"
#include <string.h>

void latency_window_tick(struct latency_window *window, const struct metrics_page *page, int64_t now_ms)
{
	if (now_ms < window->next_ms)
		return;
	memcpy(window->older, window->newer, sizeof(window->older));
	for (size_t i = 0; i < METRICS_LATENCY_BUCKETS; i++)
		window->newer[i] = atomic_load_explicit(&page->latency[i], memory_order_relaxed);
	window->next_ms = now_ms + LATENCY_WINDOW_MS;
}

int64_t latency_window_p95_us(const struct latency_window *window, const struct metrics_page *page)
{
	int64_t counts[METRICS_LATENCY_BUCKETS];

	for (size_t i = 0; i < METRICS_LATENCY_BUCKETS; i++) {
		counts[i] = atomic_load_explicit(&page->latency[i], memory_order_relaxed) - window->older[i];
		if (counts[i] < 0) /* a plugin scribbled over the page */
			counts[i] = 0;
	}
	return metrics_counts_quantile_us(counts, 0.95);
}
