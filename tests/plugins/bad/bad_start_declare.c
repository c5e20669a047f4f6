/* Broken rule: it declares a statement after create(). */
#include "bad.h"

static const struct idem_host_api *host;

static idem_status keep(const struct idem_host_api *api, void **out_self)
{
	(void)out_self;
	host = api;
	return IDEM_OK;
}

static idem_status declare_late(void *self)
{
	struct idem_statement statement = {.struct_size = sizeof(statement), .sql = "SELECT 1"};
	uint32_t number;

	(void)self;
	return host->tx->declare(host->host, &statement, &number);
}
BAD_PLUGIN("bad_start_declare", plugin.create = keep; plugin.start = declare_late)
