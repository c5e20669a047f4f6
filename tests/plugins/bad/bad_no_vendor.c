/* Broken rule: the vendor is NULL. */
#include "bad.h"

BAD_PLUGIN("bad_no_vendor", plugin.vendor = NULL)
