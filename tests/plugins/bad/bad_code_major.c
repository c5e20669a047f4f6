/* Broken rule: the description is of another ABI major than the file says. */
#include "bad.h"

BAD_PLUGIN("bad_code_major", plugin.abi_major = 2)
