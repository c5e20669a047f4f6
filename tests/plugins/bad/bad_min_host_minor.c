/* Broken rule: it needs a newer host. */
#define IDEM_MIN_HOST_MINOR 7
#include "bad.h"

BAD_PLUGIN("bad_min_host_minor", )
