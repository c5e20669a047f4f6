/* idem/sugar.h - <idem/plugin.h> with less typing.  Header only, versioned like source: nothing here is part of the
 * ABI, and a plugin that includes it still links against nothing.  The functions take the host's tables first, then
 * the call.
 *
 * Example: the plugin of plugin.h again
 *	#include <idem/sugar.h>
 *
 *	struct counter {
 *		const struct idem_host_api *api;
 *		uint32_t count;
 *	};
 *
 *	static idem_status create(const struct idem_host_api *api, void **out_self)
 *	{
 *		struct counter *self = *out_self = calloc(1, sizeof(*self));
 *
 *		if (!self)
 *			return IDEM_E_NOMEM;
 *		self->api = api;
 *		return idem_declare(api, "UPDATE page SET views = views + 1 WHERE path = $1", 1, 1, &self->count);
 *	}
 *
 *	static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
 *	{
 *		const struct counter *self = opaque;
 *		struct idem_bytes path;
 *
 *		(void)event;
 *		if (idem_json_text(self->api, call, "/path", &path) != IDEM_OK)
 *			return idem_reject(self->api, call, "no path");
 *		struct idem_param parameter = idem_param_text(path);
 *		return idem_verdict_of(self->api, call,
 *			idem_queue_expect(self->api, call, self->count, &parameter, 1, 1, "no such page"));
 *	}
 *
 *	static const char *const types[] = { "page.viewed.v1", NULL };
 *	IDEM_PLUGIN_DEFINE("counter", "1.0.0", "example", "1", .event_types = types,
 *		.capabilities = IDEM_CAP_CONCURRENT, .create = create, .handle = handle, .destroy = free);
 */
#ifndef IDEM_SUGAR_H
#define IDEM_SUGAR_H
#include <idem/plugin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the description ---- */

/* Metadata, description and entry in one, so that they can't disagree.  Behind build_id: designated initialisers of
 * struct idem_plugin (C, or C++20). */
#define IDEM_PLUGIN_DEFINE(plugin_name, plugin_version, plugin_vendor, plugin_build_id, ...)                           \
	IDEM_PLUGIN_METADATA(plugin_name, plugin_version, plugin_vendor, plugin_build_id);                             \
	const struct idem_plugin *idem_plugin_v1(void)                                                                 \
	{                                                                                                              \
		static const struct idem_plugin plugin = {.struct_size = sizeof(struct idem_plugin),                   \
		                                          .abi_major = IDEM_ABI_MAJOR,                                 \
		                                          .abi_minor = IDEM_ABI_MINOR,                                 \
		                                          .min_host_minor = IDEM_MIN_HOST_MINOR,                       \
		                                          .name = plugin_name,                                         \
		                                          .version = plugin_version,                                   \
		                                          .vendor = plugin_vendor,                                     \
		                                          .build_id = plugin_build_id,                                 \
		                                          __VA_ARGS__};                                                \
		return &plugin;                                                                                        \
	}                                                                                                              \
	struct idem_plugin /* eats the semicolon */

/* ---- bytes ---- */

static inline struct idem_bytes idem_bytes_of(const char *text)
{
	struct idem_bytes bytes = {text, text ? strlen(text) : 0};

	return bytes;
}

/* Null equals only null. */
static inline int idem_equal(struct idem_bytes a, struct idem_bytes b)
{
	if (!a.ptr || !b.ptr)
		return !a.ptr && !b.ptr;
	return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static inline int idem_equal_string(struct idem_bytes a, const char *text)
{
	return idem_equal(a, idem_bytes_of(text));
}

/* A decimal integer and nothing else: INVALID otherwise, TOO_BIG beyond 64 bits. */
static inline idem_status idem_parse_int64(struct idem_bytes text, int64_t *out)
{
	size_t i = text.len > 0 && text.ptr[0] == '-';
	int64_t value = 0;

	if (!text.ptr || i == text.len)
		return IDEM_E_INVALID;
	for (size_t digits = i; digits < text.len; digits++) {
		if (text.ptr[digits] < '0' || text.ptr[digits] > '9')
			return IDEM_E_INVALID;
		/* counted downwards: the lowest number has no positive twin */
		if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_sub_overflow(value, (int64_t)(text.ptr[digits] - '0'), &value))
			return IDEM_E_TOO_BIG;
	}
	if (i == 0 && __builtin_sub_overflow((int64_t)0, value, &value))
		return IDEM_E_TOO_BIG;
	*out = value;
	return IDEM_OK;
}

/* Decimal digits of a number; the caller's storage. */
struct idem_digits {
	char text[24];
};

static inline struct idem_bytes idem_print_int64(int64_t value, struct idem_digits *storage)
{
	char *end = storage->text + sizeof(storage->text), *at = end;
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	struct idem_bytes text;

	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0)
		*--at = '-';
	text.ptr = at;
	text.len = (size_t)(end - at);
	return text;
}

/* ---- log, reasons, verdicts ---- */

__attribute__((format(printf, 4, 5))) static inline void idem_log(const struct idem_host_api *api,
                                                                  struct idem_call *call, int32_t level,
                                                                  const char *format, ...)
{
	char line[1024];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	struct idem_bytes text = {line, length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1};
	if (length >= 0)
		api->log->write(api->host, call, level, text);
}

/* REJECT and RETRY with the reason people will read. */
static inline idem_verdict idem_reject(const struct idem_host_api *api, struct idem_call *call, const char *why)
{
	api->call->reason(call, idem_bytes_of(why));
	return IDEM_REJECT;
}

static inline idem_verdict idem_retry(const struct idem_host_api *api, struct idem_call *call, const char *why)
{
	api->call->reason(call, idem_bytes_of(why));
	return IDEM_RETRY;
}

/* The verdict for what a function of the host answered: DONE for OK; RETRY for what may pass by itself; else REJECT. */
static inline idem_verdict idem_verdict_of(const struct idem_host_api *api, struct idem_call *call, idem_status status)
{
	switch (status) {
	case IDEM_OK:
		return IDEM_DONE;
	case IDEM_E_CANCELLED:
	case IDEM_E_TIMEOUT:
	case IDEM_E_NOMEM:
		return IDEM_RETRY;
	case IDEM_E_DB:
		return api->tx->error(call)->retriable ? IDEM_RETRY : IDEM_REJECT;
	default:
		return IDEM_REJECT;
	}
}

/* ---- payload ---- */

/* A whole number, exact. */
static inline idem_status idem_json_int64(const struct idem_host_api *api, struct idem_call *call, const char *pointer,
                                          int64_t *out)
{
	struct idem_value value;
	idem_status status = api->json->get(call, pointer, &value);

	if (status != IDEM_OK)
		return status;
	if (value.type != IDEM_INTEGER)
		return IDEM_E_TYPE;
	*out = value.integer;
	return IDEM_OK;
}

static inline idem_status idem_json_text(const struct idem_host_api *api, struct idem_call *call, const char *pointer,
                                         struct idem_bytes *out)
{
	struct idem_value value;
	idem_status status = api->json->get(call, pointer, &value);

	if (status != IDEM_OK)
		return status;
	if (value.type != IDEM_STRING)
		return IDEM_E_TYPE;
	*out = value.text;
	return IDEM_OK;
}

/* The digits of a number as written, for a numeric parameter: no rounding on the way. */
static inline idem_status idem_json_digits(const struct idem_host_api *api, struct idem_call *call, const char *pointer,
                                           struct idem_bytes *out)
{
	struct idem_value value;
	idem_status status = api->json->get(call, pointer, &value);

	if (status != IDEM_OK)
		return status;
	if (value.type != IDEM_INTEGER && value.type != IDEM_REAL)
		return IDEM_E_TYPE;
	*out = value.text;
	return IDEM_OK;
}

/* ---- options ---- */

/* Null when unset. */
static inline struct idem_bytes idem_option_text(const struct idem_host_api *api, const char *name)
{
	struct idem_bytes text = {NULL, 0};

	(void)api->options->text(api->host, name, &text);
	return text;
}

static inline int64_t idem_option_int64(const struct idem_host_api *api, const char *name, int64_t when_unset)
{
	(void)api->options->integer(api->host, name, &when_unset);
	return when_unset;
}

/* ---- statements ---- */

/* lock_param: the parameter that names the row it locks, from 1; 0: none. */
static inline idem_status idem_declare(const struct idem_host_api *api, const char *sql, uint32_t param_count,
                                       uint32_t lock_param, uint32_t *out_statement)
{
	struct idem_statement statement;

	memset(&statement, 0, sizeof(statement));
	statement.struct_size = sizeof(statement);
	statement.sql = sql;
	statement.param_count = param_count;
	statement.lock_param = lock_param;
	return api->tx->declare(api->host, &statement, out_statement);
}

static inline struct idem_param idem_param_text(struct idem_bytes text)
{
	struct idem_param param = {text, 0, 0};

	return param;
}

static inline struct idem_param idem_param_string(const char *text)
{
	return idem_param_text(idem_bytes_of(text));
}

static inline struct idem_param idem_param_null(void)
{
	struct idem_param param = {{NULL, 0}, 0, 0};

	return param;
}

/* In text form, so that it fits smallint, integer, bigint and numeric alike; storage must outlive the queue or query.
 */
static inline struct idem_param idem_param_int64(int64_t value, struct idem_digits *storage)
{
	return idem_param_text(idem_print_int64(value, storage));
}

static inline struct idem_exec idem_exec_of(uint32_t statement, const struct idem_param *params, size_t count)
{
	struct idem_exec exec;

	memset(&exec, 0, sizeof(exec));
	exec.struct_size = sizeof(exec);
	exec.statement = statement;
	exec.params = params;
	exec.param_count = count;
	return exec;
}

static inline idem_status idem_queue(const struct idem_host_api *api, struct idem_call *call, uint32_t statement,
                                     const struct idem_param *params, size_t count)
{
	struct idem_exec exec = idem_exec_of(statement, params, count);

	return api->tx->queue(call, &exec);
}

/* Exactly `rows` rows, or the event is rejected with `reason`. */
static inline idem_status idem_queue_expect(const struct idem_host_api *api, struct idem_call *call, uint32_t statement,
                                            const struct idem_param *params, size_t count, int64_t rows,
                                            const char *reason)
{
	struct idem_exec exec = idem_exec_of(statement, params, count);

	exec.flags = IDEM_EXPECT;
	exec.expect_min = exec.expect_max = rows;
	exec.reason = idem_bytes_of(reason);
	return api->tx->queue(call, &exec);
}

static inline idem_status idem_query(const struct idem_host_api *api, struct idem_call *call, uint32_t statement,
                                     const struct idem_param *params, size_t count, const struct idem_rows **out)
{
	struct idem_exec exec = idem_exec_of(statement, params, count);

	return api->tx->query(call, &exec, out);
}

/* A whole number of a result in text form; NOT_FOUND for SQL NULL and for a row or column that is not there. */
static inline idem_status idem_rows_int64(const struct idem_host_api *api, const struct idem_rows *rows, size_t row,
                                          size_t column, int64_t *out)
{
	struct idem_bytes text = {NULL, 0};

	if (row >= api->tx->row_count(rows) || column >= api->tx->column_count(rows))
		return IDEM_E_NOT_FOUND;
	idem_status status = api->tx->value(rows, row, column, &text);
	if (status != IDEM_OK)
		return status;
	return text.ptr ? idem_parse_int64(text, out) : IDEM_E_NOT_FOUND;
}

/* ---- batches ---- */

/* One parameter that holds many values, for set-based SQL: "… FROM unnest($1::bigint[], $2::text[]) AS t(id, name)".
 * Zeroed is empty.  Running out of memory is remembered and answered by idem_array_param. */
struct idem_array {
	char *text; /* "{1,2,3" */
	size_t len, size;
	size_t count;
	int failed;
};

static inline char *idem_array_room(struct idem_array *array, size_t bytes)
{
	if (array->size - array->len < bytes) {
		size_t size = (array->size + bytes) * 2 + 256;
		char *text = (char *)realloc(array->text, size);

		if (!text) {
			array->failed = 1;
			return NULL;
		}
		array->text = text;
		array->size = size;
	}
	return array->text + array->len;
}

static inline void idem_array_raw(struct idem_array *array, struct idem_bytes element)
{
	char *at = idem_array_room(array, element.len + 1);

	if (!at)
		return;
	*at = array->count == 0 ? '{' : ',';
	if (element.len > 0)
		memcpy(at + 1, element.ptr, element.len);
	array->len += element.len + 1;
	array->count++;
}

static inline void idem_array_int64(struct idem_array *array, int64_t value)
{
	struct idem_digits storage;

	idem_array_raw(array, idem_print_int64(value, &storage));
}

/* Quoted as PostgreSQL's array form wants it; null becomes NULL. */
static inline void idem_array_text(struct idem_array *array, struct idem_bytes text)
{
	if (!text.ptr) {
		idem_array_raw(array, idem_bytes_of("NULL"));
		return;
	}
	char *start = idem_array_room(array, 2 * text.len + 3), *at = start;
	if (!at)
		return;
	*at++ = array->count == 0 ? '{' : ',';
	*at++ = '"';
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"' || text.ptr[i] == '\\')
			*at++ = '\\';
		*at++ = text.ptr[i];
	}
	*at++ = '"';
	array->len += (size_t)(at - start);
	array->count++;
}

/* The parameter; valid until the array changes. */
static inline idem_status idem_array_param(struct idem_array *array, struct idem_param *out)
{
	char *at = idem_array_room(array, 2);

	if (array->failed || !at)
		return IDEM_E_NOMEM;
	memcpy(at, array->count == 0 ? "{}" : "}", array->count == 0 ? 2 : 1);
	struct idem_bytes text = {array->text, array->len + (array->count == 0 ? 2 : 1)};
	*out = idem_param_text(text);
	return IDEM_OK;
}

/* Empty again, keeping its memory. */
static inline void idem_array_clear(struct idem_array *array)
{
	array->len = array->count = 0;
	array->failed = 0;
}

static inline void idem_array_done(struct idem_array *array)
{
	free(array->text);
	memset(array, 0, sizeof(*array));
}

/* A handle() made from a handle_batch():
 *     static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
 *     { return idem_handle_one(((struct mine *)self)->api, handle_batch, self, call, event); } */
static inline idem_verdict idem_handle_one(const struct idem_host_api *api,
                                           idem_status (*handle_batch)(void *self, struct idem_call *batch,
                                                                       struct idem_item *items, size_t n),
                                           void *self, struct idem_call *call, const struct idem_event *event)
{
	struct idem_item item = {call, event, IDEM_UNSET, 0};
	idem_status status = handle_batch(self, call, &item, 1);

	return status == IDEM_OK ? item.verdict : idem_verdict_of(api, call, status);
}
#endif
