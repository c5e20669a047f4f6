/* The parent: starts one child per pipeline with posix_spawn of itself, restarts them with back-off, serves the admin
 * port, drains on SIGTERM and SIGINT, reloads on SIGHUP.  One thread, one loop; runs no plugin code, ever. */
#ifndef IDEM_SUPERVISOR_SUPERVISOR_H
#define IDEM_SUPERVISOR_SUPERVISOR_H
#include "core/config/config.h"

/* Descriptors a child finds open, and the arguments it is started with:
 *   idemd --child pipeline NAME --plugin STAGED
 * 3: its configuration (config_print with secrets), 4: the metrics page, 5: its pipe to the parent (one byte 'S' = "I
 * stop cleanly", written right before exit; end of file without it = death).
 * SIGTERM, SIGINT and SIGHUP are blocked: the child waits for SIGTERM and leaves the other two alone. */
enum { CHILD_CONFIG_FD = 3, CHILD_METRICS_FD = 4, CHILD_PIPE_FD = 5 };

struct supervisor_limits {        /* 0: the value named here */
	int64_t backoff_first_ms; /* 100: before the first restart; doubles with every death */
	int64_t backoff_max_ms;   /* 5,000 */
	int64_t backoff_reset_ms; /* 60,000: alive this long, and the next delay is the first again */
	int64_t stop_ms; /* 55,000: from SIGTERM to SIGKILL; drain_max, the child's own cap, is at most 50,000 */
};
struct supervisor_options {
	const char *self_path;    /* the program children are started from; NULL: this one */
	const char *config_path;  /* read again on SIGHUP */
	char *const *environment; /* of the children: nothing secret */
	struct supervisor_limits limits;
};
/* Runs until SIGTERM or SIGINT and a drain.  Returns idemd's exit status: 0 every child stopped cleanly; 69 at the
 * start a child found PostgreSQL or Kafka missing before any child became ready, or the admin port can't be had; 70
 * internal, or a child had to be killed or died while stopping; 78 configuration, or every child was refused before one
 * became ready.  Blocks the signals it waits for. [main] */
int supervisor_run(const struct supervisor_options *options, const struct config *config);

/* The part of --check that needs plugin files: format, ABI and digest, then what their code knows, which runs in a
 * process of its own (plugin_try).  Adds mistakes to *report.  Before threads; a supervisor that runs does without. */
void supervisor_check_plugins(const struct config *config, struct config_report *report);
#endif
