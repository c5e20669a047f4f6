#include "tests/unit/run_suite.h"
#include <idem/sugar.h>

#include <check.h>

static const struct {
	const char *text;
	idem_status status;
	int64_t value;
} numbers[] = {
        {"0", IDEM_OK, 0},
        {"-0", IDEM_OK, 0},
        {"42", IDEM_OK, 42},
        {"-17", IDEM_OK, -17},
        {"007", IDEM_OK, 7},
        {"9223372036854775807", IDEM_OK, INT64_MAX},
        {"-9223372036854775808", IDEM_OK, INT64_MIN},
        {"9223372036854775808", IDEM_E_TOO_BIG, 0},
        {"-9223372036854775809", IDEM_E_TOO_BIG, 0},
        {"99999999999999999999999", IDEM_E_TOO_BIG, 0},
        {"", IDEM_E_INVALID, 0},
        {"-", IDEM_E_INVALID, 0},
        {"+1", IDEM_E_INVALID, 0},
        {" 1", IDEM_E_INVALID, 0},
        {"1 ", IDEM_E_INVALID, 0},
        {"1.0", IDEM_E_INVALID, 0},
        {NULL, IDEM_E_INVALID, 0},
};
#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

START_TEST(a_number_is_read_exactly_or_refused)
{
	int64_t value = 77;

	ck_assert_int_eq(idem_parse_int64(idem_bytes_of(numbers[_i].text), &value), numbers[_i].status);
	ck_assert_int_eq(value, numbers[_i].status == IDEM_OK ? numbers[_i].value : 77);
}
END_TEST

START_TEST(a_printed_number_reads_back)
{
	static const int64_t samples[] = {0, 1, -1, 10, -99, INT64_MAX, INT64_MIN};
	struct idem_digits digits;
	int64_t back;

	struct idem_bytes text = idem_print_int64(samples[_i], &digits);
	ck_assert_int_eq(idem_parse_int64(text, &back), IDEM_OK);
	ck_assert_int_eq(back, samples[_i]);
	struct idem_param param = idem_param_int64(samples[_i], &digits);
	ck_assert(idem_equal(param.value, text) && param.format == 0);
}
END_TEST

static void array_is(struct idem_array *array, const char *text)
{
	struct idem_param param;

	ck_assert_int_eq(idem_array_param(array, &param), IDEM_OK);
	ck_assert_msg(idem_equal_string(param.value, text), "%.*s", (int)param.value.len, param.value.ptr);
}

START_TEST(an_array_has_postgresqls_text_form)
{
	struct idem_array array = {0};

	array_is(&array, "{}");
	idem_array_int64(&array, 1);
	array_is(&array, "{1}");
	idem_array_int64(&array, INT64_MIN);
	array_is(&array, "{1,-9223372036854775808}");
	idem_array_clear(&array);
	array_is(&array, "{}");
	idem_array_text(&array, idem_bytes_of("plain"));
	idem_array_text(&array, idem_bytes_of("a \"quoted\", {braced} \\ NULL"));
	idem_array_text(&array, idem_bytes_of(""));
	idem_array_text(&array, idem_bytes_of(NULL));
	array_is(&array, "{\"plain\",\"a \\\"quoted\\\", {braced} \\\\ NULL\",\"\",NULL}");
	ck_assert_uint_eq(array.count, 4);
	idem_array_done(&array);
	array_is(&array, "{}");
	idem_array_done(&array);
}
END_TEST

START_TEST(an_array_grows_as_it_must)
{
	struct idem_array array = {0};
	struct idem_param param;

	for (int64_t i = 0; i < 20000; i++)
		idem_array_int64(&array, 7);
	ck_assert_int_eq(idem_array_param(&array, &param), IDEM_OK);
	ck_assert_uint_eq(param.value.len, 2 * 20000 + 1);
	ck_assert_int_eq(param.value.ptr[param.value.len - 1], '}');
	idem_array_done(&array);
}
END_TEST

START_TEST(running_out_of_memory_is_remembered)
{
	struct idem_array array = {.failed = 1};
	struct idem_param param = {{"x", 1}, 0, 0};

	ck_assert_int_eq(idem_array_param(&array, &param), IDEM_E_NOMEM);
	ck_assert_str_eq(param.value.ptr, "x");
	idem_array_done(&array);
}
END_TEST

START_TEST(null_equals_only_null)
{
	struct idem_bytes null = {NULL, 0}, empty = {"", 0};

	ck_assert(idem_equal(null, null) && idem_equal(empty, empty) && !idem_equal(null, empty));
	ck_assert(idem_equal_string(idem_bytes_of("a"), "a") && !idem_equal_string(idem_bytes_of("a"), "ab"));
	ck_assert(idem_equal_string(null, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sugar");
	TCase *tests = tcase_create("sugar");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, a_number_is_read_exactly_or_refused, 0, COUNT(numbers));
	tcase_add_loop_test(tests, a_printed_number_reads_back, 0, 7);
	tcase_add_test(tests, an_array_has_postgresqls_text_form);
	tcase_add_test(tests, an_array_grows_as_it_must);
	tcase_add_test(tests, running_out_of_memory_is_remembered);
	tcase_add_test(tests, null_equals_only_null);
	return run_suite(suite);
}
