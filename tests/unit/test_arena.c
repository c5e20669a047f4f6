#include "core/base/arena.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

static struct arena arena;

static void setup(void)
{
	arena_init(&arena, 256);
}

static void teardown(void)
{
	arena_done(&arena);
}

START_TEST(what_is_handed_out_is_aligned_and_apart)
{
	char *before = NULL;

	for (size_t bytes = 0; bytes < 300; bytes++) {
		char *ptr = arena_alloc(&arena, bytes);

		ck_assert_uint_eq((uintptr_t)ptr % 16, 0);
		memset(ptr, 0xa5, bytes);
		ck_assert_ptr_ne(ptr, bytes > 1 ? before : NULL);
		before = ptr;
	}
}
END_TEST

START_TEST(zalloc_gives_zeroes_in_used_memory)
{
	memset(arena_alloc(&arena, 200), 0xff, 200);
	arena_reset(&arena);
	for (const char *ptr = arena_zalloc(&arena, 200), *end = ptr + 200; ptr < end; ptr++)
		ck_assert_int_eq(*ptr, 0);
}
END_TEST

START_TEST(reset_keeps_one_block_and_uses_it_again)
{
	void *first = arena_alloc(&arena, 16);

	for (int round = 0; round < 3; round++) {
		arena_alloc(&arena, 10000);
		arena_alloc(&arena, 200);
		ck_assert_uint_gt(arena.used_bytes, 10000);
		arena_reset(&arena);
		ck_assert_uint_eq(arena.used_bytes, 0);
		ck_assert_ptr_eq(arena_alloc(&arena, 16), first);
	}
}
END_TEST

START_TEST(a_large_piece_leaves_the_block_in_use)
{
	char *small = arena_alloc(&arena, 16);

	arena_alloc(&arena, 5000);
	ck_assert_ptr_eq((char *)arena_alloc(&arena, 16), small + 16);
}
END_TEST

START_TEST(absent_stays_absent_and_empty_stays_empty)
{
	ck_assert_ptr_null(arena_copy(&arena, BYTES_NONE).ptr);
	ck_assert_ptr_null(arena_string(&arena, BYTES_NONE));
	ck_assert_str_eq(arena_string(&arena, BYTES_LITERAL("")), "");
	ck_assert(bytes_equal_string(arena_copy(&arena, BYTES_LITERAL("a\0b")), "a") == false);
	ck_assert_mem_eq(arena_copy(&arena, BYTES_LITERAL("a\0b")).ptr, "a\0b", 4);
}
END_TEST

START_TEST(printf_writes_text_longer_than_a_block)
{
	char *text = arena_printf(&arena, "%0500d|%s", 7, "end");

	ck_assert_uint_eq(strlen(text), 504);
	ck_assert_str_eq(text + 499, "7|end");
}
END_TEST

#if defined(__SANITIZE_ADDRESS__)
START_TEST(what_was_reset_is_poisoned)
{
	char *ptr = arena_alloc(&arena, 20);

	ck_assert_int_eq(__asan_address_is_poisoned(ptr + 19), 0);
	ck_assert_int_eq(__asan_address_is_poisoned(ptr + 20), 1);
	arena_reset(&arena);
	ck_assert_int_eq(__asan_address_is_poisoned(ptr), 1);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("arena");
	TCase *tests = tcase_create("arena");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, what_is_handed_out_is_aligned_and_apart);
	tcase_add_test(tests, zalloc_gives_zeroes_in_used_memory);
	tcase_add_test(tests, reset_keeps_one_block_and_uses_it_again);
	tcase_add_test(tests, a_large_piece_leaves_the_block_in_use);
	tcase_add_test(tests, absent_stays_absent_and_empty_stays_empty);
	tcase_add_test(tests, printf_writes_text_longer_than_a_block);
#if defined(__SANITIZE_ADDRESS__)
	tcase_add_test(tests, what_was_reset_is_poisoned);
#endif
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
