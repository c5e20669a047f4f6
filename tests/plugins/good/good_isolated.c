/* Sets what row-level security reads: needs a session of its own for every event. */
#include <idem/sugar.h>

struct isolated {
	const struct idem_host_api *api;
	uint32_t set_tenant;
};

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct isolated *self = *out_self = calloc(1, sizeof(*self));

	if (!self)
		return IDEM_E_NOMEM;
	self->api = api;
	return idem_declare(api, "SELECT set_config('app.tenant', $1, false)", 1, 0, &self->set_tenant);
}

static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
{
	const struct isolated *self = opaque;
	struct idem_param tenant = idem_param_text(event->key);
	const struct idem_rows *rows;

	return idem_verdict_of(self->api, call, idem_query(self->api, call, self->set_tenant, &tenant, 1, &rows));
}

IDEM_PLUGIN_DEFINE("good_isolated", "1.0.0", "idem", "tests", .capabilities = IDEM_CAP_ISOLATED, .create = create,
                   .handle = handle, .destroy = free);
