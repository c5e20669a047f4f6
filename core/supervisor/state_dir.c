#include "core/supervisor/state_dir.h"
#include "core/base/assert.h"
#include "core/base/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGEST_DIGITS 64
#define TEMPORARY_PREFIX ".plugin-"

/* ---- the lock ---- */

static bool make_directory(const char *path, struct error *error)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return true;
	return error_set(error, ERROR_CONFIG, "state_dir: can't make %s: %s; make it and let this user write there",
	                 path, strerror(errno));
}

static bool make_directories(const char *path, struct error *error)
{
	char plugins[PATH_MAX];

	if ((size_t)snprintf(plugins, sizeof(plugins), "%s/plugins", path) >= sizeof(plugins))
		return error_set(error, ERROR_CONFIG, "state_dir: the path is too long");
	return make_directory(path, error) && make_directory(plugins, error);
}

/* What the owner wrote is a hint for people: the lock is what counts. */
static bool refuse(const char *path, int lock_fd, struct error *error)
{
	char owner[16];
	ssize_t len = pread(lock_fd, owner, sizeof(owner) - 1, 0);

	owner[len > 0 ? len : 0] = '\0';
	owner[strcspn(owner, "\n")] = '\0';
	return error_set(
	        error, ERROR_CONFIG,
	        "state_dir: %s belongs to the idemd that runs as process %s; stop that one, or give this one a "
	        "state_dir of its own",
	        path, *owner ? owner : "(unknown)");
}

static bool take_lock(const char *path, int lock_fd, struct error *error)
{
	if (flock(lock_fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (errno == EWOULDBLOCK)
		return refuse(path, lock_fd, error);
	return error_set(error, ERROR_CONFIG, "state_dir: can't lock %s/lock: %s; it must be on a local disk", path,
	                 strerror(errno));
}

static bool write_owner(const char *path, int lock_fd, struct error *error)
{
	if (ftruncate(lock_fd, 0) == 0 && dprintf(lock_fd, "%ld\n", (long)getpid()) > 0)
		return true;
	return error_set(error, ERROR_CONFIG, "state_dir: can't write %s/lock: %s", path, strerror(errno));
}

bool state_dir_open(struct state_dir *state_dir, const char *path, struct error *error)
{
	char lock_path[PATH_MAX];
	int lock_fd;

	if (!make_directories(path, error))
		return false;
	snprintf(lock_path, sizeof(lock_path), "%s/lock", path);
	lock_fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock_fd < 0)
		return error_set(error, ERROR_CONFIG, "state_dir: can't open %s: %s; let this user write there",
		                 lock_path, strerror(errno));
	if (!take_lock(path, lock_fd, error) || !write_owner(path, lock_fd, error)) {
		close(lock_fd);
		return false;
	}
	state_dir->lock_fd = lock_fd;
	state_dir->path = strdup(path);
	ASSERT(state_dir->path);
	return true;
}

/* The file stays: one that is deleted could be locked by two. */
void state_dir_close(struct state_dir *state_dir)
{
	if (state_dir->lock_fd >= 0)
		close(state_dir->lock_fd);
	free(state_dir->path);
	*state_dir = (struct state_dir){.lock_fd = -1};
}

/* ---- staged plugins ---- */

/* Anything else there was not put there by a host. */
static bool is_ours(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");

	if (strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0)
		return true;
	return digits == DIGEST_DIGITS && strcmp(name + digits, ".so") == 0;
}

static bool is_plan_of(const struct child_plan *plan, const char *path)
{
	return plan->plugin_path && strcmp(plan->plugin_path, path) == 0;
}

static bool is_in_use(const struct children *children, const char *path)
{
	for (const struct child *child = children->first; child; child = child->next)
		if (is_plan_of(&child->plan, path) || is_plan_of(&child->successor, path))
			return true;
	return false;
}

void state_dir_sweep(const struct state_dir *state_dir, const struct children *children)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/plugins", state_dir->path);
	folder = opendir(path);
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		int len = snprintf(path, sizeof(path), "%s/plugins/%s", state_dir->path, entry->d_name);

		if ((size_t)len >= sizeof(path) || !is_ours(entry->d_name) || is_in_use(children, path))
			continue;
		if (unlink(path) != 0)
			log_write(LOG_config_warning, "can't delete %s, which no pipeline runs: %s", path,
			          strerror(errno));
	}
	closedir(folder);
}
