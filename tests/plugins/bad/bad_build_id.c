/* Broken rule: file and description name different builds. */
#include "bad.h"

BAD_PLUGIN("bad_build_id", plugin.build_id = "another")
