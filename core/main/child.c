/* A pipeline's process, from exec to exit. */
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/main/idemd.h"
#include "core/pipeline/pipeline.h"
#include "core/supervisor/supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* No atexit handler and no destructor of a plugin runs: it could crash or hang what has stopped cleanly. */
static _Noreturn void leave(int status)
{
	fflush(NULL);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	exit(status); /* their last reports are atexit handlers */
#else
	_exit(status);
#endif
}

/* The parent may have died between spawning us and this: then nobody reads the pipe any more, and no signal will come.
 */
static void die_with_parent(void)
{
	struct pollfd pipe = {.fd = CHILD_PIPE_FD, .events = POLLOUT};

	ASSERT(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	ASSERT(poll(&pipe, 1, 0) >= 0);
	if (pipe.revents & POLLNVAL)
		fputs("idemd: --child is for the supervisor alone\n", stderr);
	if (pipe.revents & (POLLERR | POLLNVAL))
		leave(CHILD_INTERNAL);
}

/* Blocked since exec, in every thread, whatever a plugin installs as a handler. */
static void block_signals(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGHUP);
	ASSERT(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
	ASSERT(sigaction(SIGPIPE, &ignore, NULL) == 0);
}

static void *wait_for_stop(void *unused)
{
	sigset_t stop;
	int signal_number;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	for (;;)
		if (sigwait(&stop, &signal_number) == 0)
			pipeline_request_stop();
	return unused;
}

static void load_config(struct config *config)
{
	struct config_report report;
	bool loaded = config_load_fd(CHILD_CONFIG_FD, config, &report);

	if (!loaded) /* warnings were told by the parent */
		config_report_print(&report, "configuration of the child", stderr);
	config_report_done(&report);
	close(CHILD_CONFIG_FD); /* the secrets in it are gone from this process's descriptors */
	if (!loaded)
		leave(CHILD_CONFIG);
}

static struct metrics_page *map_metrics(void)
{
	struct error error;
	struct metrics_page *page = metrics_map(CHILD_METRICS_FD, &error);

	close(CHILD_METRICS_FD);
	if (!page) {
		log_write(LOG_stopped, "%s", error.text);
		leave(CHILD_INTERNAL);
	}
	return page;
}

#ifdef IDEM_FAILPOINTS
/* IDEM_FAILPOINTS_ONCE names a file: only the child that makes it is armed, so that its successor lives. */
static bool is_armed(void)
{
	const char *once = getenv("IDEM_FAILPOINTS_ONCE");
	int fd;

	if (!once || !*once)
		return true;
	fd = open(once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void set_test_hooks(void)
{
	const char *offset = getenv("IDEM_CLOCK_OFFSET_MS"), *points = getenv("IDEM_FAILPOINTS");
	struct error error;

	if (offset)
		clock_set_offset_ms(strtoll(offset, NULL, 10));
	if (points && *points && is_armed() && !failpoint_arm(points, &error)) {
		log_write(LOG_stopped, "IDEM_FAILPOINTS: %s", error.text);
		leave(CHILD_CONFIG);
	}
}
#else
static void set_test_hooks(void)
{
}
#endif

static void say_stopped(void)
{
	ssize_t written = write(CHILD_PIPE_FD, "S", 1);

	if (written != 1)
		log_write(LOG_stopped, "the parent could not be told: %s", strerror(errno));
}

static int run_pipeline(const struct config *config, const char *name, const char *plugin_path,
                        struct metrics_page *metrics)
{
	struct pipeline_options options = {
	        .config = config,
	        .pipeline = config_find_pipeline(config, name),
	        .plugin_path = plugin_path,
	        .metrics = metrics,
	        .say_stopped = say_stopped,
	};
	pthread_t waiter;
	int status;

	if (!options.pipeline) {
		log_write(LOG_stopped, "the configuration at descriptor %d has no pipeline %s", CHILD_CONFIG_FD, name);
		return CHILD_CONFIG;
	}
	PTHREAD_OK(pthread_create(&waiter, NULL, wait_for_stop, NULL));
	status = pipeline_run(&options);
	PTHREAD_OK(pthread_cancel(waiter));
	PTHREAD_OK(pthread_join(waiter, NULL));
	return status;
}

void child_main(const char *name, const char *plugin_path)
{
	struct config config;
	struct metrics_page *metrics;
	int status;

	block_signals();
	die_with_parent();
	ASSERT(fcntl(CHILD_PIPE_FD, F_SETFD, FD_CLOEXEC) == 0);
	load_config(&config);
	log_open(name, config.log_level);
	metrics = map_metrics();
	set_test_hooks();
	status = run_pipeline(&config, name, plugin_path, metrics);
	if (status == CHILD_STOPPED) { /* else a handler may still run and look at them */
		config_done(&config);
		metrics_unmap(metrics);
	}
	leave(status);
}
