/* Broken rule: create() fails. */
#include "bad.h"

static idem_status fail(const struct idem_host_api *api, void **out_self)
{
	(void)api;
	(void)out_self;
	return IDEM_E_NOMEM;
}
BAD_PLUGIN("bad_create", plugin.create = fail)
