#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/event/uuid.h"
#include "tests/unit/run_suite.h"

#define LOWER "01890a5d-ac96-774b-bcce-b302099a8057"

static struct uuid parsed(const char *text)
{
	struct uuid uuid;

	ck_assert_msg(uuid_from_text(bytes_from_string(text), &uuid), "%s", text);
	return uuid;
}

START_TEST(reads_and_prints_36_characters)
{
	struct uuid uuid = parsed(LOWER);
	char text[UUID_TEXT_BYTES];

	uuid_to_text(&uuid, text);
	ck_assert_str_eq(text, LOWER);
	ck_assert_int_eq(uuid.byte[0], 0x01);
	ck_assert_int_eq(uuid.byte[15], 0x57);
	ck_assert_int_eq(uuid_version(&uuid), 7);
	ck_assert_int_eq(uuid_time_ms(&uuid), INT64_C(0x01890a5dac96));
}
END_TEST

/* P11 */
START_TEST(case_makes_no_other_id)
{
	struct uuid lower = parsed(LOWER), upper = parsed("01890A5D-AC96-774B-BCCE-B302099A8057"),
	            mixed = parsed("01890A5d-aC96-774b-BCCE-b302099a8057");
	char text[UUID_TEXT_BYTES];

	ck_assert_int_eq(uuid_compare(&lower, &upper), 0);
	ck_assert_int_eq(uuid_compare(&lower, &mixed), 0);
	uuid_to_text(&upper, text);
	ck_assert_str_eq(text, LOWER);
}
END_TEST

/* P11 */
static const char *const refused[] = {
        "",
        "0",
        "{01890a5d-ac96-774b-bcce-b302099a8057}",
        "01890a5dac96774bbcceb302099a8057",
        "urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057",
        " 01890a5d-ac96-774b-bcce-b302099a8057",
        "01890a5d-ac96-774b-bcce-b302099a8057 ",
        "01890a5d-ac96-774b-bcce-b302099a8057\n",
        "01890a5d-ac96-774b-bcce-b302099a805",
        "01890a5d-ac96-774b-bcce-b302099a80570",
        "01890a5d-ac96-774b-bcce-b302099a805g",
        "01890a5dac96-774b-bcce-b302099a8057-",
        "0189-0a5dac96-774b-bcce-b302099a8057",
        "01890a5d_ac96_774b_bcce_b302099a8057",
        "+1890a5d-ac96-774b-bcce-b302099a8057",
        "0x890a5d-ac96-774b-bcce-b302099a8057",
        " 1890a5d-ac96-774b-bcce-b302099a8057",
        "01890a5d--c96-774b-bcce-b302099a8057",
        "01890a5d-ac96-774b-bcce-b302099a805\xc3",
        "------------------------------------",
        "01890a5d-ac96-774b-bcce-b302099a80-7",
};

START_TEST(refuses_every_other_form)
{
	struct uuid uuid = {.byte = {42}};

	ck_assert_msg(!uuid_from_text(bytes_from_string(refused[_i]), &uuid), "took %s", refused[_i]);
	ck_assert_int_eq(uuid.byte[0], 42);
}
END_TEST

START_TEST(refuses_absent_text_and_nul_bytes)
{
	struct uuid uuid;

	ck_assert(!uuid_from_text(BYTES_NONE, &uuid));
	ck_assert(!uuid_from_text(BYTES_LITERAL(LOWER "\0"), &uuid));
	ck_assert(!uuid_from_text(BYTES_LITERAL("01890a5d-ac96-774b-bcce-b302099a805\0"), &uuid));
	ck_assert(!uuid_from_text(BYTES_LITERAL("\0"
	                                        "1890a5d-ac96-774b-bcce-b302099a8057"),
	                          &uuid));
	/* Nothing behind the length is looked at. */
	ck_assert(uuid_from_text((struct bytes){LOWER "abc", 36}, &uuid));
}
END_TEST

START_TEST(knows_versions_of_the_rfc_variant_alone)
{
	struct uuid v4 = parsed("9f1ce5b6-2d4f-4b6a-8a5e-1a2b3c4d5e6f"),
	            v8 = parsed("9f1ce5b6-2d4f-8b6a-ba5e-1a2b3c4d5e6f"),
	            nil = parsed("00000000-0000-0000-0000-000000000000"),
	            max = parsed("ffffffff-ffff-ffff-ffff-ffffffffffff"),
	            microsoft = parsed("01890a5d-ac96-774b-cfff-b302099a8057"),
	            ncs = parsed("01890a5d-ac96-774b-7fff-b302099a8057");

	ck_assert_int_eq(uuid_version(&v4), 4);
	ck_assert_int_eq(uuid_version(&v8), 8);
	ck_assert_int_eq(uuid_version(&nil), 0);
	ck_assert_int_eq(uuid_version(&max), 0);
	ck_assert_int_eq(uuid_version(&microsoft), 0);
	ck_assert_int_eq(uuid_version(&ncs), 0);
}
END_TEST

START_TEST(bytes_compare_unsigned)
{
	struct uuid low = parsed("7f890a5d-ac96-774b-bcce-b302099a8057"),
	            high = parsed("80890a5d-ac96-774b-bcce-b302099a8057");

	ck_assert_int_lt(uuid_compare(&low, &high), 0);
	ck_assert_int_gt(uuid_compare(&high, &low), 0);
}
END_TEST

START_TEST(makes_rising_ids_of_version_7)
{
	const int64_t start = INT64_C(1800000000000);
	struct uuid previous, id;

	uuid_make_v7(start, &previous);
	ck_assert_int_eq(uuid_time_ms(&previous), start);
	for (int i = 0; i < 200000; i++) {
		/* Many in one millisecond, a clock that goes on, and one that goes back. */
		uuid_make_v7(start + i / 50000 - (i % 7 == 0 ? 1000 : 0), &id);
		ck_assert_int_lt(uuid_compare(&previous, &id), 0);
		ck_assert_int_eq(uuid_version(&id), 7);
		ck_assert_int_le(uuid_time_ms(&id), start + 4);
		previous = id;
	}
}
END_TEST

#define THREADS 4
#define IDS_EACH 50000

static void *make_many(void *ids)
{
	for (int i = 0; i < IDS_EACH; i++)
		uuid_make_v7(INT64_C(1900000000000) + i / 10000, (struct uuid *)ids + i);
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	return uuid_compare(a, b);
}

START_TEST(threads_never_make_the_same_id)
{
	struct uuid *ids = calloc(THREADS * IDS_EACH, sizeof(*ids));
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, make_many, ids + i * IDS_EACH), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		for (int j = 1; j < IDS_EACH; j++)
			ck_assert_int_lt(uuid_compare(&ids[i * IDS_EACH + j - 1], &ids[i * IDS_EACH + j]), 0);
	}
	qsort(ids, THREADS * IDS_EACH, sizeof(*ids), compare_ids);
	for (int i = 1; i < THREADS * IDS_EACH; i++)
		ck_assert_int_ne(uuid_compare(&ids[i - 1], &ids[i]), 0);
	free(ids);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("uuid");
	TCase *tests = tcase_create("uuid");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, reads_and_prints_36_characters);
	tcase_add_test(tests, case_makes_no_other_id);
	tcase_add_loop_test(tests, refuses_every_other_form, 0, sizeof(refused) / sizeof(*refused));
	tcase_add_test(tests, refuses_absent_text_and_nul_bytes);
	tcase_add_test(tests, knows_versions_of_the_rfc_variant_alone);
	tcase_add_test(tests, bytes_compare_unsigned);
	tcase_add_test(tests, makes_rising_ids_of_version_7);
	tcase_add_test(tests, threads_never_make_the_same_id);
	return run_suite(suite);
}
