/* What a SIGHUP changes and what it leaves alone; as test_supervisor.c. */
#include "tests/component/supervisor_bench.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

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

	replace_plugin(&before, &after);
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

START_TEST(a_reload_to_another_state_dir_is_refused)
{
	char was[sizeof(directory)];
	pid_t pid;

	CONFIG("billing");
	start_host();
	pid = expect_step("start", "billing").pid;
	snprintf(was, sizeof(was), "%s", directory);
	snprintf(directory, sizeof(directory), "%.60s/", was); /* the file is found by that name, too */
	CONFIG("billing");
	snprintf(directory, sizeof(directory), "%s", was);
	kill(host, SIGHUP);
	await_answer("/metrics", "idem_reload_failures_total 1\n");
	expect_only_stop_of("billing", pid);
}
END_TEST

static Suite *reload_suite(void)
{
	Suite *suite = suite_create("reload");
	TCase *tests = tcase_create("reload");

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_reload_replaces_the_changed_adds_the_new_and_drains_the_removed);
	tcase_add_test(tests, a_reload_with_another_plugin_file_replaces_the_child);
	tcase_add_test(tests, a_reload_with_another_schema_file_replaces_the_child);
	tcase_add_test(tests, a_reload_that_changes_nothing_touches_nobody);
	tcase_add_test(tests, a_wrong_configuration_is_refused_and_the_old_one_goes_on);
	tcase_add_test(tests, a_reload_with_a_broken_plugin_is_refused);
	tcase_add_test(tests, a_reload_tries_again_what_is_down);
	tcase_add_test(tests, a_reload_to_another_state_dir_is_refused);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return run_suite(reload_suite());
}
