/* The parent with real processes: tests/tools/fakechild instead of pipelines, the real core/main/child.c around them.
 */
#include "core/base/clock.h"
#include "core/supervisor/supervisor.h"
#include "tests/unit/run_suite.h"
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKE_CHILD "tests/tools/fakechild"
#define REF_PLUGIN "tests/plugins/ref/ref.so"
#define STEP_TIMEOUT_SECONDS 10

static char directory[64], config_path[128], plugin_path[128];
static int steps; /* what children tell */
static uint16_t port;
static pid_t host; /* the process that runs supervisor_run; 0: none */
static struct supervisor_limits limits;

/* ---- the stage ---- */

static void path_in(char *out, size_t size, const char *name)
{
	snprintf(out, size, "%s/%s", directory, name);
}

static void write_file(const char *name, const char *text)
{
	char path[192];
	FILE *out;

	path_in(path, sizeof(path), name);
	out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs(text, out), 0);
	ck_assert_int_eq(fclose(out), 0);
}

static void order(const char *pipeline, const char *what)
{
	char name[80];

	snprintf(name, sizeof(name), "%s.do", pipeline);
	write_file(name, what);
}

/* tail: bytes behind the library that change its digest and nothing else. */
static void install_plugin(const char *tail)
{
	FILE *in = fopen(REF_PLUGIN, "r"), *out = fopen(plugin_path, "w");
	char buffer[65536];
	size_t len;

	ck_assert_ptr_nonnull(in);
	ck_assert_ptr_nonnull(out);
	while ((len = fread(buffer, 1, sizeof(buffer), in)) > 0)
		ck_assert_uint_eq(fwrite(buffer, 1, len, out), len);
	fputs(tail, out);
	fclose(in);
	ck_assert_int_eq(fclose(out), 0);
}

static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* pipelines: "name setting; …" each, NULL-terminated. */
static void write_config(const char *const *pipelines)
{
	char text[8192], admin[64] = "";
	size_t used;

	if (port)
		snprintf(admin, sizeof(admin), "admin = { listen = \"127.0.0.1:%u\"; };\n", port);

	snprintf(text, sizeof(text),
	         "state_dir = \"%s\";\n"
	         "database = { conninfo = \"host=127.0.0.1 dbname=x user=x\"; password_file = \"%s/pg.secret\"; };\n"
	         "kafka = { bootstrap_servers = \"127.0.0.1:1\"; };\n"
	         "%s"
	         "pipelines = (",
	         directory, directory, admin);
	for (size_t i = 0; pipelines[i]; i++) {
		const char *rest = strchr(pipelines[i], ' ');
		int len = rest ? (int)(rest - pipelines[i]) : (int)strlen(pipelines[i]);

		used = strlen(text);
		snprintf(text + used, sizeof(text) - used,
		         "%s{ name = \"%.*s\"; topics = [\"orders\"]; plugin = { file = \"%s\"; };%s }\n", i ? "," : "",
		         len, pipelines[i], plugin_path, rest ? rest : "");
	}
	used = strlen(text);
	snprintf(text + used, sizeof(text) - used, ");\n");
	write_file("idem.conf", text);
}

#define CONFIG(...) write_config((const char *const[]){__VA_ARGS__, NULL})

static void bind_steps(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = STEP_TIMEOUT_SECONDS};

	path_in(address.sun_path, sizeof(address.sun_path), "steps");
	steps = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(steps, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(setsockopt(steps, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
}

static void set_up(void)
{
	snprintf(directory, sizeof(directory), "/tmp/idem-supervisor.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	path_in(config_path, sizeof(config_path), "idem.conf");
	path_in(plugin_path, sizeof(plugin_path), "ref.so");
	bind_steps();
	port = free_port();
	write_file("pg.secret", "s3cret-of-pg\n");
	install_plugin("");
	limits = (struct supervisor_limits){.backoff_first_ms = 20, .backoff_max_ms = 80, .stop_ms = 10000};
	host = 0;
}

static int host_main(char *const *environment)
{
	struct supervisor_options options = {
	        .self_path = FAKE_CHILD, .config_path = config_path, .environment = environment, .limits = limits};
	struct config config;
	struct config_report report;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!config_load(config_path, &config, &report)) {
		config_report_print(&report, config_path, stderr);
		return 1;
	}
	log_open("supervisor", LOG_LEVEL_INFO);
	status = supervisor_run(&options, &config);
	config_done(&config);
	config_report_done(&report);
	return status;
}

static void start_host(void)
{
	static char path[] = "PATH=/usr/bin:/bin";
	char *environment[] = {path, NULL};

	host = fork();
	ck_assert_int_ge(host, 0);
	if (host == 0)
		_exit(host_main(environment));
}

/* The exit status, or 1000 + signal. */
static int wait_host(void)
{
	int status;

	ck_assert_int_eq(waitpid(host, &status, 0), host);
	host = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int stop_host(void)
{
	ck_assert_int_eq(kill(host, SIGTERM), 0);
	return wait_host();
}

static void tear_down(void)
{
	char command[128];
	pid_t remover;
	int status;

	if (host) {
		kill(host, SIGKILL);
		waitpid(host, &status, 0);
	}
	close(steps);
	snprintf(command, sizeof(command), "%s", directory);
	remover = fork();
	if (remover == 0) {
		execlp("rm", "rm", "-rf", command, (char *)NULL);
		_exit(127);
	}
	waitpid(remover, &status, 0);
}

/* ---- what is seen ---- */

struct step {
	char line[512], what[16], name[64];
	pid_t pid;
};

static struct step next_step(void)
{
	struct step step = {0};
	ssize_t len = recv(steps, step.line, sizeof(step.line) - 1, 0);
	int pid = 0;

	ck_assert_msg(len > 0, "no child told anything for %d s", STEP_TIMEOUT_SECONDS);
	ck_assert_int_eq(sscanf(step.line, "%15s %63s %d", step.what, step.name, &pid), 3);
	step.pid = pid;
	return step;
}

static struct step expect_step(const char *what, const char *name)
{
	struct step step = next_step();

	ck_assert_msg(strcmp(step.what, what) == 0 && strcmp(step.name, name) == 0, "expected \"%s %s\", got \"%s\"",
	              what, name, step.line);
	return step;
}

/* The process that is told to stop now is the one that was started at first: nothing was replaced meanwhile. */
static void expect_only_stop_of(const char *pipeline, pid_t pid)
{
	ck_assert_int_eq(kill(host, SIGTERM), 0);
	ck_assert_int_eq(expect_step("stop", pipeline).pid, pid);
	ck_assert_int_eq(wait_host(), 0);
}

/* The answer, headers and all; static storage. */
static const char *get(const char *path)
{
	static char answer[1 << 18];
	struct sockaddr_in address = {
	        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char request[128];
	size_t used = 0;
	ssize_t len;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", path);
	ck_assert_int_eq(send(fd, request, strlen(request), 0), (ssize_t)strlen(request));
	while ((len = recv(fd, answer + used, sizeof(answer) - 1 - used, 0)) > 0)
		used += (size_t)len;
	answer[used] = '\0';
	close(fd);
	return answer;
}

static void assert_contains(const char *text, const char *wanted)
{
	ck_assert_msg(strstr(text, wanted) != NULL, "no \"%s\" in:\n%s", wanted, text);
}

/* Asks until the answer has it: what a signal set off is seen a moment later. */
static void await_answer(const char *path, const char *wanted)
{
	int64_t deadline_ms = clock_monotonic_ms() + 1000 * STEP_TIMEOUT_SECONDS;
	const char *answer;

	do
		answer = get(path);
	while (!strstr(answer, wanted) && clock_monotonic_ms() < deadline_ms);
	assert_contains(answer, wanted);
}

static void read_proc(pid_t pid, const char *file, char *out, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	len = read(fd, out, size - 1);
	ck_assert_int_ge(len, 0);
	close(fd);
	for (ssize_t i = 0; i < len; i++)
		if (!out[i])
			out[i] = ' ';
	out[len] = '\0';
}

/* ---- death and restart ---- */

START_TEST(a_child_that_dies_is_started_again_with_growing_delays)
{
	static const int64_t at_least_ms[] = {20, 40, 80, 80};
	int64_t before_ms;

	CONFIG("billing");
	order("billing", "abort");
	start_host();
	expect_step("start", "billing");
	for (size_t i = 0; i < 4; i++) {
		before_ms = clock_monotonic_ms();
		expect_step("start", "billing");
		ck_assert_int_ge(clock_monotonic_ms() - before_ms, at_least_ms[i] / 2);
	}
	order("billing", "");
	while (strstr(next_step().line, "start") == NULL)
		;
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(exit_0_without_a_word_is_a_death)
{
	CONFIG("billing");
	order("billing", "exit");
	start_host();
	expect_step("start", "billing");
	order("billing", "");
	expect_step("start", "billing");
	await_answer("/metrics", "idem_child_restarts_total{pipeline=\"billing\"} 1\n");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(counters_go_on_over_a_restart_and_gauges_do_not)
{
	pid_t pid;

	CONFIG("billing");
	start_host();
	pid = expect_step("start", "billing").pid;
	assert_contains(get("/metrics"), "idem_records_consumed_total{pipeline=\"billing\"} 1\n");
	assert_contains(get("/metrics"), "idem_consumer_lag{pipeline=\"billing\"} 42\n");
	order("billing", "77");
	kill(pid, SIGKILL);
	expect_step("start", "billing");
	await_answer("/readyz", "billing: not ready: down: the plugin was refused");
	assert_contains(get("/metrics"), "idem_records_consumed_total{pipeline=\"billing\"} 2\n");
	assert_contains(get("/metrics"), "idem_consumer_lag{pipeline=\"billing\"} 0\n");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(a_child_stopped_by_somebody_else_is_started_again)
{
	pid_t pid;

	CONFIG("billing");
	start_host();
	pid = expect_step("start", "billing").pid;
	kill(pid, SIGTERM);
	expect_step("stop", "billing");
	expect_step("start", "billing");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

static const struct {
	const char *status, *reason;
} stay_down[] = {
        {"76", "the plugin ended the host's transaction"},
        {"77", "the plugin was refused"},
        {"78", "its configuration was refused"},
};

START_TEST(a_status_no_restart_cures_stays_down_and_the_others_run_on)
{
	char wanted[128];

	CONFIG("billing", "audit");
	order("billing", stay_down[_i].status);
	start_host();
	next_step();
	next_step();
	snprintf(wanted, sizeof(wanted), "billing: not ready: down: %s", stay_down[_i].reason);
	await_answer("/readyz", wanted);
	assert_contains(get("/readyz"), "503");
	assert_contains(get("/readyz"), "audit: ready\n");
	assert_contains(get("/metrics"), "idem_pipeline_up{pipeline=\"billing\"} 0\n");
	ck_assert_int_eq(kill(host, SIGTERM), 0);
	expect_step("stop", "audit"); /* billing was not started again */
	ck_assert_int_eq(wait_host(), 0);
}
END_TEST

START_TEST(a_host_of_which_every_pipeline_is_refused_at_the_start_ends_with_78)
{
	CONFIG("billing", "audit");
	order("billing", "77");
	order("audit", "78");
	start_host();
	ck_assert_int_eq(wait_host(), 78);
}
END_TEST

START_TEST(a_service_missing_at_the_very_start_ends_the_host_with_69)
{
	CONFIG("billing");
	order("billing", "69");
	start_host();
	expect_step("start", "billing");
	ck_assert_int_eq(wait_host(), 69);
}
END_TEST

START_TEST(a_service_missing_after_a_child_was_ready_is_an_outage_that_is_waited_for)
{
	pid_t pid;

	CONFIG("billing");
	start_host();
	pid = expect_step("start", "billing").pid;
	order("billing", "69");
	kill(pid, SIGKILL);
	for (int i = 0; i < 3; i++)
		expect_step("start", "billing");
	order("billing", "");
	while (strstr(next_step().line, "descriptors") == NULL)
		;
	await_answer("/readyz", "200");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(a_child_over_its_memory_is_killed_and_started_again)
{
	CONFIG("billing memory_max = \"32MB\"; queue = { max_bytes = \"8MB\"; };");
	order("billing", "eat");
	start_host();
	expect_step("start", "billing");
	order("billing", "");
	expect_step("start", "billing");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

/* ---- stop ---- */

START_TEST(sigterm_stops_every_child_and_exits_0)
{
	CONFIG("billing", "audit");
	start_host();
	next_step();
	next_step();
	ck_assert_int_eq(kill(host, SIGTERM), 0);
	ck_assert_str_eq(next_step().what, "stop");
	ck_assert_str_eq(next_step().what, "stop");
	ck_assert_int_eq(wait_host(), 0);
}
END_TEST

START_TEST(a_child_that_does_not_stop_is_killed_at_the_cap_and_the_host_says_so)
{
	int64_t before_ms;

	limits.stop_ms = 200;
	CONFIG("billing");
	order("billing", "hang");
	start_host();
	expect_step("start", "billing");
	before_ms = clock_monotonic_ms();
	ck_assert_int_eq(stop_host(), 70);
	ck_assert_int_ge(clock_monotonic_ms() - before_ms, 200);
}
END_TEST

START_TEST(a_host_without_an_admin_port_works)
{
	port = 0;
	CONFIG("billing");
	start_host();
	expect_step("start", "billing");
	CONFIG("billing", "audit");
	kill(host, SIGHUP);
	expect_step("start", "audit");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(a_second_sigterm_changes_nothing)
{
	limits.stop_ms = 300;
	CONFIG("billing");
	order("billing", "hang");
	start_host();
	expect_step("start", "billing");
	kill(host, SIGTERM);
	kill(host, SIGTERM);
	kill(host, SIGHUP);
	ck_assert_int_eq(wait_host(), 70);
}
END_TEST

START_TEST(children_die_when_the_host_is_killed)
{
	pid_t pid;

	CONFIG("billing");
	order("billing", "hang");
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that we can wait for it */
	start_host();
	pid = expect_step("start", "billing").pid;
	kill(host, SIGKILL);
	ck_assert_int_eq(wait_host(), 1000 + SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* ---- reload ---- */

START_TEST(a_reload_replaces_the_changed_adds_the_new_and_drains_the_removed)
{
	pid_t kept, kept_later;

	CONFIG("kept", "changed", "removed");
	start_host();
	for (int i = 0; i < 3; i++) {
		struct step step = next_step();

		if (strcmp(step.name, "kept") == 0)
			kept = step.pid;
	}
	CONFIG("kept", "changed batch = { max = 7; };", "added");
	ck_assert_int_eq(kill(host, SIGHUP), 0);
	for (int stops = 0, starts = 0; stops < 2 || starts < 2;) {
		struct step step = next_step();

		ck_assert_str_ne(step.name, "kept");
		if (strcmp(step.what, "stop") == 0)
			stops++;
		else
			starts++;
		ck_assert_msg(strcmp(step.name, "removed") != 0 || strcmp(step.what, "stop") == 0, "removed started");
	}
	await_answer("/metrics", "idem_reloads_total 1\n");
	ck_assert_ptr_null(strstr(get("/metrics"), "pipeline=\"removed\""));
	kill(host, SIGTERM);
	for (int i = 0; i < 3; i++) {
		struct step step = next_step();

		if (strcmp(step.name, "kept") == 0)
			kept_later = step.pid;
	}
	ck_assert_int_eq(kept, kept_later);
	ck_assert_int_eq(wait_host(), 0);
}
END_TEST

START_TEST(a_reload_with_another_plugin_file_replaces_the_child)
{
	struct step before, after;

	CONFIG("billing");
	start_host();
	before = expect_step("start", "billing");
	install_plugin("one byte more");
	kill(host, SIGHUP);
	expect_step("stop", "billing");
	after = expect_step("start", "billing");
	ck_assert_str_ne(strstr(before.line, "plugin="), strstr(after.line, "plugin="));
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(a_reload_with_another_schema_file_replaces_the_child)
{
	char folder[128], setting[256];

	path_in(folder, sizeof(folder), "schemas");
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	write_file("schemas/test.v1.json", "{}");
	snprintf(setting, sizeof(setting), "billing event = { schemas = \"%s\"; };", folder);
	CONFIG(setting, "audit");
	start_host();
	next_step();
	next_step();
	write_file("schemas/test.v2.json", "{}");
	kill(host, SIGHUP);
	expect_step("stop", "billing");
	expect_step("start", "billing");
	await_answer("/metrics", "idem_reloads_total 1\n");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(a_reload_that_changes_nothing_touches_nobody)
{
	pid_t pid;

	CONFIG("billing");
	start_host();
	pid = expect_step("start", "billing").pid;
	kill(host, SIGHUP);
	await_answer("/metrics", "idem_reloads_total 1\n");
	expect_only_stop_of("billing", pid);
}
END_TEST

START_TEST(a_wrong_configuration_is_refused_and_the_old_one_goes_on)
{
	pid_t pid;

	CONFIG("billing");
	start_host();
	pid = expect_step("start", "billing").pid;
	CONFIG("billing workers = \"many\";", "audit");
	kill(host, SIGHUP);
	await_answer("/metrics", "idem_reload_failures_total 1\n");
	assert_contains(get("/readyz"), "billing: ready\n");
	ck_assert_ptr_null(strstr(get("/readyz"), "audit"));
	expect_only_stop_of("billing", pid);
}
END_TEST

START_TEST(a_reload_with_a_broken_plugin_is_refused)
{
	pid_t pid;

	CONFIG("billing");
	start_host();
	pid = expect_step("start", "billing").pid;
	write_file("ref.so", "not a library");
	kill(host, SIGHUP);
	await_answer("/metrics", "idem_reload_failures_total 1\n");
	expect_only_stop_of("billing", pid);
}
END_TEST

START_TEST(a_reload_tries_again_what_is_down)
{
	CONFIG("billing", "audit");
	order("billing", "77");
	start_host();
	next_step();
	next_step();
	await_answer("/readyz", "down");
	order("billing", "");
	kill(host, SIGHUP);
	expect_step("start", "billing");
	await_answer("/readyz", "billing: ready\n");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

/* ---- what a child gets ---- */

START_TEST(a_child_has_its_descriptors_and_no_other)
{
	struct step step;
	int leak = open("/dev/null", O_RDONLY); /* not close-on-exec: what a careless library leaves behind */

	ck_assert_int_ge(leak, 0);
	CONFIG("billing");
	start_host();
	step = expect_step("start", "billing");
	assert_contains(step.line, " descriptors=0 1 2 5 ");
	ck_assert_int_eq(stop_host(), 0);
	close(leak);
}
END_TEST

START_TEST(secrets_reach_the_child_and_show_nowhere)
{
	struct step step;
	char text[4096];

	setenv("IDEM_SOME_PASSWORD", "s3cret-of-env", 1);
	CONFIG("billing");
	start_host();
	step = expect_step("start", "billing");
	assert_contains(step.line, "password=s3cret-of-pg");
	read_proc(step.pid, "cmdline", text, sizeof(text));
	ck_assert_ptr_null(strstr(text, "s3cret"));
	assert_contains(text, "--child pipeline billing");
	read_proc(step.pid, "environ", text, sizeof(text));
	ck_assert_ptr_null(strstr(text, "s3cret"));
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

static Suite *supervisor_suite(void)
{
	Suite *suite = suite_create("supervisor");
	TCase *tests = tcase_create("processes");

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_child_that_dies_is_started_again_with_growing_delays);
	tcase_add_test(tests, exit_0_without_a_word_is_a_death);
	tcase_add_test(tests, counters_go_on_over_a_restart_and_gauges_do_not);
	tcase_add_test(tests, a_child_stopped_by_somebody_else_is_started_again);
	tcase_add_loop_test(tests, a_status_no_restart_cures_stays_down_and_the_others_run_on, 0,
	                    sizeof(stay_down) / sizeof(*stay_down));
	tcase_add_test(tests, a_host_of_which_every_pipeline_is_refused_at_the_start_ends_with_78);
	tcase_add_test(tests, a_service_missing_at_the_very_start_ends_the_host_with_69);
	tcase_add_test(tests, a_service_missing_after_a_child_was_ready_is_an_outage_that_is_waited_for);
	tcase_add_test(tests, a_child_over_its_memory_is_killed_and_started_again);
	tcase_add_test(tests, sigterm_stops_every_child_and_exits_0);
	tcase_add_test(tests, a_child_that_does_not_stop_is_killed_at_the_cap_and_the_host_says_so);
	tcase_add_test(tests, a_host_without_an_admin_port_works);
	tcase_add_test(tests, a_second_sigterm_changes_nothing);
	tcase_add_test(tests, children_die_when_the_host_is_killed);
	tcase_add_test(tests, a_reload_replaces_the_changed_adds_the_new_and_drains_the_removed);
	tcase_add_test(tests, a_reload_with_another_plugin_file_replaces_the_child);
	tcase_add_test(tests, a_reload_with_another_schema_file_replaces_the_child);
	tcase_add_test(tests, a_reload_that_changes_nothing_touches_nobody);
	tcase_add_test(tests, a_wrong_configuration_is_refused_and_the_old_one_goes_on);
	tcase_add_test(tests, a_reload_with_a_broken_plugin_is_refused);
	tcase_add_test(tests, a_reload_tries_again_what_is_down);
	tcase_add_test(tests, a_child_has_its_descriptors_and_no_other);
	tcase_add_test(tests, secrets_reach_the_child_and_show_nowhere);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return run_suite(supervisor_suite());
}
