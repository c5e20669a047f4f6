/* The metrics as Prometheus text: one block per metric, one line per pipeline (and partition) in it. */
#include "core/admin/status.h"

static void print_label_value(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text == '\n' ? ' ' : *text, out);
	}
}

static void print_head(const char *name, const char *type, const char *help, FILE *out)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* name{pipeline="…" and nothing behind it yet. */
static void print_series(const char *name, const struct admin_pipeline *pipeline, FILE *out)
{
	fprintf(out, "%s{pipeline=\"", name);
	print_label_value(pipeline->name, out);
	putc('"', out);
}

static void print_table(const struct admin_status *status, FILE *out)
{
	static const struct {
		const char *name, *type, *help;
	} rows[METRIC_COUNT] = {
#define NAME_COUNTER "_total", "counter"
#define NAME_GAUGE "", "gauge"
#define METRIC(name, kind, help) [METRIC_##name] = {"idem_" #name NAME_##kind, help},
#include "core/base/metrics.def"
#undef METRIC
	};

	for (size_t id = 0; id < METRIC_COUNT; id++) {
		print_head(rows[id].name, rows[id].type, rows[id].help, out);
		for (size_t i = 0; i < status->count; i++) {
			print_series(rows[id].name, &status->pipelines[i], out);
			fprintf(out, "} %lld\n", (long long)metrics_get(status->pipelines[i].page, (enum metric_id)id));
		}
	}
}

static void print_partition_lag(const struct admin_status *status, FILE *out)
{
	char topic[ADMIN_TOPIC_BYTES];

	print_head("idem_partition_lag", "gauge", "records behind the last stable offset, of each assigned partition",
	           out);
	for (size_t i = 0; i < status->count; i++)
		for (size_t p = 0; p < METRICS_PARTITIONS; p++) {
			const struct metrics_lag *row = &status->pipelines[i].page->lag[p];

			if (!atomic_load(&row->used))
				continue;
			admin_lag_topic(row, topic, sizeof(topic));
			print_series("idem_partition_lag", &status->pipelines[i], out);
			fputs(",topic=\"", out);
			print_label_value(topic, out);
			fprintf(out, "\",partition=\"%d\"} %lld\n", (int)row->partition,
			        (long long)atomic_load(&row->lag));
		}
}

struct latency_sum {
	size_t bucket; /* the next one to count */
	int64_t count;
	double seconds;
};

static void count_latency_below(const struct metrics_page *page, int64_t bound_us, struct latency_sum *sum)
{
	for (; sum->bucket < METRICS_LATENCY_BUCKETS; sum->bucket++) {
		int64_t floor_us = metrics_latency_floor_us(sum->bucket);
		int64_t count = atomic_load_explicit(&page->latency[sum->bucket], memory_order_relaxed);

		if (floor_us >= bound_us)
			return;
		sum->count += count;
		sum->seconds += (double)count * (double)floor_us / 1e6;
	}
}

/* The page counts in fine steps; Prometheus gets the powers of two between a quarter of a millisecond and a minute,
 * which are bounds of the fine steps too, so that no count is an estimate (the sum is one, 6 % low at most). */
static void print_histogram(const struct admin_pipeline *pipeline, FILE *out)
{
	struct latency_sum sum = {0};

	for (int power = 8; power <= 26; power++) {
		int64_t bound_us = (int64_t)1 << power;

		count_latency_below(pipeline->page, bound_us, &sum);
		print_series("idem_processing_latency_seconds_bucket", pipeline, out);
		fprintf(out, ",le=\"%g\"} %lld\n", (double)bound_us / 1e6, (long long)sum.count);
	}
	count_latency_below(pipeline->page, INT64_MAX, &sum);
	print_series("idem_processing_latency_seconds_bucket", pipeline, out);
	fprintf(out, ",le=\"+Inf\"} %lld\n", (long long)sum.count);
	print_series("idem_processing_latency_seconds_sum", pipeline, out);
	fprintf(out, "} %.6f\n", sum.seconds);
	print_series("idem_processing_latency_seconds_count", pipeline, out);
	fprintf(out, "} %lld\n", (long long)sum.count);
}

static void print_latency(const struct admin_status *status, FILE *out)
{
	print_head("idem_processing_latency_p95_seconds", "gauge",
	           "processing_latency_p95: from fetch to commit, of the events of the last minute or two", out);
	for (size_t i = 0; i < status->count; i++) {
		print_series("idem_processing_latency_p95_seconds", &status->pipelines[i], out);
		fprintf(out, "} %.6f\n", (double)status->pipelines[i].latency_p95_us / 1e6);
	}
	print_head("idem_processing_latency_seconds", "histogram", "time from fetch to commit of an event", out);
	for (size_t i = 0; i < status->count; i++)
		print_histogram(&status->pipelines[i], out);
}

static void print_children(const struct admin_status *status, FILE *out)
{
	char why[256];

	print_head("idem_pipeline_up", "gauge", "1 while the pipeline's process runs", out);
	for (size_t i = 0; i < status->count; i++) {
		print_series("idem_pipeline_up", &status->pipelines[i], out);
		fprintf(out, "} %d\n", status->pipelines[i].running);
	}
	print_head("idem_pipeline_ready", "gauge", "1 while the pipeline consumes or is honestly idle", out);
	for (size_t i = 0; i < status->count; i++) {
		print_series("idem_pipeline_ready", &status->pipelines[i], out);
		fprintf(out, "} %d\n", admin_pipeline_is_ready(&status->pipelines[i], why, sizeof(why)));
	}
	print_head("idem_child_restarts_total", "counter",
	           "times the pipeline's process was started again after a death", out);
	for (size_t i = 0; i < status->count; i++) {
		print_series("idem_child_restarts_total", &status->pipelines[i], out);
		fprintf(out, "} %lld\n", (long long)status->pipelines[i].restarts);
	}
}

void admin_print_metrics(const struct admin_status *status, FILE *out)
{
	print_head("idem_build_info", "gauge", "the version in its label", out);
	fprintf(out, "idem_build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
	print_head("idem_reloads_total", "counter", "configurations taken over on SIGHUP", out);
	fprintf(out, "idem_reloads_total %lld\n", (long long)status->reloads);
	print_head("idem_reload_failures_total", "counter", "configurations refused on SIGHUP; the old one went on",
	           out);
	fprintf(out, "idem_reload_failures_total %lld\n", (long long)status->reload_failures);
	print_children(status, out);
	print_table(status, out);
	print_partition_lag(status, out);
	print_latency(status, out);
	admin_print_plugin_metrics(status, out);
}
