/* Broken rule: struct_size ends before the last member of ABI 1.0. */
#include "bad.h"

BAD_PLUGIN("bad_struct_size", plugin.struct_size = offsetof(struct idem_plugin, destroy))
