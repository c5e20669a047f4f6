/* Loading and creating a plugin to see whether it works, in a process of its own: its code may crash or hang. */
#include "core/base/escape.h"
#include "core/plugin/internal.h"
#include "core/plugin/metadata.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_SECONDS 10

/* ---- the process ---- */

static bool wait_for_child(pid_t child, struct error *error)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(error, ERROR_IO, "waiting for the check: %s", strerror(errno));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return error_set(error, ERROR_PLUGIN, "it was not loaded and created within %d s", TRIAL_SECONDS);
	if (WIFSIGNALED(status))
		return error_set(error, ERROR_PLUGIN, "it died of signal %d (%s) while it was loaded and created",
		                 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		return error_set(error, ERROR_PLUGIN, "it was refused");
	return true;
}

/* -1 and *error: there is none.  0: this is the child. */
static pid_t fork_trial(struct error *error)
{
	fflush(NULL);
	pid_t child = fork();

	if (child < 0)
		error_set(error, ERROR_IO, "fork: %s", strerror(errno));
	if (child == 0)
		alarm(TRIAL_SECONDS);
	return child;
}

/* ---- of a pipeline ---- */

static _Noreturn void try_in_child(const struct config_pipeline *pipeline, int out_fd)
{
	struct error error = {0};
	struct plugin *plugin = plugin_open(pipeline->plugin.file, &pipeline->plugin, pipeline->name, &error);
	bool works = plugin && plugin_fits(plugin, pipeline, &error) && plugin_create(plugin, &error);

	plugin_destroy(plugin);
	_exit(write(out_fd, &error, sizeof(error)) == (ssize_t)sizeof(error) && works ? 0 : 1);
}

/* What the child found; nothing came: it died, and how it did says more. */
static bool read_finding(int fd, pid_t child, struct error *error)
{
	struct error found;
	ssize_t bytes;

	do
		bytes = read(fd, &found, sizeof(found));
	while (bytes < 0 && errno == EINTR);
	bool lives = wait_for_child(child, error);
	if (lives || bytes != (ssize_t)sizeof(found) || found.code == ERROR_NONE)
		return lives;
	*error = found;
	return false;
}

bool plugin_try(const struct config_pipeline *pipeline, struct error *error)
{
	int ends[2];

	if (pipe(ends) != 0)
		return error_set(error, ERROR_IO, "pipe: %s", strerror(errno));
	pid_t child = fork_trial(error);
	if (child == 0)
		try_in_child(pipeline, ends[1]);
	close(ends[1]);
	bool works = child > 0 && read_finding(ends[0], child, error);
	close(ends[0]);
	return works;
}

/* ---- of a file, for people ---- */

static void print_options(const struct plugin *plugin, FILE *out)
{
	for (size_t i = 0; i < plugin->options.count; i++) {
		const struct idem_option *row = plugin->options.items[i].row;
		fprintf(out, "option    %s: %s, preset %s%s%s\n", row->name, row->type,
		        row->preset ? row->preset : "none", row->help ? ": " : "", row->help ? row->help : "");
	}
}

static void print_created(const struct plugin *plugin, FILE *out)
{
	const struct idem_plugin *descriptor = &plugin->descriptor;

	fputs("types    ", out);
	for (const char *const *type = descriptor->event_types; type && *type; type++)
		fprintf(out, " %s", *type);
	fprintf(out, "%s\n", descriptor->event_types && descriptor->event_types[0] ? "" : " every known type");
	fprintf(out, "callbacks handle%s%s%s\n", descriptor->handle_batch ? ", handle_batch" : "",
	        plugin_is_concurrent(plugin) ? ", concurrent" : ", one worker",
	        plugin_is_isolated(plugin) ? ", isolated" : "");
	print_options(plugin, out);
	for (uint32_t i = 0; i < plugin->statement_count; i++)
		fprintf(out, "statement %u: %s\n", i + 1, plugin->statements[i]->pg.sql);
}

/* In the child: everything up to create() and destroy(). */
static int check_in_child(const char *file, FILE *out)
{
	const struct config_plugin config = {.file = (char *)(uintptr_t)file};
	struct error error = {0};
	struct plugin *plugin = plugin_open(file, &config, "check", &error);

	if (plugin && plugin_create(plugin, &error))
		print_created(plugin, out);
	plugin_destroy(plugin);
	if (error.code != ERROR_NONE)
		fprintf(out, "refused   %s\n", error.text);
	fflush(out);
	return error.code == ERROR_NONE ? 0 : 1;
}

static bool check_exports(const char *file, FILE *out, struct error *error)
{
	struct elf_exports exports;
	struct elf_image image;
	const char *symbol;

	if (!elf_image_open(&image, file, error))
		return false;
	elf_exports_begin(&exports, &image);
	while ((symbol = elf_exports_next(&exports))) {
		if (strcmp(symbol, IDEM_ENTRY_SYMBOL) == 0)
			continue;
		fputs("warning   exports ", out);
		escape_text(bytes_from_string(symbol), out);
		fputs(": link with -fvisibility=hidden, so that it meets no other library's\n", out);
	}
	elf_image_close(&image);
	return true;
}

bool plugin_print_check(const char *file, FILE *out, struct error *error)
{
	if (!plugin_print_inspect(file, false, out, error))
		return false;
	if (!check_exports(file, out, error))
		return error_wrap(error, "plugin %s", file);
	pid_t child = fork_trial(error);
	if (child < 0)
		return false;
	if (child == 0)
		_exit(check_in_child(file, out));
	return wait_for_child(child, error) || error_wrap(error, "plugin %s", file);
}
