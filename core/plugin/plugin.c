#include "core/plugin/plugin.h"
#include "core/plugin/internal.h"
#include <stdarg.h>
#include <stdlib.h>

const char *plugin_status_name(idem_status status)
{
	static const char *const names[] = {"ok",       "invalid",   "unsupported", "out of memory", "cancelled",
	                                    "database", "not found", "wrong type",  "too big",       "timeout"};

	return status <= 0 && status >= IDEM_E_TIMEOUT ? names[-status] : "unknown";
}

idem_status plugin_refuse(struct plugin *plugin, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(plugin->refusal, sizeof(plugin->refusal), format, arguments);
	va_end(arguments);
	call_breach("plugin %s: %s", plugin->descriptor.name, plugin->refusal);
	return IDEM_E_INVALID;
}

/* ---- life ---- */

static bool callback_failed(const struct plugin *plugin, const char *callback, idem_status status, struct error *error)
{
	return error_set(error, ERROR_PLUGIN, "plugin %s: %s() answered %d (%s)%s%s", plugin->descriptor.name, callback,
	                 status, plugin_status_name(status), plugin->refusal[0] ? "; the host had refused: " : "",
	                 plugin->refusal);
}

bool plugin_create(struct plugin *plugin, struct error *error)
{
	ASSERT(plugin->phase == PLUGIN_OPENED);
	plugin->phase = PLUGIN_CREATING;
	idem_status status = plugin->descriptor.create(&plugin->api, &plugin->self);
	plugin->phase = PLUGIN_CREATED;
	return status == IDEM_OK || callback_failed(plugin, "create", status, error);
}

bool plugin_start(struct plugin *plugin, struct error *error)
{
	idem_status status = plugin->descriptor.start ? plugin->descriptor.start(plugin->self) : IDEM_OK;

	return status == IDEM_OK || callback_failed(plugin, "start", status, error);
}

void plugin_stop(struct plugin *plugin)
{
	if (plugin->descriptor.stop)
		plugin->descriptor.stop(plugin->self);
}

static void free_statements(struct plugin *plugin)
{
	for (uint32_t i = 0; i < plugin->statement_count; i++) {
		free((char *)(uintptr_t)plugin->statements[i]->pg.sql);
		free((Oid *)(uintptr_t)plugin->statements[i]->pg.param_types);
		free(plugin->statements[i]);
	}
}

void plugin_destroy(struct plugin *plugin)
{
	if (!plugin)
		return;
	if (plugin->phase == PLUGIN_CREATED && plugin->self && plugin->descriptor.destroy)
		plugin->descriptor.destroy(plugin->self);
	options_done(&plugin->options);
	free_statements(plugin);
	plugin_free_metrics(plugin);
	free(plugin->pipeline);
	free(plugin);
}

/* ---- looking at it ---- */

const struct idem_plugin *plugin_descriptor(const struct plugin *plugin)
{
	return &plugin->descriptor;
}

void *plugin_self(const struct plugin *plugin)
{
	return plugin->self;
}

bool plugin_is_concurrent(const struct plugin *plugin)
{
	return plugin->descriptor.capabilities & IDEM_CAP_CONCURRENT;
}

bool plugin_is_isolated(const struct plugin *plugin)
{
	return plugin->descriptor.capabilities & IDEM_CAP_ISOLATED;
}

bool plugin_fits(const struct plugin *plugin, const struct config_pipeline *pipeline, struct error *error)
{
	if (pipeline->workers > 1 && !plugin_is_concurrent(plugin))
		return error_set(error, ERROR_PLUGIN, "the plugin does not say it is concurrent: set workers = 1");
	if (plugin_is_isolated(plugin) && pipeline->isolation != CONFIG_ISOLATION_EVENT)
		return error_set(error, ERROR_PLUGIN,
		                 "the plugin needs every event isolated: set isolation = \"event\"");
	return true;
}

bool plugin_has_lock_params(const struct plugin *plugin)
{
	for (uint32_t i = 0; i < plugin->statement_count; i++)
		if (plugin->statements[i]->lock_param > 0)
			return true;
	return false;
}

const struct plugin_statement *plugin_statement(const struct plugin *plugin, uint32_t number)
{
	return number > 0 && number <= plugin->statement_count ? plugin->statements[number - 1] : NULL;
}

uint32_t plugin_statement_number(const struct plugin *plugin, const struct pg_statement *statement)
{
	for (uint32_t i = 0; i < plugin->statement_count; i++)
		if (&plugin->statements[i]->pg == statement)
			return i + 1;
	return 0;
}

/* ---- the event as the handler sees it ---- */

static struct idem_bytes view(struct bytes bytes)
{
	return (struct idem_bytes){bytes.ptr, bytes.len};
}

static const struct idem_header *view_headers(const struct kafka_record *record, struct arena *arena)
{
	struct idem_header *headers = arena_alloc(arena, (record->header_count + 1) * sizeof(*headers));

	for (size_t i = 0; i < record->header_count; i++)
		headers[i] = (struct idem_header){view(record->headers[i].name), view(record->headers[i].value)};
	return headers;
}

void plugin_event_view(const struct plugin *plugin, const struct event *event, struct arena *arena,
                       struct idem_event *out_view)
{
	*out_view = (struct idem_event){
	        .struct_size = sizeof(*out_view),
	        .partition = event->origin_partition,
	        .attempt = event->attempt,
	        .flags = (event->retried ? IDEM_EVENT_RETRIED : 0) | (event->replayed ? IDEM_EVENT_REPLAYED : 0),
	        .id = view(event->has_uuid ? event->id_text : event->business_key),
	        .type = view(event->type),
	        .topic = view(bytes_from_string(event->origin_topic)),
	        .key = view(event->key),
	        .order_key = view(event->order_key),
	        .payload = view(event->payload),
	        .traceparent = view(event->traceparent),
	        .headers = view_headers(&event->record, arena),
	        .header_count = event->record.header_count,
	        .offset = event->origin_offset,
	        .timestamp_ms = event->origin_timestamp_ms,
	        .pipeline = plugin->pipeline,
	};
}
