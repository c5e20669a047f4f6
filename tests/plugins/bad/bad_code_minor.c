/* Broken rule: file and description name different minors. */
#include "bad.h"

BAD_PLUGIN("bad_code_minor", plugin.min_host_minor = 7)
