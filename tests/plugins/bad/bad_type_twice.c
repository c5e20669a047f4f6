/* Broken rule: an event type is listed twice. */
#include "bad.h"

static const char *const types[] = {"a.v1", "b.v1", "a.v1", NULL};
BAD_PLUGIN("bad_type_twice", plugin.event_types = types)
