/* What the files of this room share and nobody else sees. */
#ifndef IDEM_PLUGIN_INTERNAL_H
#define IDEM_PLUGIN_INTERNAL_H
#include "core/base/assert.h"
#include "core/plugin/options.h"
#include "core/plugin/plugin.h"
#include <stdatomic.h>

#define PLUGIN_MAX_METRICS 64
#define PLUGIN_HISTOGRAM_BUCKETS 16 /* the last one is +Inf */

enum plugin_metric_kind { PLUGIN_COUNTER, PLUGIN_GAUGE, PLUGIN_HISTOGRAM };

struct plugin_metric { /* registered in create(), then only its atomics change */
	enum plugin_metric_kind kind;
	char *name, *help;
	_Atomic uint64_t count; /* counter; histogram: observations */
	_Atomic double value;   /* gauge; histogram: sum */
	_Atomic uint64_t buckets[PLUGIN_HISTOGRAM_BUCKETS];
};

struct idem_host { /* what plugins hold */
	struct plugin *plugin;
};

enum plugin_phase {
	PLUGIN_OPENED,
	PLUGIN_CREATING, /* statements and metrics may be registered */
	PLUGIN_CREATED
};

struct plugin {
	struct idem_host host;
	struct idem_host_api api;
	struct idem_plugin descriptor; /* copied in, zero behind what the plugin knows; its strings are the library's */
	void *self;
	char *pipeline;
	enum plugin_phase phase;
	char refusal[400]; /* why the host refused something in create() */
	struct options options;
	struct plugin_statement *statements[PLUGIN_MAX_STATEMENTS];
	uint32_t statement_count;
	struct plugin_metric *metrics[PLUGIN_MAX_METRICS];
	uint32_t metric_count;
};

/* The tables. */
extern const struct idem_log_api plugin_log_api;
extern const struct idem_options_api plugin_options_api;
extern const struct idem_metrics_api plugin_metrics_api;
extern const struct idem_json_api plugin_json_api;
extern const struct idem_tx_api plugin_tx_api;
extern const struct idem_call_api plugin_call_api;

/* Applies one recorded or immediate metric; unknown ids and wrong kinds are breaches.  [any thread] */
void plugin_record(struct plugin *plugin, uint32_t id, bool is_counter, double value);
void plugin_free_metrics(struct plugin *plugin);
/* Remembers why (for the message of plugin_create) and answers IDEM_E_INVALID.  [main] */
idem_status plugin_refuse(struct plugin *plugin, const char *format, ...) PRINTF_LIKE(2, 3);
/* Everything of section "the plugin" of plugin.h; metadata: what the file's section says. */
bool descriptor_check(const struct idem_plugin *descriptor, const struct plugin_metadata *metadata,
                      struct error *error) MUST_CHECK;
const char *plugin_status_name(idem_status status);
#endif
