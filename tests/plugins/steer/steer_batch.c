/* Steered, all events of a batch in one call, which goes on behind a step that fails. */
#define STEER_LOCK_PARAM 1
#include "steer.c"

static idem_status handle_batch(void *self, struct idem_call *batch, struct idem_item *items, size_t n)
{
	const struct steer *steer = self;
	idem_status worst = IDEM_OK;

	steer->api->metrics->add(steer->api->host, batch, steer->committed_batches, 1);
	for (size_t i = 0; i < n; i++) {
		idem_status status = obey(steer, batch, items[i].call, &items[i].verdict);
		if (status == IDEM_E_INVALID)
			worst = status;
	}
	return worst;
}

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	return idem_handle_one(((const struct steer *)self)->api, handle_batch, self, call, event);
}

IDEM_PLUGIN_DEFINE("steer_batch", "1.0.0", "idem", "tests", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .create = create, .handle = handle, .handle_batch = handle_batch, .destroy = free);
