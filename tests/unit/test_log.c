#include "core/base/assert.h"
#include "core/base/log.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int captured; /* stands in for stderr; each test runs in a process of its own */

static void setup(void)
{
	captured = memfd_create("log", 0);
	ck_assert_int_eq(fcntl(captured, F_SETFL, O_APPEND), 0); /* a memfd's position is not shared atomically */
	ck_assert_int_eq(dup2(captured, STDERR_FILENO), STDERR_FILENO);
	log_open("billing", LOG_LEVEL_INFO);
}

static const char *logged(void)
{
	static char text[65536];
	ssize_t length = pread(captured, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(length, 0);
	text[length] = '\0';
	return text;
}

static size_t lines(const char *text)
{
	size_t count = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		count++;
	return count;
}

START_TEST(a_line_says_when_how_bad_where_and_what)
{
	int year, end = 0;

	log_write(LOG_event_dead, "event %s", "0190");
	ck_assert_int_eq(sscanf(logged(), "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*3dZ%n", &year, &end), 1);
	ck_assert_str_eq(logged() + end, " warning pipeline=billing event=event_dead event 0190\n");
}
END_TEST

START_TEST(the_supervisor_is_no_pipeline)
{
	log_open("supervisor", LOG_LEVEL_INFO);
	log_write(LOG_started, "up");
	ck_assert_ptr_nonnull(strstr(logged(), " notice process=supervisor event=started up\n"));
}
END_TEST

START_TEST(what_is_below_the_threshold_is_not_written)
{
	log_open("billing", LOG_LEVEL_WARNING);
	log_write(LOG_started, "up");
	log_write_limited(LOG_started, "up");
	log_plugin("billing", LOG_LEVEL_NOTICE, "up", 2);
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(a_line_stays_one_line_whatever_is_in_it)
{
	log_write(LOG_event_dead, "a\nerror pipeline=billing forged\r\x1b[31m");
	ck_assert_uint_eq(lines(logged()), 1);
	ck_assert_ptr_null(strchr(logged(), '\x1b'));
}
END_TEST

START_TEST(a_long_text_is_cut)
{
	char text[5000];

	memset(text, 'x', sizeof(text));
	log_plugin("billing", LOG_LEVEL_ERROR, text, sizeof(text));
	ck_assert_uint_eq(lines(logged()), 1);
	ck_assert_uint_lt(strlen(logged()), 2100);
}
END_TEST

START_TEST(a_flood_is_one_line_and_counted)
{
	for (int i = 0; i < 100; i++)
		log_write_limited(LOG_kafka_error, "broker %d", i);
	log_write_limited(LOG_database_lost, "another event has a limit of its own");
	ck_assert_uint_eq(lines(logged()), 2);
	ck_assert_ptr_nonnull(strstr(logged(), "broker 0\n"));
}
END_TEST

START_TEST(plugin_lines_carry_the_plugins_name_and_level)
{
	log_plugin("billing", LOG_LEVEL_ERROR, "text and more", 4);
	ck_assert_ptr_nonnull(strstr(logged(), " error pipeline=billing event=plugin_says plugin=billing text\n"));
}
END_TEST

static void *write_many(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++)
		log_write(LOG_event_retried, "0123456789012345678901234567890123456789");
	return NULL;
}

START_TEST(threads_do_not_mix_their_lines)
{
	pthread_t threads[4];
	const char *line;
	size_t whole = 0;

	for (int i = 0; i < 4; i++)
		PTHREAD_OK(pthread_create(&threads[i], NULL, write_many, NULL));
	for (int i = 0; i < 4; i++)
		PTHREAD_OK(pthread_join(threads[i], NULL));
	for (line = logged(); *line; line = strchr(line, '\n') + 1)
		whole += strncmp(line + 24, " info pipeline=billing event=event_retried 0123456789", 52) == 0;
	ck_assert_uint_eq(whole, 400);
}
END_TEST

START_TEST(a_failed_assertion_names_the_event_and_ends_the_process)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		assert_note("event 0190");
		ASSERT(1 + 1 == 3);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
	ck_assert_ptr_nonnull(strstr(logged(), "error pipeline=billing event=assertion 1 + 1 == 3 is not so at "));
	ck_assert_ptr_nonnull(strstr(logged(), "working on event 0190\n"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tests = tcase_create("log");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, a_line_says_when_how_bad_where_and_what);
	tcase_add_test(tests, the_supervisor_is_no_pipeline);
	tcase_add_test(tests, what_is_below_the_threshold_is_not_written);
	tcase_add_test(tests, a_line_stays_one_line_whatever_is_in_it);
	tcase_add_test(tests, a_long_text_is_cut);
	tcase_add_test(tests, a_flood_is_one_line_and_counted);
	tcase_add_test(tests, plugin_lines_carry_the_plugins_name_and_level);
	tcase_add_test(tests, threads_do_not_mix_their_lines);
	tcase_add_test(tests, a_failed_assertion_names_the_event_and_ends_the_process);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
