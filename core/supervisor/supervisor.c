#include "core/supervisor/supervisor.h"
#include "core/admin/admin.h"
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/supervisor/state_dir.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Readiness of the children is looked at this often, and memory where there is a memory_max. */
#define TICK_MS 1000
#define MEMORY_TICK_MS 100
/* After SIGKILL a process that is still not gone is stuck in the kernel: it is left to die with the parent. */
#define GIVE_UP_MS 3000

enum { EXIT_STOPPED = 0, EXIT_SERVICE_MISSING = 69, EXIT_INTERNAL = 70, EXIT_CONFIGURATION = 78 };

struct supervisor {
	struct supervisor_options options;
	struct children children;
	struct state_dir state_dir;
	struct admin *admin;         /* NULL: none is configured */
	struct admin_pipeline *view; /* filled anew for each request */
	size_t view_capacity;
	char *listen; /* what the admin port was opened with */
	int signal_fd;
	bool draining;
	int64_t give_up_ms; /* while draining: leave, whatever is still there */
	int64_t reloads, reload_failures;
	int exit_status;
};

/* ---- admin ---- */

static void look(void *self, struct admin_status *out_status)
{
	struct supervisor *supervisor = self;
	size_t count = 0;

	for (struct child *child = supervisor->children.first; child; child = child->next)
		count++;
	if (count > supervisor->view_capacity) {
		supervisor->view = realloc(supervisor->view, count * sizeof(*supervisor->view));
		ASSERT(supervisor->view);
		supervisor->view_capacity = count;
	}
	count = 0;
	for (struct child *child = supervisor->children.first; child; child = child->next)
		supervisor->view[count++] = (struct admin_pipeline){
		        .name = child->plan.name,
		        .plugin_name = child->plan.plugin_name,
		        .plugin_version = child->plan.plugin_version,
		        .state = child_state_name(child->state),
		        .reason = child->reason,
		        .running = child->state == CHILD_STATE_RUNNING,
		        .pid = child->pid,
		        .restarts = child->restarts,
		        .uptime_ms = child->pid ? clock_monotonic_ms() - child->started_ms : 0,
		        .latency_p95_us = latency_window_p95_us(&child->latency, child->page),
		        .page = child->page,
		};
	*out_status = (struct admin_status){
	        .pipelines = supervisor->view,
	        .count = count,
	        .draining = supervisor->draining,
	        .reloads = supervisor->reloads,
	        .reload_failures = supervisor->reload_failures,
	};
}

static bool open_admin(struct supervisor *supervisor, const struct config_admin *config, struct error *error)
{
	struct admin_options options = {.config = config, .look = look, .self = supervisor};

	if (!config->listen)
		return true;
	supervisor->listen = strdup(config->listen);
	ASSERT(supervisor->listen);
	supervisor->admin = admin_create(&options, error);
	return supervisor->admin != NULL;
}

/* ---- drain ---- */

static void begin_drain(struct supervisor *supervisor, const char *why)
{
	if (supervisor->draining)
		return;
	log_write(LOG_drain, "%s: every pipeline finishes what it began", why);
	supervisor->draining = true;
	supervisor->give_up_ms = clock_monotonic_ms() + supervisor->options.limits.stop_ms + GIVE_UP_MS;
	for (struct child *child = supervisor->children.first; child; child = child->next)
		child_stop(child, &supervisor->options.limits);
}

/* ---- reload ---- */

static void log_report(const struct supervisor *supervisor, const struct config_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct config_mistake *mistake = &report->items[i];

		log_write(mistake->warning ? LOG_config_warning : LOG_reload_refused, "%s:%d: %s",
		          mistake->file ? mistake->file : supervisor->options.config_path, mistake->line,
		          mistake->text);
	}
}

static void warn_of_restart(const struct supervisor *supervisor, const struct config_admin *config)
{
	const char *was = supervisor->listen ? supervisor->listen : "off";
	const char *now = config->listen ? config->listen : "off";

	if (strcmp(was, now) != 0)
		log_write(LOG_config_warning, "admin.listen was %s and is %s now: that needs a restart of idemd", was,
		          now);
}

/* Another folder knows nothing of the deaths that stand in this one, and may be another host's. */
static bool state_dir_moved(const struct supervisor *supervisor, const struct config *config, struct error *error)
{
	const char *was = supervisor->state_dir.path;

	return strcmp(was, config->state_dir) != 0 &&
	       !error_set(error, ERROR_CONFIG, "state_dir was %s and is %s now: that needs a restart of idemd", was,
	                  config->state_dir);
}

static bool plans_are_refused(const struct child_plans *plans, struct error *error)
{
	const char *refusal = child_plans_refusal(plans);

	return refusal && !error_set(error, ERROR_PLUGIN, "%s", refusal);
}

/* Everything that can fail comes before the first thing that can't be undone. */
static bool take_over(struct supervisor *supervisor, const struct config *config)
{
	struct child_plans plans = {0};
	struct error error;
	bool taken =
	        !state_dir_moved(supervisor, config, &error) && child_plans_make(config, &plans, &error) &&
	        !plans_are_refused(&plans, &error) &&
	        (!supervisor->admin || admin_set_token_file(supervisor->admin, config->admin.token_file, &error)) &&
	        children_reload(&supervisor->children, &plans, &supervisor->options.limits, &error);

	child_plans_done(&plans);
	state_dir_sweep(&supervisor->state_dir, &supervisor->children);
	if (!taken)
		log_write(LOG_reload_refused, "%s: %s", supervisor->options.config_path, error.text);
	return taken;
}

/* The new configuration is checked whole before anything of the old one is touched. */
static void reload(struct supervisor *supervisor)
{
	struct config config;
	struct config_report report;

	if (config_load(supervisor->options.config_path, &config, &report))
		supervisor_check_plugins(&config, &report);
	log_report(supervisor, &report);
	if (report.error_count == 0 && take_over(supervisor, &config)) {
		supervisor->reloads++;
		log_write(LOG_reload, "%s was taken over", supervisor->options.config_path);
		warn_of_restart(supervisor, &config.admin);
	} else {
		supervisor->reload_failures++;
	}
	config_done(&config);
	config_report_done(&report);
}

/* ---- signals ---- */

/* Before anything worked, what is wrong is told by the exit status; after that it is an outage that is waited for. */
static void give_up_start(struct supervisor *supervisor, const struct child *child, enum child_end end)
{
	if (end == CHILD_END_MISSING)
		supervisor->exit_status = EXIT_SERVICE_MISSING;
	else if (children_all_down(&supervisor->children))
		supervisor->exit_status = EXIT_CONFIGURATION;
	else
		return;
	begin_drain(supervisor, child->reason);
}

static void on_child_end(struct supervisor *supervisor, struct child *child, int wait_status)
{
	bool asked;
	enum child_end end = child_reap(child, wait_status, &supervisor->options.limits, &asked);

	if (end == CHILD_END_CLEAN) {
		log_write(LOG_stopped, "pipeline %s: %s", child->plan.name, child->reason);
		state_dir_sweep(&supervisor->state_dir, &supervisor->children); /* its plugin may have been replaced */
		return;
	}
	log_write(LOG_child_died, "pipeline %s: %s", child->plan.name, child->reason);
	/* One that never got as far as consuming left nothing behind. */
	if (asked && end != CHILD_END_MISSING && supervisor->draining && supervisor->exit_status == EXIT_STOPPED)
		supervisor->exit_status = EXIT_INTERNAL;
	if (!supervisor->children.any_was_ready && !supervisor->draining)
		give_up_start(supervisor, child, end);
}

static void read_signals(struct supervisor *supervisor)
{
	struct signalfd_siginfo info;

	while (read(supervisor->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP && !supervisor->draining)
			reload(supervisor);
		else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			begin_drain(supervisor, info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
	}
}

/* Looked at every turn, not only on SIGCHLD: signals of one kind merge. */
static void reap_children(struct supervisor *supervisor)
{
	struct child *child;
	int wait_status;

	children_note_ready(&supervisor->children);
	while ((child = children_wait(&supervisor->children, &wait_status)))
		on_child_end(supervisor, child, wait_status);
}

/* ---- the loop ---- */

static int poll_timeout_ms(const struct supervisor *supervisor)
{
	int64_t now_ms = clock_monotonic_ms(), wait_ms = children_due_ms(&supervisor->children) - now_ms;
	int admin_ms = supervisor->admin ? admin_timeout_ms(supervisor->admin) : -1;
	int64_t tick_ms = children_have_memory_max(&supervisor->children) ? MEMORY_TICK_MS : TICK_MS;

	if (wait_ms > tick_ms)
		wait_ms = tick_ms;
	if (admin_ms >= 0 && admin_ms < wait_ms)
		wait_ms = admin_ms;
	return wait_ms < 0 ? 0 : (int)wait_ms;
}

static void wait_for_something(struct supervisor *supervisor)
{
	struct pollfd fds[] = {
	        {.fd = supervisor->signal_fd, .events = POLLIN},
	        {.fd = supervisor->admin ? admin_poll_fd(supervisor->admin) : -1, .events = POLLIN},
	};
	int count = poll(fds, sizeof(fds) / sizeof(*fds), poll_timeout_ms(supervisor));

	ASSERT(count >= 0 || errno == EINTR);
}

static bool is_finished(const struct supervisor *supervisor)
{
	if (!supervisor->draining)
		return false;
	return !supervisor->children.first || clock_monotonic_ms() >= supervisor->give_up_ms;
}

static void run(struct supervisor *supervisor)
{
	while (!is_finished(supervisor)) {
		wait_for_something(supervisor);
		read_signals(supervisor);
		reap_children(supervisor);
		children_tend(&supervisor->children, &supervisor->options);
		if (supervisor->admin)
			admin_run(supervisor->admin);
	}
	if (supervisor->children.first)
		supervisor->exit_status = EXIT_INTERNAL;
}

/* ---- start and end ---- */

static int open_signals(void)
{
	sigset_t wanted;
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int fd;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGHUP);
	sigaddset(&wanted, SIGCHLD);
	ASSERT(sigprocmask(SIG_BLOCK, &wanted, NULL) == 0);
	ASSERT(sigaction(SIGPIPE, &ignore, NULL) == 0);
	fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
	ASSERT(fd >= 0);
	return fd;
}

static struct supervisor_limits limits_or_default(struct supervisor_limits limits)
{
	if (!limits.backoff_first_ms)
		limits.backoff_first_ms = 100;
	if (!limits.backoff_max_ms)
		limits.backoff_max_ms = 5000;
	if (!limits.backoff_reset_ms)
		limits.backoff_reset_ms = 60000;
	if (!limits.stop_ms)
		limits.stop_ms = 55000;
	return limits;
}

/* An exit status: 0 when everything is there. */
static int start(struct supervisor *supervisor, const struct config *config)
{
	struct child_plans plans;
	struct error error;
	bool made;

	if (!state_dir_open(&supervisor->state_dir, config->state_dir, &error) ||
	    !child_plans_make(config, &plans, &error)) {
		log_write(LOG_stopped, "%s", error.text);
		return EXIT_CONFIGURATION;
	}
	made = children_reload(&supervisor->children, &plans, &supervisor->options.limits, &error);
	child_plans_done(&plans);
	if (!made) {
		log_write(LOG_stopped, "%s", error.text);
		return EXIT_INTERNAL;
	}
	state_dir_sweep(&supervisor->state_dir, &supervisor->children);
	if (!open_admin(supervisor, &config->admin, &error)) {
		log_write(LOG_stopped, "%s", error.text);
		return error.code == ERROR_CONFIG ? EXIT_CONFIGURATION : EXIT_SERVICE_MISSING;
	}
	return children_all_down(&supervisor->children) ? EXIT_CONFIGURATION : EXIT_STOPPED;
}

int supervisor_run(const struct supervisor_options *options, const struct config *config)
{
	struct supervisor supervisor = {.options = *options, .state_dir.lock_fd = -1, .signal_fd = open_signals()};

	supervisor.options.limits = limits_or_default(options->limits);
	supervisor.exit_status = start(&supervisor, config);
	if (supervisor.exit_status == EXIT_STOPPED) {
		log_write(LOG_started, "idem %s: %zu pipeline%s, admin port %s", PACKAGE_VERSION,
		          config->pipeline_count, config->pipeline_count == 1 ? "" : "s",
		          supervisor.listen ? supervisor.listen : "off");
		run(&supervisor);
		log_write(LOG_stopped, "exit status %d", supervisor.exit_status);
	}
	children_done(&supervisor.children);
	state_dir_close(&supervisor.state_dir);
	admin_destroy(supervisor.admin);
	free(supervisor.view);
	free(supervisor.listen);
	close(supervisor.signal_fd);
	return supervisor.exit_status;
}
