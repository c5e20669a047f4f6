/* Broken rule: it takes the process down in create(). */
#include "bad.h"
#include <stdlib.h>

static idem_status die(const struct idem_host_api *api, void **out_self)
{
	(void)api;
	(void)out_self;
	abort();
}
BAD_PLUGIN("bad_create_abort", plugin.create = die)
