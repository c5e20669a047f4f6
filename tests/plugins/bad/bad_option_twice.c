/* Broken rule: an option is declared twice. */
#include "bad.h"

static const struct idem_option options[] = {{"limit", "int", NULL, NULL}, {"limit", "int", NULL, NULL}, {0}};
BAD_PLUGIN("bad_option_twice", plugin.options = options)
