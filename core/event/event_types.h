/* The registry of event types: which are known, and which of them this pipeline's plugin handles.  Read only once made.
 */
#ifndef IDEM_EVENT_EVENT_TYPES_H
#define IDEM_EVENT_EVENT_TYPES_H
#include "core/event/event.h"

enum event_type_status { EVENT_TYPE_UNKNOWN, EVENT_TYPE_KNOWN /* not handled */, EVENT_TYPE_HANDLED };

enum event_type_status event_types_look_up(const struct event_types *types, struct bytes name);
#endif
