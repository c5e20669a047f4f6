/* Broken rule: a required callback is NULL. */
#include "bad.h"

BAD_PLUGIN("bad_no_create", plugin.create = NULL)
