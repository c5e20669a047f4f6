/* Metrics of a plugin's own.  Registered in create(), so the table is constant while workers record. */
#include "core/plugin/internal.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static const double bounds[PLUGIN_HISTOGRAM_BUCKETS - 1] = {0.001, 0.005, 0.01, 0.05, 0.1,  0.5,  1,    5,
                                                            10,    50,    100,  500,  1000, 5000, 10000};

static bool is_metric_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length < 64 && name[0] >= 'a' && name[0] <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static idem_status add_metric(struct idem_host *host, enum plugin_metric_kind kind, const char *name, const char *help,
                              uint32_t *out_id)
{
	struct plugin *plugin = host->plugin;

	if (plugin->phase != PLUGIN_CREATING)
		return plugin_refuse(plugin, "metrics are registered in create() only");
	if (!name || !is_metric_name(name))
		return plugin_refuse(plugin, "\"%s\" is not a name for a metric: [a-z][a-z0-9_]*", name ? name : "");
	for (uint32_t i = 0; i < plugin->metric_count; i++)
		if (strcmp(plugin->metrics[i]->name, name) == 0)
			return plugin_refuse(plugin, "two metrics are called \"%s\"", name);
	if (plugin->metric_count == PLUGIN_MAX_METRICS) {
		(void)plugin_refuse(plugin, "more than %d metrics", PLUGIN_MAX_METRICS);
		return IDEM_E_TOO_BIG;
	}
	struct plugin_metric *metric = calloc(1, sizeof(*metric));
	ASSERT(metric);
	metric->kind = kind;
	metric->name = strdup(name);
	metric->help = strdup(help ? help : "");
	ASSERT(metric->name && metric->help);
	plugin->metrics[plugin->metric_count++] = metric;
	*out_id = plugin->metric_count;
	return IDEM_OK;
}

static idem_status add_counter(struct idem_host *host, const char *name, const char *help, uint32_t *out_id)
{
	return add_metric(host, PLUGIN_COUNTER, name, help, out_id);
}

static idem_status add_gauge(struct idem_host *host, const char *name, const char *help, uint32_t *out_id)
{
	return add_metric(host, PLUGIN_GAUGE, name, help, out_id);
}

static idem_status add_histogram(struct idem_host *host, const char *name, const char *help, uint32_t *out_id)
{
	return add_metric(host, PLUGIN_HISTOGRAM, name, help, out_id);
}

static struct plugin_metric *find_metric(struct plugin *plugin, uint32_t id, enum plugin_metric_kind kind)
{
	struct plugin_metric *metric = id > 0 && id <= plugin->metric_count ? plugin->metrics[id - 1] : NULL;

	if (metric && metric->kind == kind)
		return metric;
	call_breach("metric %u is not registered, or is of another kind", id);
	return NULL;
}

static void add_double(_Atomic double *sum, double value)
{
	double old = *sum;

	while (!atomic_compare_exchange_weak(sum, &old, old + value))
		;
}

static void observe_now(struct plugin_metric *metric, double value)
{
	size_t i = 0;

	while (i < PLUGIN_HISTOGRAM_BUCKETS - 1 && value > bounds[i])
		i++;
	metric->buckets[i]++;
	metric->count++;
	add_double(&metric->value, value);
}

void plugin_record(struct plugin *plugin, uint32_t id, bool is_counter, double value)
{
	struct plugin_metric *metric = find_metric(plugin, id, is_counter ? PLUGIN_COUNTER : PLUGIN_HISTOGRAM);

	if (!metric)
		return;
	if (is_counter)
		metric->count += (uint64_t)value;
	else
		observe_now(metric, value);
}

/* At once, or kept in the call until it commits. */
static void record(struct idem_host *host, struct idem_call *handle, struct recorded_metric metric)
{
	if (!handle) {
		plugin_record(host->plugin, metric.id, metric.is_counter, metric.value);
		return;
	}
	struct idem_call *call = call_of_handle(handle);
	if (!call || !find_metric(host->plugin, metric.id, metric.is_counter ? PLUGIN_COUNTER : PLUGIN_HISTOGRAM))
		return;
	struct recorded_metric *kept = arena_alloc(call->arena, sizeof(*kept));
	metric.next = call->metrics;
	*kept = metric;
	call->metrics = kept;
}

static void add(struct idem_host *host, struct idem_call *call, uint32_t id, uint64_t n)
{
	record(host, call, (struct recorded_metric){.id = id, .value = (double)n, .is_counter = true});
}

static void observe(struct idem_host *host, struct idem_call *call, uint32_t id, double value)
{
	record(host, call, (struct recorded_metric){.id = id, .value = value});
}

static void set(struct idem_host *host, uint32_t id, double value)
{
	struct plugin_metric *metric = find_metric(host->plugin, id, PLUGIN_GAUGE);

	if (metric)
		metric->value = value;
}

const struct idem_metrics_api plugin_metrics_api = {
        .struct_size = sizeof(plugin_metrics_api),
        .counter = add_counter,
        .histogram = add_histogram,
        .add = add,
        .gauge = add_gauge,
        .observe = observe,
        .set = set,
};

/* ---- printing ---- */

static void print_histogram(const struct plugin *plugin, const struct plugin_metric *metric, FILE *out)
{
	uint64_t below = 0;

	for (size_t i = 0; i < PLUGIN_HISTOGRAM_BUCKETS - 1; i++) {
		below += metric->buckets[i];
		fprintf(out, "idem_plugin_%s_bucket{pipeline=\"%s\",le=\"%g\"} %llu\n", metric->name, plugin->pipeline,
		        bounds[i], (unsigned long long)below);
	}
	below += metric->buckets[PLUGIN_HISTOGRAM_BUCKETS - 1];
	fprintf(out, "idem_plugin_%s_bucket{pipeline=\"%s\",le=\"+Inf\"} %llu\n", metric->name, plugin->pipeline,
	        (unsigned long long)below);
	fprintf(out, "idem_plugin_%s_sum{pipeline=\"%s\"} %.17g\n", metric->name, plugin->pipeline, metric->value);
	fprintf(out, "idem_plugin_%s_count{pipeline=\"%s\"} %llu\n", metric->name, plugin->pipeline,
	        (unsigned long long)below);
}

static void print_help(const struct plugin_metric *metric, const char *suffix, const char *type, FILE *out)
{
	fprintf(out, "# HELP idem_plugin_%s%s ", metric->name, suffix);
	for (const char *at = metric->help; *at; at++)
		fputs(*at == '\n' ? "\\n" : *at == '\\' ? "\\\\" : (char[]){*at, '\0'}, out);
	fprintf(out, "\n# TYPE idem_plugin_%s%s %s\n", metric->name, suffix, type);
}

static void print_metric(const struct plugin *plugin, const struct plugin_metric *metric, FILE *out)
{
	switch (metric->kind) {
	case PLUGIN_COUNTER:
		print_help(metric, "_total", "counter", out);
		fprintf(out, "idem_plugin_%s_total{pipeline=\"%s\"} %llu\n", metric->name, plugin->pipeline,
		        (unsigned long long)metric->count);
		break;
	case PLUGIN_GAUGE:
		print_help(metric, "", "gauge", out);
		fprintf(out, "idem_plugin_%s{pipeline=\"%s\"} %.17g\n", metric->name, plugin->pipeline, metric->value);
		break;
	case PLUGIN_HISTOGRAM:
		print_help(metric, "", "histogram", out);
		print_histogram(plugin, metric, out);
		break;
	}
}

void plugin_print_metrics(const struct plugin *plugin, FILE *out)
{
	/* A plugin that called setlocale() must not put commas into our numbers. */
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	ASSERT(plain);
	locale_t old = uselocale(plain);

	for (uint32_t i = 0; i < plugin->metric_count; i++)
		print_metric(plugin, plugin->metrics[i], out);
	uselocale(old);
	freelocale(plain);
}

void plugin_free_metrics(struct plugin *plugin)
{
	for (uint32_t i = 0; i < plugin->metric_count; i++) {
		free(plugin->metrics[i]->name);
		free(plugin->metrics[i]->help);
		free(plugin->metrics[i]);
	}
}
