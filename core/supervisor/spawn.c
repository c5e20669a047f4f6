#include "core/supervisor/spawn.h"
#include "core/base/assert.h"
#include "core/supervisor/supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every descriptor of ours lies above this, so that placing one at 3, 4 or 5 never overwrites another. */
#define PARENT_FD_FLOOR 16

static bool lift_fd(int *fd, struct error *error)
{
	int lifted = fcntl(*fd, F_DUPFD_CLOEXEC, PARENT_FD_FLOOR);

	if (lifted < 0)
		return error_set(error, ERROR_IO, "can't duplicate a descriptor: %s", strerror(errno));
	close(*fd);
	*fd = lifted;
	return true;
}

int spawn_create_page(size_t size, struct error *error)
{
	int fd = memfd_create("idem-metrics", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 && lift_fd(&fd, error))
		return fd;
	error_set(error, ERROR_IO, "can't make a metrics page: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t written = write(fd, text, len);

		if (written < 0)
			return false;
		text += written;
		len -= (size_t)written;
	}
	return true;
}

/* A descriptor that reads the child's configuration from its start; memory only, never a file. */
static int open_config(const char *text, struct error *error)
{
	int fd = memfd_create("idem-config", MFD_CLOEXEC);

	if (fd >= 0 && write_all(fd, text, strlen(text)) && lseek(fd, 0, SEEK_SET) == 0 && lift_fd(&fd, error))
		return fd;
	error_set(error, ERROR_IO, "can't hand over the configuration: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool open_pipe(int *out_read_fd, int *out_write_fd, struct error *error)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return error_set(error, ERROR_IO, "can't make a pipe: %s", strerror(errno));
	if (lift_fd(&ends[0], error) && lift_fd(&ends[1], error)) {
		*out_read_fd = ends[0];
		*out_write_fd = ends[1];
		return true;
	}
	close(ends[0]);
	close(ends[1]);
	return false;
}

/* Default actions, and blocked what the parent gets for both: Ctrl-C and a reload reach the whole group and are the
 * parent's business alone; a SIGTERM stays pending until the child waits for it, however early it comes. */
static void set_signals(posix_spawnattr_t *attributes)
{
	sigset_t blocked, all;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGHUP);
	sigfillset(&all);
	ASSERT(posix_spawnattr_setsigmask(attributes, &blocked) == 0);
	ASSERT(posix_spawnattr_setsigdefault(attributes, &all) == 0);
	ASSERT(posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0);
}

static void set_descriptors(posix_spawn_file_actions_t *actions, int config_fd, int metrics_fd, int pipe_fd)
{
	ASSERT(posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0);
	ASSERT(posix_spawn_file_actions_adddup2(actions, config_fd, CHILD_CONFIG_FD) == 0);
	ASSERT(posix_spawn_file_actions_adddup2(actions, metrics_fd, CHILD_METRICS_FD) == 0);
	ASSERT(posix_spawn_file_actions_adddup2(actions, pipe_fd, CHILD_PIPE_FD) == 0);
	ASSERT(posix_spawn_file_actions_addclosefrom_np(actions, CHILD_PIPE_FD + 1) == 0);
}

/* The very program that runs.  By its path as long as that leads to it (valgrind knows it by no other name); once its
 * file was replaced, by the link that still does: parent and child must be of one build. */
static const char *own_program(char *path, size_t size)
{
	static const char self[] = "/proc/self/exe";
	ssize_t len = readlink(self, path, size - 1);

	if (len <= 0)
		return self;
	path[len] = '\0';
	return access(path, X_OK) == 0 ? path : self; /* a replaced one reads "… (deleted)" */
}

static bool spawn_process(const struct spawn_options *options, int config_fd, int pipe_fd, pid_t *out_pid,
                          struct error *error)
{
	char child[] = "--child", kind[] = "pipeline", plugin[] = "--plugin", program[] = "idemd";
	char *arguments[] = {program, child, kind, options->plan->name, plugin, options->plan->plugin_path, NULL};
	char path[PATH_MAX];
	const char *self_path = options->self_path ? options->self_path : own_program(path, sizeof(path));
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int code;

	ASSERT(posix_spawn_file_actions_init(&actions) == 0);
	ASSERT(posix_spawnattr_init(&attributes) == 0);
	set_signals(&attributes);
	set_descriptors(&actions, config_fd, options->metrics_fd, pipe_fd);
	code = posix_spawn(out_pid, self_path, &actions, &attributes, arguments, options->environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (code != 0)
		return error_set(error, ERROR_IO, "can't start %s: %s", self_path, strerror(code));
	return true;
}

bool spawn_child(const struct spawn_options *options, pid_t *out_pid, int *out_pipe_fd, struct error *error)
{
	int config_fd, read_fd = -1, write_fd = -1;
	bool started;

	config_fd = open_config(options->plan->text, error);
	if (config_fd < 0)
		return false;
	if (!open_pipe(&read_fd, &write_fd, error)) {
		close(config_fd);
		return false;
	}
	started = spawn_process(options, config_fd, write_fd, out_pid, error);
	close(config_fd);
	close(write_fd);
	if (started)
		*out_pipe_fd = read_fd;
	else
		close(read_fd);
	return started;
}
