/* Broken rule: an option's name has other letters than allowed. */
#include "bad.h"

static const struct idem_option options[] = {{"Currency", "string", NULL, NULL}, {0}};
BAD_PLUGIN("bad_option_name", plugin.options = options)
