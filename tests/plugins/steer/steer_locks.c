/* Steered, with statements that name the row they lock. */
#define STEER_LOCK_PARAM 1
#include "steer.c"

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	idem_verdict verdict;

	(void)event;
	(void)obey(self, call, call, &verdict);
	return verdict;
}

IDEM_PLUGIN_DEFINE("steer_locks", "1.0.0", "idem", "tests", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .create = create, .handle = handle, .destroy = free);
