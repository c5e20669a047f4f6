/* Broken rule: a capability bit this host does not know. */
#include "bad.h"

BAD_PLUGIN("bad_capability", plugin.capabilities = IDEM_CAP_CONCURRENT | 1u << 9)
