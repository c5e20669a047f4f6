/* Broken rule: the version is empty. */
#include "bad.h"

BAD_PLUGIN("bad_version", plugin.version = "")
