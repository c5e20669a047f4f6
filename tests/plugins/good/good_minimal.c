/* The least a plugin must have: no self, no statements, every known event type, one worker. */
#include <idem/sugar.h>

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	(void)api;
	(void)out_self;
	return IDEM_OK;
}

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	(void)self;
	(void)call;
	(void)event;
	return IDEM_DONE;
}

IDEM_PLUGIN_DEFINE("good_minimal", "1.0.0", "idem", "tests", .create = create, .handle = handle);
