/* The pipeline child: opens the plugin, connects, starts workers, watchdog and side thread, runs the source, drains. */
#ifndef IDEM_PIPELINE_PIPELINE_H
#define IDEM_PIPELINE_PIPELINE_H
#include "core/base/metrics.h"
#include "core/config/config.h"

struct pipeline_options {
	const struct config *config; /* one pipeline */
	const struct config_pipeline *pipeline;
	const char *plugin_path; /* the staged copy */
	struct metrics_page *metrics;
	/* Everything is committed and the group is left: what follows only gives memory back and may hang. */
	void (*say_stopped)(void);
};
/* Exit statuses of a child, read by the supervisor; anything else, or a signal, is a death. */
enum {
	CHILD_STOPPED = 0,
	CHILD_SERVICE_MISSING = 69,
	CHILD_INTERNAL = 70,
	CHILD_BREAKER = 75 /* stay down: alarm */,
	CHILD_STOLEN = 76 /* stay down: alarm */,
	CHILD_PLUGIN_REFUSED = 77 /* stay down */,
	CHILD_CONFIG = 78 /* stay down */
};
/* Runs until pipeline_request_stop (SIGTERM); returns the exit status.  Ends the process itself when it is stopped
 * before it had started, or when a handler has not come back at the end of the drain.  [main thread of the child] */
int pipeline_run(const struct pipeline_options *options);
void pipeline_request_stop(void); /* async-signal-safe */
#endif
