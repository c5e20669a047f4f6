#include "core/config/nearest.h"
#include "core/config/value.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	int64_t ms;
} durations[] = {{"1ms", 1},      {"100ms", 100},    {"30s", 30000}, {"5m", 300000},
                 {"1h", 3600000}, {"7d", 604800000}, {"0s", 0}};

START_TEST(a_duration_reads_and_prints_the_same)
{
	struct error error;
	char text[32];
	int64_t ms;

	ck_assert(value_parse_duration(durations[_i].text, false, &ms, &error));
	ck_assert_int_eq(ms, durations[_i].ms);
	config_duration_text(ms, text, sizeof(text));
	ck_assert_str_eq(text, durations[_i].text);
}
END_TEST

START_TEST(a_duration_prints_in_the_largest_unit_that_fits)
{
	char text[32];

	config_duration_text(90000, text, sizeof(text));
	ck_assert_str_eq(text, "90s");
	config_duration_text(1500, text, sizeof(text));
	ck_assert_str_eq(text, "1500ms");
	config_duration_text(60000, text, sizeof(text));
	ck_assert_str_eq(text, "1m");
}
END_TEST

static const char *const no_durations[] = {"",
                                           "s",
                                           "5",
                                           "5 s",
                                           "-5s",
                                           "+5s",
                                           "5S",
                                           "5sec",
                                           "1.5s",
                                           "0x5s",
                                           " 5s",
                                           "5s ",
                                           "99999999999999999999s",
                                           "9223372036854775807d"};

START_TEST(what_is_no_duration_is_refused)
{
	struct error error;
	int64_t ms = 42;

	ck_assert_msg(!value_parse_duration(no_durations[_i], false, &ms, &error), "%s", no_durations[_i]);
	ck_assert_int_eq(error.code, ERROR_CONFIG);
}
END_TEST

static const struct {
	const char *text;
	int64_t bytes;
	const char *printed;
} sizes[] = {
        {"512B", 512, "512B"},
        {"256KiB", 262144, "256KiB"},
        {"64MB", 64000000, "62500KiB"},
        {"64MiB", 67108864, "64MiB"},
        {"3GiB", INT64_C(3221225472), "3GiB"},
        {"1GB", 1000000000, "1000000000B"},
        {"1kB", 1000, "1000B"},
        {"1KB", 1000, "1000B"},
        {"0B", 0, "0B"},
};

START_TEST(a_size_reads_and_prints)
{
	struct error error;
	int64_t bytes, again;
	char text[32];

	ck_assert(value_parse_size(sizes[_i].text, false, &bytes, &error));
	ck_assert_int_eq(bytes, sizes[_i].bytes);
	value_size_text(bytes, text, sizeof(text));
	ck_assert_str_eq(text, sizes[_i].printed);
	ck_assert(value_parse_size(text, false, &again, &error));
	ck_assert_int_eq(again, bytes);
}
END_TEST

START_TEST(a_bare_number_counts_only_where_it_is_allowed)
{
	struct error error;
	int64_t number;

	ck_assert(value_parse_size("4096", true, &number, &error));
	ck_assert_int_eq(number, 4096);
	ck_assert(!value_parse_size("4096", false, &number, &error));
	ck_assert(value_parse_duration("250", true, &number, &error));
	ck_assert_int_eq(number, 250);
}
END_TEST

static const struct {
	const char *wanted, *meant;
} misspelt[] = {
        {"wrokers", "workers"},
        {"worker", "workers"},
        {"workerss", "workers"},
        {"batsh", "batch"},
        {"maks", "max"},
        {"workers", "workers"},
        {"xyzzyxyzzy", ""},
        {"", ""},
        {"m", ""},
};

START_TEST(the_nearest_name_is_found_when_one_is_near)
{
	static const char *const names[] = {"ordering", "batch", "workers", "max", "min"};
	struct nearest nearest = {.distance = 0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_offer(&nearest, misspelt[_i].wanted, names[i]);
	ck_assert_str_eq(nearest.text, misspelt[_i].meant);
}
END_TEST

START_TEST(a_name_without_end_is_no_trouble)
{
	struct nearest nearest = {.distance = 0};
	char endless[5000], hint[160];

	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	nearest_offer(&nearest, endless, "workers");
	nearest_offer(&nearest, "workers", endless);
	ck_assert_str_eq(nearest_hint(&nearest, hint, sizeof(hint)), "");
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int main(void)
{
	Suite *suite = suite_create("config_value");
	TCase *tests = tcase_create("config_value");

	tcase_add_loop_test(tests, a_duration_reads_and_prints_the_same, 0, COUNT(durations));
	tcase_add_test(tests, a_duration_prints_in_the_largest_unit_that_fits);
	tcase_add_loop_test(tests, what_is_no_duration_is_refused, 0, COUNT(no_durations));
	tcase_add_loop_test(tests, a_size_reads_and_prints, 0, COUNT(sizes));
	tcase_add_test(tests, a_bare_number_counts_only_where_it_is_allowed);
	tcase_add_loop_test(tests, the_nearest_name_is_found_when_one_is_near, 0, COUNT(misspelt));
	tcase_add_test(tests, a_name_without_end_is_no_trouble);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
