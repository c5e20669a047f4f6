/* W3C trace context, as far as the host looks into it. */
#ifndef IDEM_EVENT_TRACE_H
#define IDEM_EVENT_TRACE_H
#include "core/base/bytes.h"

/* A well-formed traceparent: "00-<32 hex>-<16 hex>-<2 hex>", lower case, ids not all zero; later versions may be
 * longer. */
bool trace_is_parent(struct bytes text);
#endif
