/* Steered, event by event. */
#define STEER_LOCK_PARAM 0
#include "steer.c"

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	idem_verdict verdict;

	(void)event;
	(void)obey(self, call, call, &verdict);
	return verdict;
}

IDEM_PLUGIN_DEFINE("steer_one", "1.0.0", "idem", "tests", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .create = create, .handle = handle, .destroy = free);
