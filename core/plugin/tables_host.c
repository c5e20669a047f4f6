/* What a plugin asks of its host outside any transaction: log lines and options. */
#include "core/base/log.h"
#include "core/plugin/internal.h"
#include <stdio.h>

#define MAX_LINE_BYTES 1500

static void log_line(struct idem_host *host, struct idem_call *handle, int32_t level, struct idem_bytes text)
{
	const struct idem_call *call = handle ? call_of_handle(handle) : NULL;
	const char *name = host->plugin->descriptor.name;
	enum log_level clamped = level < LOG_LEVEL_ERROR   ? LOG_LEVEL_ERROR
	                         : level > LOG_LEVEL_DEBUG ? LOG_LEVEL_DEBUG
	                                                   : (enum log_level)level;
	int len = text.len < MAX_LINE_BYTES ? (int)text.len : MAX_LINE_BYTES;

	if (!call || !call->event) {
		log_plugin(name, clamped, text.ptr, (size_t)len);
		return;
	}
	char line[MAX_LINE_BYTES + 256];
	int length = snprintf(line, sizeof(line), "id=%.*s %.*s", BYTES_ARG(call->event->id_text), len,
	                      text.ptr ? text.ptr : "");
	log_plugin(name, clamped, line, (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

const struct idem_log_api plugin_log_api = {.struct_size = sizeof(plugin_log_api), .write = log_line};

static idem_status find(const struct idem_host *host, const char *name, const struct option **out_option)
{
	const struct option *option = name ? options_find(&host->plugin->options, name) : NULL;

	if (!option)
		return IDEM_E_INVALID;
	if (!option->is_set)
		return IDEM_E_NOT_FOUND;
	*out_option = option;
	return IDEM_OK;
}

static idem_status option_text(struct idem_host *host, const char *name, struct idem_bytes *out)
{
	const struct option *option;
	idem_status status = find(host, name, &option);

	if (status != IDEM_OK)
		return status;
	if (option->type == OPTION_LIST)
		return IDEM_E_TYPE;
	*out = (struct idem_bytes){option->text, strlen(option->text)};
	return IDEM_OK;
}

static idem_status option_integer(struct idem_host *host, const char *name, int64_t *out)
{
	const struct option *option;
	idem_status status = find(host, name, &option);

	if (status != IDEM_OK)
		return status;
	if (option->type != OPTION_INT && option->type != OPTION_BOOL && option->type != OPTION_DURATION &&
	    option->type != OPTION_SIZE)
		return IDEM_E_TYPE;
	*out = option->integer;
	return IDEM_OK;
}

static idem_status option_real(struct idem_host *host, const char *name, double *out)
{
	const struct option *option;
	idem_status status = find(host, name, &option);

	if (status != IDEM_OK)
		return status;
	if (option->type != OPTION_REAL && option->type != OPTION_INT)
		return IDEM_E_TYPE;
	*out = option->type == OPTION_REAL ? option->real : (double)option->integer;
	return IDEM_OK;
}

static idem_status option_list(struct idem_host *host, const char *name, size_t i, struct idem_bytes *out)
{
	const struct option *option;
	idem_status status = find(host, name, &option);

	if (status != IDEM_OK)
		return status;
	if (option->type != OPTION_LIST)
		return IDEM_E_TYPE;
	if (i >= option->item_count)
		return IDEM_E_NOT_FOUND;
	*out = (struct idem_bytes){option->items[i], strlen(option->items[i])};
	return IDEM_OK;
}

const struct idem_options_api plugin_options_api = {
        .struct_size = sizeof(plugin_options_api),
        .text = option_text,
        .integer = option_integer,
        .real = option_real,
        .list = option_list,
};
