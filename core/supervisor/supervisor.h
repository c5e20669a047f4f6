/* The parent: starts one child per pipeline with posix_spawn of itself, restarts them with back-off, serves the admin port,
 * drains on SIGTERM, reloads on SIGHUP.  Runs no plugin code, ever. */
#ifndef IDEM_SUPERVISOR_SUPERVISOR_H
#define IDEM_SUPERVISOR_SUPERVISOR_H
#include "core/config/config.h"

/* Descriptors a child finds open, and the arguments it is started with:
 *   idemd --child pipeline NAME --plugin STAGED
 * 3: its configuration (config_print with secrets), 4: the metrics page, 5: its pipe to the parent (one byte 'S' = "I stop
 * cleanly", written right before exit; end of file without it = death). */
enum { CHILD_CONFIG_FD = 3, CHILD_METRICS_FD = 4, CHILD_PIPE_FD = 5 };
/* Returns idemd's exit status: 0, 69, 70, 78.  [main] */
int supervisor_run(const char *self_path, const char *config_path, struct config *config);
#endif
