/* The transaction as plugins see it. */
#include "core/base/clock.h"
#include "core/event/uuid.h"
#include "core/plugin/internal.h"
#include "core/plugin/rows.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The members of ABI 1.0: what every plugin must have set. */
#define END_OF(type, member) (offsetof(struct type, member) + sizeof(((struct type *)0)->member))
#define EXEC_BASELINE END_OF(idem_exec, reason)
#define STATEMENT_BASELINE END_OF(idem_statement, lock_param)

static idem_status refuse(struct idem_call *call, idem_status status, const char *format, ...) PRINTF_LIKE(3, 4);

static idem_status refuse(struct idem_call *call, idem_status status, const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	call_set_error(call, status, NULL, false, "%s", text);
	if (status == IDEM_E_INVALID)
		call_breach("%s", text);
	return status;
}

/* ---- declaring ---- */

/* A copy with a NUL in the plugin's own memory; lasts as long as the plugin. */
static struct plugin_statement *statement_copy(const struct idem_statement *from)
{
	struct plugin_statement *copy = calloc(1, sizeof(*copy));
	Oid *types = from->param_types ? calloc(from->param_count + 1, sizeof(*types)) : NULL;
	char *sql = strdup(from->sql);

	ASSERT(copy && sql && (types || !from->param_types));
	if (types)
		memcpy(types, from->param_types, from->param_count * sizeof(*types));
	copy->pg = (struct pg_statement){.sql = sql,
	                                 .param_count = (int)from->param_count,
	                                 .param_types = types,
	                                 .result_format = (int)from->result_format};
	copy->lock_param = from->lock_param;
	return copy;
}

/* NULL: fine; otherwise what is wrong with its shape. */
static const char *statement_mistake(const struct idem_statement *statement)
{
	if (!statement || statement->struct_size < STATEMENT_BASELINE)
		return "struct_size of a statement is not set to sizeof";
	if (!statement->sql)
		return "a statement has no sql";
	if (statement->param_count > PG_MAX_PARAMS)
		return "a statement has more than 64 parameters: pass arrays";
	if (statement->result_format > 1)
		return "result_format is neither 0 (text) nor 1 (binary)";
	if (statement->lock_param > statement->param_count)
		return "lock_param names a parameter the statement does not have";
	return NULL;
}

static idem_status tx_declare(struct idem_host *host, const struct idem_statement *statement, uint32_t *out_statement)
{
	struct plugin *plugin = host->plugin;
	const char *mistake = statement_mistake(statement);
	struct error error = {0};

	if (plugin->phase != PLUGIN_CREATING)
		return plugin_refuse(plugin, "statements are declared in create() only");
	if (mistake)
		return plugin_refuse(plugin, "%s", mistake);
	if (!plugin_check_sql(statement->sql, plugin_is_isolated(plugin), &error))
		return plugin_refuse(plugin, "%s", error.text);
	if (plugin->statement_count == PLUGIN_MAX_STATEMENTS) {
		(void)plugin_refuse(plugin, "more than %d statements", PLUGIN_MAX_STATEMENTS);
		return IDEM_E_TOO_BIG;
	}
	plugin->statements[plugin->statement_count++] = statement_copy(statement);
	*out_statement = plugin->statement_count;
	return IDEM_OK;
}

/* ---- parameters ---- */

struct binding { /* parameters being copied into the call's arena */
	const char **values;
	int *lengths, *formats;
	size_t bytes;
};

static struct binding binding_make(struct arena *arena, size_t count)
{
	char *memory = arena_alloc(arena, count * (sizeof(char *) + 2 * sizeof(int)) + 1);
	struct binding binding = {.values = (const char **)memory};

	binding.lengths = (int *)(memory + count * sizeof(char *));
	binding.formats = binding.lengths + count;
	return binding;
}

static idem_status bind_one(struct idem_call *call, struct binding *binding, size_t i, const struct idem_param *param)
{
	struct bytes value = {param->value.ptr, param->value.len};

	if (param->format > 1)
		return refuse(call, IDEM_E_INVALID, "the format of parameter $%zu is neither 0 (text) nor 1 (binary)",
		              i + 1);
	binding->bytes += value.ptr ? value.len : 0;
	if (value.ptr && (value.len > CALL_MAX_QUEUED_BYTES || binding->bytes > CALL_MAX_QUEUED_BYTES))
		return refuse(call, IDEM_E_TOO_BIG, "parameters of more than %u bytes", CALL_MAX_QUEUED_BYTES);
	if (value.ptr && param->format == 0 && memchr(value.ptr, '\0', value.len))
		return refuse(call, IDEM_E_INVALID,
		              "parameter $%zu is text with a NUL byte, which PostgreSQL can't store", i + 1);
	binding->values[i] = arena_copy(call->arena, value).ptr;
	binding->lengths[i] = value.ptr ? (int)value.len : 0;
	binding->formats[i] = (int)param->format;
	return IDEM_OK;
}

static idem_status bind(struct idem_call *call, const struct idem_exec *exec, size_t wanted,
                        struct pg_params *out_params, size_t *out_bytes)
{
	if (exec->param_count != wanted || (wanted > 0 && !exec->params))
		return refuse(call, IDEM_E_INVALID, "a statement with %zu parameters was given %zu", wanted,
		              exec->params ? exec->param_count : 0);
	struct binding binding = binding_make(call->arena, wanted);
	for (size_t i = 0; i < wanted; i++) {
		idem_status status = bind_one(call, &binding, i, &exec->params[i]);
		if (status != IDEM_OK)
			return status;
	}
	*out_params = (struct pg_params){
	        .values = binding.values, .lengths = binding.lengths, .formats = binding.formats, .count = (int)wanted};
	*out_bytes = binding.bytes;
	return IDEM_OK;
}

/* ---- queue and query ---- */

/* What every execution must pass; the first error of a dead part of the transaction stays. */
static idem_status check_exec(struct idem_call *call, const struct idem_exec *exec)
{
	if (call->failed)
		return IDEM_E_DB;
	call->has_error = false;
	if (!exec || exec->struct_size < EXEC_BASELINE)
		return refuse(call, IDEM_E_INVALID, "struct_size of an execution is not set to sizeof");
	return IDEM_OK;
}

static const struct plugin_statement *find_statement(struct idem_call *call, const struct idem_exec *exec)
{
	const struct plugin_statement *statement = plugin_statement(call->plugin, exec->statement);

	if (!statement)
		(void)refuse(call, IDEM_E_INVALID, "statement %u was never declared", exec->statement);
	return statement;
}

static idem_status check_expectation(struct idem_call *call, const struct idem_exec *exec)
{
	if (!(exec->flags & IDEM_EXPECT))
		return IDEM_OK;
	if (exec->expect_min < 0 || (exec->expect_max != -1 && exec->expect_max < exec->expect_min))
		return refuse(call, IDEM_E_INVALID, "an expectation of %lld to %lld rows", (long long)exec->expect_min,
		              (long long)exec->expect_max);
	if (exec->on_miss != IDEM_UNSET && exec->on_miss != IDEM_RETRY && exec->on_miss != IDEM_REJECT)
		return refuse(call, IDEM_E_INVALID, "on_miss is neither RETRY nor REJECT");
	return IDEM_OK;
}

static void append(struct idem_call *call, const struct idem_exec *exec, const struct pg_params *params, size_t bytes)
{
	struct queued *queued = arena_zalloc(call->arena, sizeof(*queued));

	queued->call = call;
	queued->statement = exec->statement;
	queued->params = *params;
	queued->expects = exec->flags & IDEM_EXPECT;
	queued->expect_min = exec->expect_min;
	queued->expect_max = exec->expect_max;
	queued->on_miss = exec->on_miss == IDEM_RETRY ? IDEM_RETRY : IDEM_REJECT;
	queued->reason = arena_copy(call->arena, (struct bytes){exec->reason.ptr, exec->reason.len});
	*call->queued_tail = queued;
	call->queued_tail = &queued->next;
	call->queued_count++;
	call->queued_bytes += bytes;
}

static idem_status tx_queue(struct idem_call *handle, const struct idem_exec *exec)
{
	struct idem_call *call = call_of_handle(handle);
	const struct plugin_statement *statement;
	struct pg_params params;
	size_t bytes;
	idem_status status;

	if (!call)
		return IDEM_E_INVALID;
	if ((status = check_exec(call, exec)) != IDEM_OK)
		return status;
	if (!(statement = find_statement(call, exec)))
		return IDEM_E_INVALID;
	if ((status = check_expectation(call, exec)) != IDEM_OK)
		return status;
	if (call->queued_count == CALL_MAX_QUEUED)
		return refuse(call, IDEM_E_TOO_BIG, "more than %d queued statements: use arrays", CALL_MAX_QUEUED);
	if ((status = bind(call, exec, (size_t)statement->pg.param_count, &params, &bytes)) != IDEM_OK)
		return status;
	if (call->queued_bytes + bytes > CALL_MAX_QUEUED_BYTES)
		return refuse(call, IDEM_E_TOO_BIG, "more than %u bytes of queued parameters", CALL_MAX_QUEUED_BYTES);
	append(call, exec, &params, bytes);
	return IDEM_OK;
}

static idem_status run(struct idem_call *call, const struct pg_statement *statement, const struct idem_exec *exec,
                       const struct idem_rows **out)
{
	struct pg_params params;
	size_t bytes;
	PGresult *result = NULL;
	idem_status status;

	if (!out || exec->flags & IDEM_EXPECT)
		return refuse(call, IDEM_E_INVALID, "%s",
		              out ? "expectations are for queued statements: look at affected()"
		                  : "a query needs a place for its rows");
	if (call_cancel_of(call) != CALL_RUNS)
		return refuse(call, IDEM_E_CANCELLED, "cancelled: deadline, revoked partition or shutdown");
	if ((status = bind(call, exec, (size_t)statement->param_count, &params, &bytes)) != IDEM_OK)
		return status;
	call->has_queried = true;
	status = call->backend->query(call->backend_self, call, statement, &params, &result);
	if (status == IDEM_E_DB)
		call->failed = true;
	if (status != IDEM_OK)
		return status;
	*out = rows_give(call, result);
	return IDEM_OK;
}

static idem_status tx_query(struct idem_call *handle, const struct idem_exec *exec, const struct idem_rows **out)
{
	struct idem_call *call = call_of_handle(handle);
	const struct plugin_statement *statement;
	idem_status status;

	if (!call)
		return IDEM_E_INVALID;
	if ((status = check_exec(call, exec)) != IDEM_OK)
		return status;
	if (!(statement = find_statement(call, exec)))
		return IDEM_E_INVALID;
	return run(call, &statement->pg, exec, out);
}

static idem_status tx_query_sql(struct idem_call *handle, const struct idem_statement *statement,
                                const struct idem_exec *exec, const struct idem_rows **out)
{
	struct idem_call *call = call_of_handle(handle);
	const char *mistake = statement_mistake(statement);
	struct error error = {0};
	idem_status status;

	if (!call)
		return IDEM_E_INVALID;
	if ((status = check_exec(call, exec)) != IDEM_OK)
		return status;
	if (mistake)
		return refuse(call, IDEM_E_INVALID, "%s", mistake);
	if (!plugin_check_sql(statement->sql, plugin_is_isolated(call->plugin), &error))
		return refuse(call, IDEM_E_INVALID, "%s", error.text);
	struct pg_statement once = {.sql = statement->sql,
	                            .param_count = (int)statement->param_count,
	                            .param_types = statement->param_types,
	                            .result_format = (int)statement->result_format};
	return run(call, &once, exec, out);
}

/* ---- the rest ---- */

static idem_status tx_emit(struct idem_call *handle, const struct idem_message *message)
{
	struct idem_call *call = call_of_handle(handle);

	(void)message;
	return call ? refuse(call, IDEM_E_UNSUPPORTED, "this host has no outbox") : IDEM_E_INVALID;
}

static idem_status tx_new_id(struct idem_call *handle, char out_id[UUID_TEXT_BYTES])
{
	struct uuid uuid;

	if (!call_of_handle(handle) || !out_id)
		return IDEM_E_INVALID;
	uuid_make_v7(clock_shared_ms(), &uuid);
	uuid_to_text(&uuid, out_id);
	return IDEM_OK;
}

static const struct idem_error *tx_error(struct idem_call *handle)
{
	static const struct idem_error none = {.struct_size = sizeof(none), .message = {"", 0}};
	static const struct idem_error dead = {
	        .struct_size = sizeof(dead), .code = IDEM_E_INVALID, .message = {"not a live call of this thread", 30}};
	struct idem_call *call = call_of_handle(handle);

	if (!call)
		return &dead;
	return call->has_error ? &call->error : &none;
}

const struct idem_tx_api plugin_tx_api = {
        .struct_size = sizeof(plugin_tx_api),
        .declare = tx_declare,
        .queue = tx_queue,
        .query = tx_query,
        .query_sql = tx_query_sql,
        .row_count = rows_row_count,
        .column_count = rows_column_count,
        .column = rows_column,
        .affected = rows_affected,
        .value = rows_value,
        .release = rows_release,
        .emit = tx_emit,
        .new_id = tx_new_id,
        .error = tx_error,
};
