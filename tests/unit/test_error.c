#include "core/base/error.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(set_fills_everything_and_returns_false)
{
	struct error error = {.retriable = true, .fatal = true, .sqlstate = "40001"};

	ck_assert(!error_set(&error, ERROR_KAFKA, "topic %s is gone", "orders"));
	ck_assert_int_eq(error.code, ERROR_KAFKA);
	ck_assert(!error.retriable && !error.fatal);
	ck_assert_str_eq(error.sqlstate, "");
	ck_assert_str_eq(error.text, "topic orders is gone");
}
END_TEST

START_TEST(set_may_use_its_own_text)
{
	struct error error;

	error_set(&error, ERROR_IO, "inner");
	error_set(&error, ERROR_DB, "outer: %s", error.text);
	ck_assert_str_eq(error.text, "outer: inner");
}
END_TEST

START_TEST(wrap_puts_context_in_front_and_keeps_properties)
{
	struct error error;

	error_set(&error, ERROR_DB, "no route");
	error.retriable = true;
	ck_assert(!error_wrap(&error, "connection %d", 3));
	ck_assert_str_eq(error.text, "connection 3: no route");
	ck_assert_int_eq(error.code, ERROR_DB);
	ck_assert(error.retriable);
}
END_TEST

START_TEST(long_texts_are_cut_not_overrun)
{
	char text[2000];
	struct error error;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&error, ERROR_IO, "%s", text);
	ck_assert_uint_eq(strlen(error.text), sizeof(error.text) - 1);
	error_wrap(&error, "%s", text);
	ck_assert_uint_eq(strlen(error.text), sizeof(error.text) - 1);
	error_wrap(&error, "front");
	ck_assert_uint_eq(strlen(error.text), sizeof(error.text) - 1);
	ck_assert(strncmp(error.text, "front: x", 8) == 0);
}
END_TEST

START_TEST(nobody_has_to_ask_for_the_reason)
{
	ck_assert(!error_set(NULL, ERROR_IO, "unheard"));
	ck_assert(!error_wrap(NULL, "unheard"));
	error_clear(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("error");
	TCase *tests = tcase_create("error");

	tcase_add_test(tests, set_fills_everything_and_returns_false);
	tcase_add_test(tests, set_may_use_its_own_text);
	tcase_add_test(tests, wrap_puts_context_in_front_and_keeps_properties);
	tcase_add_test(tests, long_texts_are_cut_not_overrun);
	tcase_add_test(tests, nobody_has_to_ask_for_the_reason);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
