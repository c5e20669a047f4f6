/* Broken rule: struct_size was forgotten. */
#include "bad.h"

BAD_PLUGIN("bad_no_struct_size", plugin.struct_size = 0)
