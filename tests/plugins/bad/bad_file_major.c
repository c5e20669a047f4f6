/* Broken rule: the file is of another ABI major. */
#include <idem/plugin.h>
#undef IDEM_ABI_MAJOR
#define IDEM_ABI_MAJOR 2
#include "bad.h"

BAD_PLUGIN("bad_file_major", )
