#include "core/plugin/call.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/plugin/handle.h"
#include "core/plugin/internal.h"
#include "core/plugin/rows.h"
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char thread_mark; /* its address names the thread */
static _Atomic uint64_t breaches;

uint64_t call_breaches(void)
{
	return breaches;
}

void call_breach(const char *format, ...)
{
	char text[400];
	va_list arguments;

	breaches++;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_write_limited(LOG_plugin_contract, "%s", text);
}

static void call_forget(struct idem_call *call)
{
	rows_release_all(call);
	call->queued_first = NULL;
	call->queued_tail = &call->queued_first;
	call->queued_count = call->queued_bytes = 0;
	call->metrics = NULL;
	call->reason = BYTES_NONE;
	call->has_error = call->has_queried = call->failed = false;
	call->cancelled = CALL_RUNS;
	call->whole = NULL;
}

void call_init(struct idem_call *call, const struct call_context *context, const struct event *event)
{
	ASSERT(call->run == 0);
	call->plugin = context->plugin;
	call->event = event;
	call->arena = context->arena;
	call->worker_index = context->worker_index;
	call->backend = context->backend;
	call->backend_self = context->backend_self;
	call->deadline_ms = INT64_MAX;
	call_forget(call);
}

struct idem_call *call_enter(struct idem_call *call, int64_t timeout_ms)
{
	ASSERT(call->run == 0);
	if (++call->runs == 0)
		call->runs = 1;
	call->deadline_ms = clock_monotonic_ms() + timeout_ms;
	call->owner = &thread_mark;
	call->run = call->runs;
	return (struct idem_call *)handle_make(call, call->runs);
}

void call_leave(struct idem_call *call)
{
	call->run = 0;
}

enum call_cancel call_cancel_of(const struct idem_call *call)
{
	int32_t own = atomic_load(&call->cancelled);

	return (enum call_cancel)(own == CALL_RUNS && call->whole ? atomic_load(&call->whole->cancelled) : own);
}

void call_apply_metrics(struct idem_call *call)
{
	for (struct recorded_metric *each = call->metrics; each; each = each->next)
		plugin_record(call->plugin, each->id, each->is_counter, each->value);
	call->metrics = NULL;
}

void call_done(struct idem_call *call)
{
	ASSERT(call->run == 0);
	call_forget(call);
	call->event = NULL;
	call->arena = NULL;
}

struct idem_call *call_of_handle(const struct idem_call *handle)
{
	struct idem_call *call = (struct idem_call *)handle_address(handle);

	/* The owner first: what another thread may not look at it must not race with. */
	if (call && call->owner == &thread_mark && handle_is_of(handle, call->run))
		return call;
	call_breach("a call was used after its callback had returned, or from another thread");
	return NULL;
}

void call_set_error(struct idem_call *call, idem_status code, const char *sqlstate, bool retriable, const char *format,
                    ...)
{
	char text[1000];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	struct bytes kept = arena_copy(call->arena, bytes_from_string(text));
	call->error = (struct idem_error){.struct_size = sizeof(call->error),
	                                  .code = code,
	                                  .retriable = retriable,
	                                  .message = {kept.ptr, kept.len}};
	snprintf(call->error.sqlstate, sizeof(call->error.sqlstate), "%s", sqlstate ? sqlstate : "");
	call->has_error = true;
}
