/* Broken rule: an event type has a blank in it. */
#include "bad.h"

static const char *const types[] = {"order confirmed", NULL};
BAD_PLUGIN("bad_type", plugin.event_types = types)
