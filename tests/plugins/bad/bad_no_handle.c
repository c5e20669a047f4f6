/* Broken rule: a required callback is NULL. */
#include "bad.h"

BAD_PLUGIN("bad_no_handle", plugin.handle = NULL)
