/* A plugin to begin with: counts what an event names. */
#include <idem/sugar.h>

struct handler {
	const struct idem_host_api *api;
	uint32_t count;
};

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct handler *self = *out_self = calloc(1, sizeof(*self));

	if (!self)
		return IDEM_E_NOMEM;
	self->api = api;
	return idem_declare(api, "UPDATE counter SET n = n + 1 WHERE name = $1", 1, 1, &self->count);
}

static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
{
	const struct handler *self = opaque;
	struct idem_bytes name;

	(void)event;
	if (idem_json_text(self->api, call, "/name", &name) != IDEM_OK)
		return idem_reject(self->api, call, "name is missing or no text");
	const struct idem_param param = idem_param_text(name);
	return idem_verdict_of(self->api, call,
	                       idem_queue_expect(self->api, call, self->count, &param, 1, 1, "no such counter"));
}

static const char *const types[] = {"something.happened.v1", NULL};

IDEM_PLUGIN_DEFINE("handler", "0.1.0", "me", "dev", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .create = create, .handle = handle, .destroy = free);
