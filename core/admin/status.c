#include "core/admin/status.h"
#include "core/base/escape.h"
#include <string.h>

/* A plugin can scribble over the page: the text may lack its NUL and hold anything. */
static void copy_untrusted(const char *text, size_t text_size, char *out, size_t size)
{
	size_t len = strnlen(text, text_size);

	if (len >= size)
		len = size - 1;
	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
	out[len] = '\0';
}

void admin_lag_topic(const struct metrics_lag *row, char *out, size_t size)
{
	copy_untrusted(row->topic, sizeof(row->topic), out, size);
}

bool admin_pipeline_is_ready(const struct admin_pipeline *pipeline, char *out_why, size_t size)
{
	const struct metrics_page *page = pipeline->page;

	out_why[0] = '\0';
	if (!pipeline->running) {
		snprintf(out_why, size, "%s%s%s", pipeline->state, *pipeline->reason ? ": " : "", pipeline->reason);
		return false;
	}
	if (atomic_load(&page->ready) == 1)
		return true;
	copy_untrusted(page->not_ready_reason, sizeof(page->not_ready_reason), out_why, size);
	if (!*out_why)
		snprintf(out_why, size, "starting");
	return false;
}

bool admin_print_ready(const struct admin_status *status, FILE *out)
{
	bool all = !status->draining;
	char why[256];

	if (status->draining)
		fputs("host: draining\n", out);
	for (size_t i = 0; i < status->count; i++) {
		const struct admin_pipeline *pipeline = &status->pipelines[i];
		bool ready = admin_pipeline_is_ready(pipeline, why, sizeof(why));

		all = all && ready;
		fprintf(out, "%s: %s%s\n", pipeline->name, ready ? "ready" : "not ready: ", why);
	}
	return all;
}

static void print_status_counters(const struct metrics_page *page, FILE *out)
{
	static const struct {
		const char *name;
		enum metric_id id;
	} counters[] = {
	        {"consumed", METRIC_records_consumed},
	        {"processed", METRIC_events_processed},
	        {"duplicates", METRIC_events_duplicate},
	        {"ignored", METRIC_events_ignored},
	        {"retried", METRIC_events_retried},
	        {"parked", METRIC_events_parked},
	        {"dead", METRIC_events_dead},
	};

	fputs("\"counters\":{", out);
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		fprintf(out, "%s\"%s\":%lld", i ? "," : "", counters[i].name,
		        (long long)metrics_get(page, counters[i].id));
	putc('}', out);
}

static void print_status_partitions(const struct metrics_page *page, FILE *out)
{
	bool first = true;
	char topic[ADMIN_TOPIC_BYTES];

	fputs("\"partitions\":[", out);
	for (size_t i = 0; i < METRICS_PARTITIONS; i++) {
		const struct metrics_lag *row = &page->lag[i];

		if (!atomic_load(&row->used))
			continue;
		admin_lag_topic(row, topic, sizeof(topic));
		fprintf(out, "%s{\"topic\":", first ? "" : ",");
		escape_json(bytes_from_string(topic), out);
		fprintf(out, ",\"partition\":%d,\"lag\":%lld}", (int)row->partition, (long long)atomic_load(&row->lag));
		first = false;
	}
	putc(']', out);
}

static void print_status_pipeline(const struct admin_pipeline *pipeline, FILE *out)
{
	char why[256];
	bool ready = admin_pipeline_is_ready(pipeline, why, sizeof(why));

	fputs("{\"name\":", out);
	escape_json(bytes_from_string(pipeline->name), out);
	fputs(",\"plugin\":{\"name\":", out);
	escape_json(bytes_from_string(pipeline->plugin_name), out);
	fputs(",\"version\":", out);
	escape_json(bytes_from_string(pipeline->plugin_version), out);
	fputs("},\"state\":", out);
	escape_json(bytes_from_string(pipeline->state), out);
	fprintf(out, ",\"ready\":%s,\"reason\":", ready ? "true" : "false");
	escape_json(bytes_from_string(why), out);
	fprintf(out, ",\"pid\":%lld,\"restarts\":%lld,\"uptime_ms\":%lld,\"lag\":%lld,\"latency_p95_us\":%lld,",
	        (long long)pipeline->pid, (long long)pipeline->restarts, (long long)pipeline->uptime_ms,
	        (long long)metrics_get(pipeline->page, METRIC_consumer_lag), (long long)pipeline->latency_p95_us);
	print_status_counters(pipeline->page, out);
	putc(',', out);
	print_status_partitions(pipeline->page, out);
	putc('}', out);
}

void admin_print_status(const struct admin_status *status, FILE *out)
{
	fprintf(out, "{\"version\":\"%s\",\"draining\":%s,\"reloads\":%lld,\"reload_failures\":%lld,\"pipelines\":[",
	        PACKAGE_VERSION, status->draining ? "true" : "false", (long long)status->reloads,
	        (long long)status->reload_failures);
	for (size_t i = 0; i < status->count; i++) {
		if (i)
			putc(',', out);
		print_status_pipeline(&status->pipelines[i], out);
	}
	fputs("]}\n", out);
}
