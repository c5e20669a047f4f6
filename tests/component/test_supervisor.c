/* The parent with real processes: tests/tools/fakechild instead of pipelines, the real core/main/child.c around them.
 */
#include "core/base/clock.h"
#include "tests/component/supervisor_bench.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

START_TEST(a_pipeline_that_goes_down_soon_after_it_began_to_work_leaves_the_host_up)
{
	CONFIG("billing");
	order("billing", "stolen");
	start_host();
	expect_step("start", "billing");
	await_answer("/readyz", "billing: not ready: down: the plugin ended the host's transaction");
	ck_assert_int_eq(stop_host(), 0);
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

/* ---- the folder of what outlives a process ---- */

/* The staged copy, as a child told of it: below the folder. */
static const char *staged_in(const struct step *step)
{
	static char name[160];
	const char *path = strstr(step->line, "plugin=");

	ck_assert_ptr_nonnull(path);
	path += strlen("plugin=") + strlen(directory) + 1;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, " "), path);
	return name;
}

START_TEST(a_second_host_with_the_same_state_dir_is_refused_and_told_whose_it_is)
{
	char owner[64], text[4096];
	pid_t first, first_host;
	int log_fd, terminal = dup(STDERR_FILENO);

	CONFIG("billing");
	start_host();
	first = expect_step("start", "billing").pid;
	first_host = host;
	snprintf(owner, sizeof(owner), "process %ld;", (long)first_host);
	path_in(text, sizeof(text), "log");
	log_fd = open(text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(dup2(log_fd, STDERR_FILENO), 0);
	start_host();
	ck_assert_int_eq(wait_host(), 78);
	ck_assert_int_ge(dup2(terminal, STDERR_FILENO), 0);
	close(terminal);
	close(log_fd);

	host = first_host;
	read_back("log", text, sizeof(text));
	assert_contains(text, directory);
	assert_contains(text, owner);
	expect_only_stop_of("billing", first);
}
END_TEST

START_TEST(a_host_that_was_killed_leaves_its_state_dir_to_the_next)
{
	CONFIG("billing");
	start_host();
	expect_step("start", "billing");
	kill(host, SIGKILL);
	ck_assert_int_eq(wait_host(), 1000 + SIGKILL);
	start_host();
	expect_step("start", "billing");
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(a_start_deletes_staged_plugins_that_nobody_runs_and_nothing_else)
{
	static const char digest[] = "plugins/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.so";
	char path[128];
	struct step step;

	path_in(path, sizeof(path), "plugins");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	write_file(digest, "an old one");
	write_file("plugins/.plugin-a1B2c3", "half a copy");
	write_file("plugins/notes.txt", "somebody's");
	CONFIG("billing");
	start_host();
	step = expect_step("start", "billing");
	ck_assert(!exists(digest));
	ck_assert(!exists("plugins/.plugin-a1B2c3"));
	ck_assert(exists("plugins/notes.txt"));
	ck_assert(exists(staged_in(&step)));
	ck_assert_int_eq(stop_host(), 0);
}
END_TEST

START_TEST(a_replaced_plugin_is_deleted_when_its_last_child_is_gone)
{
	struct step before, after;

	replace_plugin(&before, &after);
	ck_assert(!exists(staged_in(&before)));
	ck_assert(exists(staged_in(&after)));
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
	tcase_add_test(tests, a_pipeline_that_goes_down_soon_after_it_began_to_work_leaves_the_host_up);
	tcase_add_test(tests, a_service_missing_at_the_very_start_ends_the_host_with_69);
	tcase_add_test(tests, a_service_missing_after_a_child_was_ready_is_an_outage_that_is_waited_for);
	tcase_add_test(tests, a_child_over_its_memory_is_killed_and_started_again);
	tcase_add_test(tests, sigterm_stops_every_child_and_exits_0);
	tcase_add_test(tests, a_child_that_does_not_stop_is_killed_at_the_cap_and_the_host_says_so);
	tcase_add_test(tests, a_host_without_an_admin_port_works);
	tcase_add_test(tests, a_second_sigterm_changes_nothing);
	tcase_add_test(tests, children_die_when_the_host_is_killed);
	tcase_add_test(tests, a_child_has_its_descriptors_and_no_other);
	tcase_add_test(tests, secrets_reach_the_child_and_show_nowhere);
	tcase_add_test(tests, a_second_host_with_the_same_state_dir_is_refused_and_told_whose_it_is);
	tcase_add_test(tests, a_host_that_was_killed_leaves_its_state_dir_to_the_next);
	tcase_add_test(tests, a_start_deletes_staged_plugins_that_nobody_runs_and_nothing_else);
	tcase_add_test(tests, a_replaced_plugin_is_deleted_when_its_last_child_is_gone);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return run_suite(supervisor_suite());
}
