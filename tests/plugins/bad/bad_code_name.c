/* Broken rule: file and description name different plugins. */
#include "bad.h"

BAD_PLUGIN("bad_code_name", plugin.name = "something_else")
