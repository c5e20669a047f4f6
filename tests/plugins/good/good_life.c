/* Every optional callback and every kind of metric; destroy() frees what create() made, once per instance. */
#include <idem/sugar.h>

struct life {
	const struct idem_host_api *api;
	uint32_t seen, size, stage;
	double step;
};

static void at_stage(struct life *self, double stage)
{
	self->step = stage;
	self->api->metrics->set(self->api->host, self->stage, stage);
}

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct life *self = *out_self = calloc(1, sizeof(*self));
	idem_status status;

	if (!self)
		return IDEM_E_NOMEM;
	self->api = api;
	if ((status = api->metrics->counter(api->host, "seen", "events seen", &self->seen)) != IDEM_OK ||
	    (status = api->metrics->histogram(api->host, "size", "payload bytes", &self->size)) != IDEM_OK ||
	    (status = api->metrics->gauge(api->host, "stage", "1 created, 2 started, 3 stopped", &self->stage)) !=
	            IDEM_OK)
		return status;
	at_stage(self, 1);
	return IDEM_OK;
}

static idem_status start(void *self)
{
	at_stage(self, 2);
	return IDEM_OK;
}

static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
{
	struct life *self = opaque;

	self->api->metrics->add(self->api->host, call, self->seen, 1);
	self->api->metrics->observe(self->api->host, call, self->size, (double)event->payload.len);
	return self->step == 2 ? IDEM_DONE : IDEM_REJECT;
}

static void stop(void *self)
{
	at_stage(self, 3);
}

IDEM_PLUGIN_DEFINE("good_life", "1.0.0", "idem", "tests", .create = create, .start = start, .handle = handle,
                   .stop = stop, .destroy = free);
