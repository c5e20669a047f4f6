/* Broken rule: a preset is not of its option's type. */
#include "bad.h"

static const struct idem_option options[] = {{"limit", "int", "many", NULL}, {0}};
BAD_PLUGIN("bad_option_preset", plugin.options = options)
