#include "core/base/failpoint.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef IDEM_FAILPOINTS
static void arm(const char *spec)
{
	struct error error;

	ck_assert_msg(failpoint_arm(spec, &error), "%s", error.text);
}

START_TEST(nothing_happens_when_nothing_is_armed)
{
	arm(NULL);
	ck_assert(!FAILPOINT("before_commit"));
	arm("");
	ck_assert(!FAILPOINT("before_commit"));
	arm("after_commit=kill");
	ck_assert(!FAILPOINT("before_commit"));
}
END_TEST

START_TEST(fail_happens_at_its_hit_only)
{
	arm("before_commit=fail:3,other=fail");
	ck_assert(!FAILPOINT("before_commit"));
	ck_assert(!FAILPOINT("before_commit"));
	ck_assert(FAILPOINT("before_commit"));
	ck_assert(!FAILPOINT("before_commit"));
	ck_assert(FAILPOINT("other"));
	ck_assert(!FAILPOINT("other"));
}
END_TEST

START_TEST(always_fails_every_time)
{
	arm("before_commit=fail:always");
	for (int i = 0; i < 5; i++)
		ck_assert(FAILPOINT("before_commit"));
}
END_TEST

START_TEST(kill_ends_this_process)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		arm("here=kill:2");
		failpoint_hit("here");
		if (write(STDOUT_FILENO, "", 0) == 0)
			failpoint_hit("here");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

START_TEST(killgroup_ends_the_whole_group)
{
	int ends[2], status;
	pid_t child;
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		ck_assert_int_eq(setpgid(0, 0), 0);
		if (fork() == 0)
			pause();
		arm("here=killgroup");
		failpoint_hit("here");
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0); /* the other one is gone too */
	close(ends[0]);
}
END_TEST

static const char *const refused[] = {
        "x", "=kill", "x=", "x=explode", "x=kill:0", "x=kill:", "x=kill:two", "a=fail,,b=fail", "x=fail:-1"};

START_TEST(a_wrong_list_is_refused)
{
	struct error error;

	ck_assert_msg(!failpoint_arm(refused[_i], &error), "%s", refused[_i]);
	ck_assert_int_eq(error.code, ERROR_INVALID);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, nothing_happens_when_nothing_is_armed);
	tcase_add_test(tests, fail_happens_at_its_hit_only);
	tcase_add_test(tests, always_fails_every_time);
	tcase_add_test(tests, kill_ends_this_process);
	tcase_add_test(tests, killgroup_ends_the_whole_group);
	tcase_add_loop_test(tests, a_wrong_list_is_refused, 0, (int)(sizeof(refused) / sizeof(refused[0])));
}
#else
START_TEST(a_point_costs_nothing_and_never_fails)
{
	FAILPOINT("before_commit");
	ck_assert(!FAILPOINT("before_commit"));
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_point_costs_nothing_and_never_fails);
}
#endif

int main(void)
{
	Suite *suite = suite_create("failpoint");
	TCase *tests = tcase_create("failpoint");

	add_tests(tests);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
