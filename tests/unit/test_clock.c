#include "core/base/clock.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdlib.h>

START_TEST(wall_time_can_be_shifted_and_monotonic_time_can_not)
{
	int64_t wall = clock_wall_ms(), monotonic = clock_monotonic_ms();

	clock_set_offset_ms(7 * INT64_C(86400000));
	ck_assert_int_ge(clock_wall_ms() - wall, 7 * INT64_C(86400000));
	ck_assert_int_lt(clock_wall_ms() - wall, 8 * INT64_C(86400000));
	ck_assert_int_lt(clock_monotonic_ms() - monotonic, 86400000);
	clock_set_offset_ms(0);
}
END_TEST

START_TEST(the_shared_time_is_the_wall_clocks_until_it_is_told_and_then_no_step_moves_it)
{
	clock_set_offset_ms(86400000);
	ck_assert_int_ge(clock_shared_ms(), clock_wall_ms() - 1000);
	clock_share(5000000);
	clock_set_offset_ms(-86400000);
	ck_assert_int_ge(clock_shared_ms(), 5000000);
	ck_assert_int_lt(clock_shared_ms(), 5060000);
	clock_set_offset_ms(0);
}
END_TEST

START_TEST(milliseconds_and_microseconds_agree)
{
	int64_t before_us = clock_monotonic_us(), ms = clock_monotonic_ms(), after_us = clock_monotonic_us();

	ck_assert_int_le(before_us / 1000, ms);
	ck_assert_int_ge(after_us / 1000, ms);
}
END_TEST

static int64_t deadline_ms(int64_t ms)
{
	struct timespec time = clock_deadline(ms);

	ck_assert_int_ge(time.tv_nsec, 0);
	ck_assert_int_lt(time.tv_nsec, 1000000000);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

START_TEST(a_deadline_is_that_far_away)
{
	static const int64_t distances[] = {0, 1, 999, 1000, 1999, 3600001};

	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
		int64_t before = clock_monotonic_ms(), deadline = deadline_ms(distances[i]),
		        after = clock_monotonic_ms();

		ck_assert_int_ge(deadline, before + distances[i]);
		ck_assert_int_le(deadline, after + distances[i]);
	}
	ck_assert_int_le(deadline_ms(-5000), clock_monotonic_ms());
}
END_TEST

START_TEST(a_wait_ends_at_its_time_and_no_earlier)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until = clock_deadline(30);
	int64_t before_us = clock_monotonic_us();

	ck_assert_int_eq(pthread_mutex_lock(&lock), 0);
	while (clock_wait_until(&cond, &lock, &until))
		;
	ck_assert_int_ge(clock_monotonic_us() - before_us, 29000);
	ck_assert(!clock_wait_until(&cond, &lock, &until));
	ck_assert_int_eq(pthread_mutex_unlock(&lock), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("clock");
	TCase *tests = tcase_create("clock");

	tcase_add_test(tests, wall_time_can_be_shifted_and_monotonic_time_can_not);
	tcase_add_test(tests, the_shared_time_is_the_wall_clocks_until_it_is_told_and_then_no_step_moves_it);
	tcase_add_test(tests, milliseconds_and_microseconds_agree);
	tcase_add_test(tests, a_deadline_is_that_far_away);
	tcase_add_test(tests, a_wait_ends_at_its_time_and_no_earlier);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
