/* Named points at which a test lets this process die or fail.  Compiled in by ./configure --enable-failpoints only.
 * Spec: "name=action[:countdown][,…]"; actions: kill (SIGKILL to self), killgroup, fail (failpoint_hit returns true).
 * The action happens at the countdown-th hit (default 1) and, for fail, only then; "name=fail:always" repeats it.  [any
 * thread] */
#ifndef IDEM_BASE_FAILPOINT_H
#define IDEM_BASE_FAILPOINT_H
#include "core/base/error.h"
#include <stdbool.h>

#ifdef IDEM_FAILPOINTS
bool failpoint_arm(const char *spec, struct error *error) MUST_CHECK; /* [main]; NULL or "": none */
bool failpoint_hit(const char *name);
#else
static inline bool failpoint_hit(const char *name)
{
	(void)name;
	return false;
}
#endif
#define FAILPOINT(name) failpoint_hit(name)
#endif
