/* Broken rule: an option has an unknown type. */
#include "bad.h"

static const struct idem_option options[] = {{"limit", "integer", NULL, NULL}, {0}};
BAD_PLUGIN("bad_option_type", plugin.options = options)
