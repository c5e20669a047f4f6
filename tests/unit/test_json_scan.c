#include <check.h>
#include <stdlib.h>

#include "core/event/json.h"
#include "tests/unit/run_suite.h"

#define ROW(literal)                                                                                                   \
	{                                                                                                              \
		(literal), sizeof(literal) - 1                                                                         \
	} /* in a table */

static struct arena arena;

static void begin(void)
{
	arena_init(&arena, 64 * 1024);
}

static void end(void)
{
	arena_done(&arena);
}

static const struct {
	struct bytes text;
	const char *field, *expected; /* NULL: none */
} scans[] = {
        {ROW("{\"a\":1}"), "a", "1"},
        {ROW(" { \"a\" : \"x\" } "), "a", "x"},
        {ROW("{\"b\":{\"a\":1},\"a\":2}"), "a", "2"},
        {ROW("{\"b\":[{\"a\":\"]}\"}],\"a\":2}"), "a", "2"},
        {ROW("{\"b\":\"\\\\\",\"a\":2}"), "a", "2"},
        {ROW("{\"b\":\"\\\"\",\"a\":2}"), "a", "2"},
        {ROW("{\"b\":\"{[\\\",\\\\\",\"a\":2}"), "a", "2"},
        {ROW("{\"\\u0061\":2}"), "a", "2"},
        {ROW("{\"x\":-1.5e3,\"a\":\"\\ud83d\\ude00\\n\\u0041\\u00e9\\u20ac\"}"), "a",
         "\xf0\x9f\x98\x80\nA\xc3\xa9\xe2\x82\xac"},
        {ROW("{\"a\":{\"x\":\"}\"}}"), "a", "{\"x\":\"}\"}"},
        {ROW("{\"a\":true}"), "a", "true"},
        {ROW("{\"a\":null}"), "a", "null"},
        {ROW("{\"a\":1 ,\"b\":"), "a", "1"},
        {ROW("{\"a\":[[1],[2,3]]}"), "/a/1/1", "3"},
        {ROW("{\"a\":12"), "a", "12"},
        {ROW("{\"a\":1.5"), "a", "1.5"},
        {ROW("{}"), "a", NULL},
        {ROW("[]"), "a", NULL},
        {ROW("[]"), "/0", NULL},
        {ROW(""), "a", NULL},
        {{NULL, 0}, "a", NULL},
        {ROW("{"), "a", NULL},
        {ROW("{\"a"), "a", NULL},
        {ROW("{\"a\\"), "a", NULL},
        {ROW("{\"a\""), "a", NULL},
        {ROW("{\"a\":"), "a", NULL},
        {ROW("{\"a\":\"x"), "a", NULL},
        {ROW("{\"a\":{"), "a", NULL},
        {ROW("{\"a\":}"), "a", NULL},
        {ROW("{\"a\":x}"), "a", NULL},
        {ROW("{\"a\":\"\\u12\"}"), "a", NULL},
        {ROW("{\"a\":\"\\x\"}"), "a", NULL},
        {ROW("{\"b\":,\"a\":1}"), "a", NULL},
        {ROW("{\"b\" 1,\"a\":1}"), "a", NULL},
        {ROW("null"), "a", NULL},
        {ROW("\0"), "a", NULL},
        {ROW("{\"b\":\0,\"a\":1}"), "a", NULL},
};

START_TEST(scans_for_one_field)
{
	struct json_value value;
	enum json_status status = json_scan_field(&arena, scans[_i].text, scans[_i].field, 64, &value);

	ck_assert_msg((status == JSON_OK) == (scans[_i].expected != NULL), "%.*s", BYTES_ARG(scans[_i].text));
	if (scans[_i].expected)
		ck_assert(bytes_equal_string(value.text, scans[_i].expected));
}
END_TEST

START_TEST(a_scan_is_bounded_in_depth)
{
	const size_t depth = 100000;
	char *brackets = arena_zalloc(&arena, 2 * depth + 1);
	struct json_value value;

	memset(brackets, '[', depth);
	memset(brackets + depth, ']', depth);
	struct bytes object = bytes_from_string(arena_printf(&arena, "{\"b\":%s,\"a\":1}", brackets));
	ck_assert_int_eq(json_scan_field(&arena, object, "a", 64, &value), JSON_NOT_FOUND);
	ck_assert_int_eq(json_scan_field(&arena, object, "a", depth + 1, &value), JSON_OK);
}
END_TEST

/* Documents of which every field below is asked for. */
static const struct bytes documents[] = {
        ROW("{\"a\":1}"),
        ROW("{\"b\":[{\"a\":2}],\"a\":[\"x\",{\"a\":[1]}]}"),
        ROW("[10,[20,{\"a\":-1.5e3}],{\"\":true}]"),
        ROW(" { \"\" : { \"\" : null } , \"a\" : { \"a\" : { \"a\" : \"\\u00e9\" } } } "),
        ROW("{\"\\u0061\":\"\\ud83d\\ude00\"}"),
        ROW("{\"a/b\":1,\"m~n\":2,\"A\":9223372036854775808}"),
        ROW("{}"),
        ROW("[]"),
        ROW("\"a\""),
        ROW("12"),
        ROW("null"),
};

START_TEST(a_scan_finds_what_the_parse_finds)
{
	static const char *const fields[] = {"a",        "",       "A",    "a/b", "m~n", "/a",  "/0",    "/1/1/a",
	                                     "/a/1/a/0", "/a/a/a", "/a/0", "/",   "//",  "/2/", "/a~1b", "/m~0n"};
	const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
	const char *reason, *detail;
	const struct json_document *document = json_parse(&arena, documents[_i], &limits, &reason, &detail);

	ck_assert_ptr_nonnull(document);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct json_value parsed, scanned;
		enum json_status status = json_get_field(document, fields[i], &parsed);
		ck_assert_int_eq(json_scan_field(&arena, documents[_i], fields[i], 64, &scanned), status);
		if (status != JSON_OK)
			continue;
		ck_assert_int_eq(scanned.type, parsed.type);
		ck_assert_int_eq(scanned.integer, parsed.integer);
		ck_assert(scanned.real == parsed.real);
		ck_assert(bytes_equal(scanned.text, parsed.text));
	}
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(*(table)))

int main(void)
{
	Suite *suite = suite_create("json_scan");
	TCase *tests = tcase_create("json_scan");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, scans_for_one_field, 0, COUNT(scans));
	tcase_add_test(tests, a_scan_is_bounded_in_depth);
	tcase_add_loop_test(tests, a_scan_finds_what_the_parse_finds, 0, COUNT(documents));
	return run_suite(suite);
}
