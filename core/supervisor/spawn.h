/* Starting a child's process: posix_spawn of this program, with three descriptors and nothing else. [main] */
#ifndef IDEM_SUPERVISOR_SPAWN_H
#define IDEM_SUPERVISOR_SPAWN_H
#include "core/base/error.h"
#include "core/supervisor/plan.h"
#include <sys/types.h>

struct spawn_options {
	const char *self_path; /* NULL: the program that runs */
	char *const *environment;
	const struct child_plan *plan;
	int metrics_fd;
};
/* *out_pipe_fd: the read end, non-blocking, the caller's. */
bool spawn_child(const struct spawn_options *options, pid_t *out_pid, int *out_pipe_fd, struct error *error) MUST_CHECK;
/* A sealed memfd of `size` zero bytes: a child can't shrink it under the parent's feet.  -1 on failure. */
int spawn_create_page(size_t size, struct error *error);
#endif
