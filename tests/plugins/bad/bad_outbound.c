/* Broken rule: outbound() without a host that makes outbound calls. */
#include "bad.h"

BAD_PLUGIN("bad_outbound", plugin.outbound = bad_handle)
