/* What a plugin asks of one call: its payload, its deadline. */
#include "core/base/clock.h"
#include "core/plugin/internal.h"

#define MAX_REASON_BYTES 1000

static idem_status json_get_value(struct idem_call *handle, const char *pointer, struct idem_value *out)
{
	struct idem_call *call = call_of_handle(handle);
	struct json_value value;

	if (!call || !pointer || !out || !call->event)
		return IDEM_E_INVALID;
	if (!call->event->document)
		return IDEM_E_NOT_FOUND;
	switch (json_get(call->event->document, pointer, &value)) {
	case JSON_OK:
		break;
	case JSON_NOT_FOUND:
		return IDEM_E_NOT_FOUND;
	case JSON_BAD_POINTER:
		call_breach("\"%s\" is not a JSON pointer: it begins with '/'", pointer);
		return IDEM_E_INVALID;
	}
	*out = (struct idem_value){.type = (int32_t)value.type,
	                           .integer = value.integer,
	                           .real = value.real,
	                           .text = {value.text.ptr, value.text.len}};
	return IDEM_OK;
}

const struct idem_json_api plugin_json_api = {.struct_size = sizeof(plugin_json_api), .get = json_get_value};

static idem_status call_extend(struct idem_call *handle, uint32_t ms)
{
	struct idem_call *call = call_of_handle(handle);

	if (!call)
		return IDEM_E_INVALID;
	if (call_cancel_of(call) != CALL_RUNS)
		return IDEM_E_CANCELLED;
	if (ms > CALL_MAX_EXTEND_MS)
		return IDEM_E_TOO_BIG;
	int64_t deadline_ms = clock_monotonic_ms() + ms;
	if (deadline_ms > call->deadline_ms)
		call->deadline_ms = deadline_ms;
	if (call->backend->deadline_moved)
		(void)call->backend->deadline_moved(call->backend_self, call);
	return IDEM_OK;
}

static int64_t call_remaining_ms(struct idem_call *handle)
{
	const struct idem_call *call = call_of_handle(handle);

	if (!call)
		return 0;
	int64_t left_ms = call->deadline_ms - clock_monotonic_ms();
	return left_ms > 0 ? left_ms : 0;
}

static void call_reason(struct idem_call *handle, struct idem_bytes why)
{
	struct idem_call *call = call_of_handle(handle);

	if (call)
		call->reason = arena_copy(
		        call->arena, (struct bytes){why.ptr, why.len < MAX_REASON_BYTES ? why.len : MAX_REASON_BYTES});
}

static int64_t call_now_ms(struct idem_call *handle)
{
	return call_of_handle(handle) ? clock_wall_ms() : 0;
}

/* A dead call is as good as cancelled: whoever holds it gives up. */
static int32_t call_cancelled(struct idem_call *handle)
{
	const struct idem_call *call = call_of_handle(handle);

	return !call || call_cancel_of(call) != CALL_RUNS;
}

static uint32_t call_worker_index(struct idem_call *handle)
{
	const struct idem_call *call = call_of_handle(handle);

	return call ? call->worker_index : 0;
}

const struct idem_call_api plugin_call_api = {
        .struct_size = sizeof(plugin_call_api),
        .extend = call_extend,
        .remaining_ms = call_remaining_ms,
        .reason = call_reason,
        .now_ms = call_now_ms,
        .cancelled = call_cancelled,
        .worker_index = call_worker_index,
};
