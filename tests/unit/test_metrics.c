#include "core/base/metrics.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct metrics_page *page;
static int fd;

static void setup(void)
{
	struct error error;

	fd = memfd_create("metrics", 0);
	ck_assert_int_eq(ftruncate(fd, sizeof(struct metrics_page)), 0);
	page = metrics_map(fd, &error);
	ck_assert_ptr_nonnull(page);
}

static void teardown(void)
{
	metrics_unmap(page);
	close(fd);
}

START_TEST(both_sides_see_the_same_page)
{
	struct metrics_page *other = metrics_map(fd, NULL);

	ck_assert_ptr_nonnull(other);
	metrics_add(page, METRIC_events_dead, 2);
	metrics_add(page, METRIC_events_dead, 3);
	metrics_set(page, METRIC_consumer_lag, 7);
	ck_assert_int_eq(metrics_get(other, METRIC_events_dead), 5);
	ck_assert_int_eq(metrics_get(other, METRIC_consumer_lag), 7);
	metrics_unmap(other);
}
END_TEST

START_TEST(a_file_too_short_is_refused)
{
	struct error error;

	ck_assert_int_eq(ftruncate(fd, sizeof(struct metrics_page) - 1), 0);
	ck_assert_ptr_null(metrics_map(fd, &error));
	ck_assert_int_eq(error.code, ERROR_IO);
	ck_assert_ptr_null(metrics_map(-1, &error));
	ck_assert_int_eq(error.code, ERROR_IO);
}
END_TEST

START_TEST(bucket_floors_rise_without_a_gap)
{
	for (size_t bucket = 0; bucket + 1 < METRICS_LATENCY_BUCKETS; bucket++) {
		int64_t floor_us = metrics_latency_floor_us(bucket), next_us = metrics_latency_floor_us(bucket + 1);

		ck_assert_int_gt(next_us, floor_us);
		metrics_observe_latency(page, floor_us);
		metrics_observe_latency(page, next_us - 1);
		ck_assert_int_eq(page->latency[bucket], 2);
	}
	metrics_observe_latency(page, -1);
	ck_assert_int_eq(page->latency[0], 3);
	metrics_observe_latency(page, INT64_MAX);
	ck_assert_int_eq(page->latency[METRICS_LATENCY_BUCKETS - 1], 1);
}
END_TEST

static int64_t quantile_of_page_us(double quantile)
{
	int64_t counts[METRICS_LATENCY_BUCKETS];

	for (size_t i = 0; i < METRICS_LATENCY_BUCKETS; i++)
		counts[i] = page->latency[i];
	return metrics_counts_quantile_us(counts, quantile);
}

START_TEST(a_quantile_is_off_by_less_than_a_tenth)
{
	for (int64_t us = 1; us < INT64_C(60000000); us = us * 5 / 4 + 1) {
		memset(page, 0, sizeof(*page));
		for (int i = 0; i < 100; i++)
			metrics_observe_latency(page, us);
		for (double quantile = 0.01; quantile <= 1.0; quantile += 0.33) {
			int64_t found = quantile_of_page_us(quantile);

			ck_assert_int_le(llabs(found - us) * 10, us);
		}
	}
}
END_TEST

START_TEST(a_quantile_of_a_spread_is_where_it_belongs)
{
	ck_assert_int_eq(quantile_of_page_us(0.95), 0);
	for (int64_t us = 1; us <= 100000; us++)
		metrics_observe_latency(page, us);
	ck_assert_int_le(llabs(quantile_of_page_us(0.95) - 95000), 1000);
	ck_assert_int_le(llabs(quantile_of_page_us(0.5) - 50000), 1000);
	ck_assert_int_le(quantile_of_page_us(0), 1);
	ck_assert_int_le(llabs(quantile_of_page_us(1) - 100000), 4000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tests = tcase_create("metrics");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, both_sides_see_the_same_page);
	tcase_add_test(tests, a_file_too_short_is_refused);
	tcase_add_test(tests, bucket_floors_rise_without_a_gap);
	tcase_add_test(tests, a_quantile_is_off_by_less_than_a_tenth);
	tcase_add_test(tests, a_quantile_of_a_spread_is_where_it_belongs);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
