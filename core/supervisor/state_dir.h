/* The folder of what outlives a process: it belongs to one host at a time, and holds no plugin that nobody runs.
 * Embedded in the supervisor. [main] */
#ifndef IDEM_SUPERVISOR_STATE_DIR_H
#define IDEM_SUPERVISOR_STATE_DIR_H
#include "core/supervisor/children.h"

struct state_dir {
	char *path;
	int lock_fd; /* -1: not ours */
};

/* Makes it and the folder of plugins in it, and locks it until the process ends, however it ends.  Refused while
 * another host has it: whom a death is blamed on, and which plugin may be deleted, is for one host alone to say. */
bool state_dir_open(struct state_dir *state_dir, const char *path, struct error *error) MUST_CHECK;
void state_dir_close(struct state_dir *state_dir);
/* Deletes the staged plugins that no child runs or is about to run, and what a crash left of a copy. */
void state_dir_sweep(const struct state_dir *state_dir, const struct children *children);
#endif
