#include <check.h>
#include <stdlib.h>

#include "core/retry/parked_record.h"
#include "tests/unit/run_suite.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena, 1024);
}

static void tear_down(void)
{
	arena_done(&arena);
}

static struct kafka_header headers[] = {
        {{"eventId", 7}, {"0190", 4}},
        {{"h", 1}, {NULL, 0}},
        {{"h", 1}, {"", 0}},
        {{"", 0}, {"\x00\xff", 2}},
};

static void check_same(const struct kafka_record *left, const struct kafka_record *right)
{
	ck_assert_int_eq(left->timestamp_ms, right->timestamp_ms);
	ck_assert(bytes_equal(left->key, right->key));
	ck_assert(bytes_equal(left->value, right->value));
	ck_assert_uint_eq(left->header_count, right->header_count);
	for (size_t i = 0; i < left->header_count; i++) {
		ck_assert(bytes_equal(left->headers[i].name, right->headers[i].name));
		ck_assert(bytes_equal(left->headers[i].value, right->headers[i].value));
	}
}

START_TEST(null_and_empty_stay_apart)
{
	const struct bytes texts[] = {BYTES_NONE, BYTES_LITERAL(""), BYTES_LITERAL("\x00 text")};
	const struct kafka_record record = {.timestamp_ms = _i % 2 ? -1 : 1700000000000,
	                                    .key = texts[_i / 3],
	                                    .value = texts[_i % 3],
	                                    .headers = headers,
	                                    .header_count = (size_t)_i % 5};
	struct kafka_record read;
	ck_assert(parked_record_unpack(parked_record_pack(&arena, &record), &arena, &read));
	check_same(&read, &record);
}
END_TEST

START_TEST(what_is_cut_or_longer_is_refused)
{
	const struct kafka_record record = {
	        .key = BYTES_LITERAL("k"), .value = BYTES_LITERAL("v"), .headers = headers, .header_count = 4};
	struct kafka_record read;
	struct bytes packed = parked_record_pack(&arena, &record);
	for (size_t len = 0; len < packed.len; len++) {
		char *exact = malloc(len + 1); /* so that a sanitizer sees what is read behind it */
		memcpy(exact, packed.ptr, len);
		ck_assert(!parked_record_unpack((struct bytes){exact, len}, &arena, &read));
		free(exact);
	}
	char *longer = arena_alloc(&arena, packed.len + 1);
	memcpy(longer, packed.ptr, packed.len);
	longer[packed.len] = '\0';
	ck_assert(!parked_record_unpack((struct bytes){longer, packed.len + 1}, &arena, &read));
	longer[0] = 2;
	ck_assert(!parked_record_unpack((struct bytes){longer, packed.len}, &arena, &read));
}
END_TEST

START_TEST(a_count_of_headers_that_can_not_be_takes_no_memory)
{
	const struct kafka_record record = {0};
	struct kafka_record read;
	struct bytes packed = parked_record_pack(&arena, &record);
	memset((char *)(uintptr_t)packed.ptr + packed.len - 4, 0x7f, 4);
	ck_assert(!parked_record_unpack(packed, &arena, &read));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("parked record");
	TCase *tests = tcase_create("parked record");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, null_and_empty_stay_apart, 0, 9);
	tcase_add_test(tests, what_is_cut_or_longer_is_refused);
	tcase_add_test(tests, a_count_of_headers_that_can_not_be_takes_no_memory);
	return run_suite(suite);
}
