/* Broken rule: a required extension this host does not offer. */
#include "bad.h"

static const char *const extensions[] = {"idem.produce/1", NULL};
BAD_PLUGIN("bad_extension", plugin.required_extensions = extensions)
