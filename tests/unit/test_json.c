#include <check.h>
#include <ftw.h>
#include <locale.h>
#include <math.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "core/event/json.h"
#include "tests/unit/run_suite.h"

#define TEXT(literal) BYTES_LITERAL(literal)
#define ROW(literal)                                                                                                   \
	{                                                                                                              \
		(literal), sizeof(literal) - 1                                                                         \
	} /* in a table */

static struct arena arena;
static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
static const char *reason, *detail;

static void begin(void)
{
	arena_init(&arena, 64 * 1024);
}

static void end(void)
{
	arena_done(&arena);
}

static struct json_document *parse(struct bytes text)
{
	reason = detail = NULL;
	return json_parse(&arena, text, &limits, &reason, &detail);
}

static struct json_value get(struct bytes text, const char *pointer)
{
	struct json_document *document = parse(text);
	struct json_value value;

	ck_assert_msg(document, "%.*s: %s", BYTES_ARG(text), detail);
	ck_assert_msg(json_get(document, pointer, &value) == JSON_OK, "%.*s has no %s", BYTES_ARG(text), pointer);
	return value;
}

static void assert_text(struct bytes text, const char *expected)
{
	ck_assert_msg(bytes_equal_string(text, expected), "\"%.*s\" is not \"%s\"", BYTES_ARG(text), expected);
}

/* ---- what is JSON and what is not ---- */

static const struct bytes accepted[] = {
        ROW("{}"),
        ROW("[]"),
        ROW("0"),
        ROW("-0"),
        ROW("12"),
        ROW("1.5"),
        ROW("1e5"),
        ROW("1E+5"),
        ROW("1e-5"),
        ROW("0.0"),
        ROW("0e1"),
        ROW("-1.25e-3"),
        ROW("true"),
        ROW("false"),
        ROW("null"),
        ROW("\"\""),
        ROW("\"a\""),
        ROW(" \t\r\n1 \t\r\n"),
        ROW("[ ]"),
        ROW("{ }"),
        ROW("[1,2]"),
        ROW("[[],{}]"),
        ROW("[null,true,1.0,\"x\",{}]"),
        ROW("{\"\":1}"),
        ROW("{\"a\":{\"a\":{\"a\":1}}}"),
        ROW("[{\"a\":1},{\"a\":1}]"),
        ROW("{\"a\":1,\"A\":2}"),
        ROW("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
        ROW("\"\\u0041\\u00e9\\u20AC\""),
        ROW("\"\\ud83d\\ude00\""),
        ROW("\"\\uDBFF\\uDFFF\""),
        ROW("\"\\u0001\""),
        ROW("\"\\ufffe\\uffff\""),
        ROW("\"\x7f\""),
        ROW("\"\xc3\xa9\""),
        ROW("\"\xe2\x82\xac\""),
        ROW("\"\xf0\x9f\x98\x80\""),
        ROW("\"\xf4\x8f\xbf\xbf\""),
        ROW("\"\xed\x9f\xbf\xee\x80\x80\""),
        ROW("\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xf0\x90\x80\x80\""),
        ROW("\"\xef\xbb\xbf\""),
        ROW("\"\\\\ud800\""),
        ROW("\"\\\\u0000\""),
        ROW("\"\\\\\\\\ud800\""),
        ROW("123456789012345678901234567890"),
        ROW("1e999"),
        ROW("\"/\""),
        ROW("\"//*\""),
};

static const struct bytes malformed[] = {
        /* nothing, or too little */
        {NULL, 0},
        ROW(""),
        ROW(" "),
        ROW("["),
        ROW("{"),
        ROW("[1"),
        ROW("[1,"),
        ROW("{\"a\""),
        ROW("{\"a\":"),
        ROW("{\"a\":1"),
        ROW("{\"a\":1,"),
        ROW("\""),
        ROW("\"a"),
        ROW("\"\\"),
        ROW("\"\\\""),
        ROW("\"\\u"),
        ROW("\"\\u00"),
        ROW("tru"),
        ROW("nul"),
        ROW("-"),
        ROW("1."),
        ROW("1e"),
        ROW("1e+"),
        /* too much */
        ROW("1 2"),
        ROW("{}{}"),
        ROW("{} x"),
        ROW("[1]]"),
        ROW("{}}"),
        ROW("\"a\"\"b\""),
        ROW("nulll"),
        ROW("[]]"),
        ROW("{}\0"),
        ROW("1\0"),
        ROW("{},"),
        ROW("true false"),
        ROW("{} /* c */"),
        ROW("{}#"),
        /* too much, and cut short itself */
        ROW("{}\""),
        ROW("{}\"x"),
        ROW("{} \"x"),
        ROW("{}\"\\"),
        ROW("[1]\"abc"),
        ROW("1\""),
        ROW("1.5\"2"),
        ROW("1 \""),
        ROW("\"a\"\""),
        ROW("\"\\n\"\""),
        ROW("null\""),
        ROW("true \"x"),
        ROW("{}t"),
        ROW("{}tru"),
        ROW("{}-"),
        ROW("1 -"),
        ROW("1 2"),
        ROW("[[]]\""),
        ROW("[]1"),
        ROW("[]\n1"),
        ROW("{}1e"),
        ROW("12\t3"),
        /* wrong marks */
        ROW("[1,]"),
        ROW("[,1]"),
        ROW("[1,,2]"),
        ROW("[1 2]"),
        ROW("{\"a\":1,}"),
        ROW("{,}"),
        ROW("{\"a\" 1}"),
        ROW("{\"a\":1 \"b\":2}"),
        ROW("{a:1}"),
        ROW("{'a':1}"),
        ROW("{1:1}"),
        ROW("{null:1}"),
        ROW("{\"a\"::1}"),
        ROW("{\"a\",1}"),
        ROW("[1}"),
        ROW("{\"a\":1]"),
        ROW("['a']"),
        ROW("[a]"),
        ROW("[\"a\":1]"),
        ROW("/**/1"),
        ROW("//\n1"),
        /* numbers and words */
        ROW("01"),
        ROW("-01"),
        ROW("[00]"),
        ROW("+1"),
        ROW(".5"),
        ROW("[2.]"),
        ROW("[2.e3]"),
        ROW("[1.5.2]"),
        ROW("[--1]"),
        ROW("[1e]"),
        ROW("[1e+]"),
        ROW("[1ee2]"),
        ROW("[0x1]"),
        ROW("[1,5e3,5.]"),
        ROW("[NaN]"),
        ROW("[Infinity]"),
        ROW("[-Infinity]"),
        ROW("[True]"),
        ROW("[TRUE]"),
        ROW("[nan]"),
        ROW("[1_000]"),
        ROW("[-]"),
        ROW("[- 1]"),
        ROW("[1 .5]"),
        ROW("[truefalse]"),
        /* strings */
        ROW("\"\t\""),
        ROW("\"\n\""),
        ROW("\"\x1f\""),
        ROW("\"a\0b\""),
        ROW("\"\\x41\""),
        ROW("\"\\'\""),
        ROW("\"\\a\""),
        ROW("\"\\U0041\""),
        ROW("\"\\u12\""),
        ROW("\"\\u12g4\""),
        ROW("\"\\u 041\""),
        ROW("\"\\u+041\""),
        ROW("\"\\\n\""),
        ROW("\"\\0\""),
        ROW("\\u0041"),
        ROW("{\"a\":\\\"b\\\"}"),
        /* what separates nothing */
        ROW("[\f1]"),
        ROW("[\v1]"),
        ROW("\xef\xbb\xbf{}"),
        ROW("\xc2\xa0{}"),
        ROW("[\xe2\x80\xa8]"),
        ROW("\0{}"),
        ROW("[1\0]"),
        /* characters that can't be kept */
        ROW("\"\\u0000\""),
        ROW("[\"a\",\"b\\u0000\"]"),
        ROW("{\"\\u0000\":1}"),
        ROW("\"\\\\\\u0000\""),
        /* halves of surrogate pairs */
        ROW("\"\\ud800\""),
        ROW("\"\\udbff\""),
        ROW("\"\\udc00\""),
        ROW("\"\\udfff\""),
        ROW("\"\\ud800x\""),
        ROW("\"\\ud800\\n\""),
        ROW("\"\\ud800\\u0041\""),
        ROW("\"\\ud800\\ud800\""),
        ROW("\"\\udc00\\ud800\""),
        ROW("\"\\ud83d\\ude00\\ude00\""),
        ROW("\"\\ud83d\\ud83d\\ude00\""),
        ROW("{\"\\ud800\":1}"),
        ROW("\"\\ud800\\"),
        ROW("\"\\ud800\\udc0"),
        ROW("\"\\uD800\\\\udc00\""),
        ROW("\"\\\\\\ud800\""),
        ROW("\"\\ud800\\\\\\udc00\""),
        /* not UTF-8 */
        ROW("\"\x80\""),
        ROW("\"\xbf\""),
        ROW("\"\xc3\""),
        ROW("\"\xc3\x28\""),
        ROW("\"\xe2\x82\""),
        ROW("\"\xf0\x9f\x98\""),
        ROW("\"\xc0\x80\""),
        ROW("\"\xc1\xbf\""),
        ROW("\"\xe0\x80\x80\""),
        ROW("\"\xe0\x9f\xbf\""),
        ROW("\"\xf0\x80\x80\x80\""),
        ROW("\"\xf0\x8f\xbf\xbf\""),
        ROW("\"\xed\xa0\x80\""),
        ROW("\"\xed\xbf\xbf\""),
        ROW("\"\xed\xa0\xbd\xed\xb8\x80\""),
        ROW("\"\xf4\x90\x80\x80\""),
        ROW("\"\xf5\x80\x80\x80\""),
        ROW("\"\xfe\""),
        ROW("\"\xff\""),
        ROW("\"\xe2\x28\xac\""),
        ROW("\"\xe2\x82\x28\""),
        ROW("\"\xf0\x9f\x28\x80\""),
        ROW("{\"\xc3\x28\":1}"),
        ROW("\xff"),
        ROW("[\xc3\xa9]"),
        ROW("{}\xc3"),
        /* other encodings */
        ROW("\xff\xfe{\0}\0"),
        ROW("\xfe\xff\0{\0}"),
        ROW("{\0}\0"),
};

START_TEST(accepts_what_rfc_8259_allows)
{
	ck_assert_msg(parse(accepted[_i]) != NULL, "%.*s: %s", BYTES_ARG(accepted[_i]), detail);
}
END_TEST

START_TEST(refuses_what_is_not_json)
{
	ck_assert_msg(parse(malformed[_i]) == NULL, "took %.*s", BYTES_ARG(malformed[_i]));
	ck_assert_str_eq(reason, "malformed");
	ck_assert_ptr_nonnull(detail);
}
END_TEST

/* The same at every place within a word of the checking loop. */
START_TEST(finds_bad_bytes_at_every_alignment)
{
	static const char *const bad[] = {"\x01", "\v", "\xc3(", "\xff", "\\u0000", "\\udc00"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (size_t before = 0; before < 20; before++) {
			for (size_t after = 0; after < 20; after++) {
				char *text = arena_printf(&arena, "\"%.*s%s%.*s\"", (int)before, "xxxxxxxxxxxxxxxxxxxx",
				                          bad[i], (int)after, "xxxxxxxxxxxxxxxxxxxx");
				ck_assert_msg(!parse(bytes_from_string(text)), "took %s", text);
			}
		}
	}
}
END_TEST

/* P9 */
static const struct bytes duplicates[] = {
        ROW("{\"a\":1,\"a\":1}"),
        ROW("{\"amount\":1,\"amount\":1000000}"),
        ROW("{\"eventId\":\"1\",\"x\":0,\"eventId\":\"2\"}"),
        ROW("{\"\":1,\"\":2}"),
        ROW("{\"a\":1,\"\\u0061\":2}"),
        ROW("{\"\\u0061\":1,\"a\":2}"),
        ROW("{\"\xc3\xa9\":1,\"\\u00e9\":2}"),
        ROW("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"),
        ROW("{\"a/b\":1,\"a\\/b\":2}"),
        ROW("[{\"x\":{\"a\":1,\"b\":{},\"a\":2}}]"),
        ROW("{\"a\":{\"b\":1},\"c\":[1,2,{\"d\":3}],\"a\":null}"),
        ROW("{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":1,\"11\":1,\"12\":1,"
            "\"13\":1,"
            "\"14\":1,\"15\":1,\"16\":1,\"17\":1,\"18\":{\"1\":1},\"\\u0031\":1}"),
};

START_TEST(refuses_a_field_given_twice)
{
	ck_assert_msg(parse(duplicates[_i]) == NULL, "took %.*s", BYTES_ARG(duplicates[_i]));
	ck_assert_str_eq(reason, "duplicate_key");
}
END_TEST

/* fields: how many; twice: which one is named like the first, -1: none. */
static struct bytes object_of(size_t fields, size_t twice)
{
	char *text = arena_alloc(&arena, fields * 40 + 3);
	size_t len = 0;

	text[len++] = '{';
	for (size_t i = 0; i < fields; i++)
		len += (size_t)snprintf(text + len, 40, "%s\"field%zu\":[%zu,{\"x\":1}]", i ? "," : "",
		                        i == twice ? 0 : i, i);
	text[len++] = '}';
	return (struct bytes){text, len};
}

START_TEST(finds_a_duplicate_among_any_number_of_fields)
{
	for (size_t fields = 2; fields < 70; fields++) {
		ck_assert_msg(parse(object_of(fields, SIZE_MAX)) != NULL, "%zu fields: %s", fields, detail);
		for (size_t twice = 1; twice < fields; twice++) {
			ck_assert_msg(!parse(object_of(fields, twice)), "took field %zu of %zu", twice, fields);
			ck_assert_str_eq(reason, "duplicate_key");
		}
	}
}
END_TEST

/* ---- limits ---- */

static struct bytes nested(char open, size_t depth, bool closed)
{
	size_t len = closed ? 2 * depth : depth;
	char *text = malloc(len);

	memset(text, open, depth);
	if (closed)
		memset(text + depth, open + 2, depth);
	return (struct bytes){text, len};
}

START_TEST(takes_max_depth_levels_and_not_one_more)
{
	for (size_t depth = 63; depth <= 65; depth++) {
		struct bytes text = nested('[', depth, true);
		ck_assert(!!parse(text) == (depth <= 64));
		if (depth == 65)
			ck_assert_str_eq(reason, "too_deep");
		free((char *)(uintptr_t)text.ptr);
	}
}
END_TEST

/* P15 */
START_TEST(a_hundred_thousand_brackets_cost_next_to_nothing)
{
	for (int i = 0; i < 2; i++) {
		struct bytes text = nested(i ? '[' : '{', 100000, i == 1);
		arena_reset(&arena);
		ck_assert_ptr_null(parse(text));
		ck_assert_str_eq(reason, i ? "too_deep" : "malformed");
		ck_assert_uint_lt(arena.used_bytes, text.len / 2);
		free((char *)(uintptr_t)text.ptr);
	}
}
END_TEST

START_TEST(a_great_max_depth_needs_memory_in_proportion)
{
	const struct json_limits deep = {.max_bytes = 1 << 20, .max_depth = 100000};
	struct bytes text = nested('[', 100000, true);

	ck_assert_ptr_nonnull(json_parse(&arena, text, &deep, &reason, &detail));
	ck_assert_uint_lt(arena.used_bytes, 100000 * 100);
	free((char *)(uintptr_t)text.ptr);
}
END_TEST

START_TEST(takes_max_bytes_and_not_one_more)
{
	struct json_limits small = {.max_bytes = 4, .max_depth = 1};

	ck_assert_ptr_nonnull(json_parse(&arena, TEXT("1234"), &small, &reason, &detail));
	ck_assert_ptr_null(json_parse(&arena, TEXT("12345"), &small, &reason, &detail));
	ck_assert_str_eq(reason, "too_big");
}
END_TEST

START_TEST(a_megabyte_of_tiny_values_needs_memory_in_proportion)
{
	size_t len = 1 << 20;
	char *text = malloc(len);

	for (size_t i = 0; i < len; i++)
		text[i] = i == 0 ? '[' : i == len - 1 ? ']' : i % 2 ? '0' : ',';
	text[len - 2] = ' ';
	text[len - 3] = '1';
	ck_assert_ptr_nonnull(parse((struct bytes){text, len}));
	ck_assert_uint_lt(arena.used_bytes, 34 * len);
	free(text);
}
END_TEST

START_TEST(a_megabyte_of_escapes_needs_memory_in_proportion)
{
	size_t len = 1 << 20;
	char *text = malloc(len);

	memset(text, '\\', len);
	text[0] = text[len - 1] = '"';
	ck_assert_ptr_nonnull(parse((struct bytes){text, len}));
	ck_assert_uint_lt(arena.used_bytes, 8 * len);
	free(text);
}
END_TEST

START_TEST(a_hundred_thousand_fields_take_time_in_proportion)
{
	struct json_limits wide = {.max_bytes = 1 << 24, .max_depth = 4};
	struct bytes text = object_of(100000, 99999);
	clock_t begun = clock();

	ck_assert_ptr_null(json_parse(&arena, text, &wide, &reason, &detail));
	ck_assert_str_eq(reason, "duplicate_key");
	/* Each with each would be five thousand million comparisons. */
	ck_assert_int_lt(clock() - begun, 5 * CLOCKS_PER_SEC);
}
END_TEST

START_TEST(a_refusal_says_where_and_quotes_nothing)
{
	ck_assert_ptr_null(parse(TEXT("{\"secret\":\"hush\",\"x\":\"\\u0000\"}")));
	ck_assert_ptr_nonnull(strstr(detail, "at byte 22"));
	ck_assert_ptr_null(parse(TEXT("{\"secret\":\"hush\" \"x\"}")));
	ck_assert_ptr_nonnull(strstr(detail, "at byte"));
	ck_assert_ptr_null(strstr(detail, "hush"));
	ck_assert_ptr_null(strstr(detail, "secret"));
	ck_assert_ptr_null(strchr(detail, '\n'));
	ck_assert_ptr_null(parse(TEXT("{\"secret\":1,\"secret\":2}")));
	ck_assert_ptr_nonnull(strstr(detail, "at byte 23"));
	ck_assert_ptr_null(strstr(detail, "secret"));
}
END_TEST

/* ---- what fields hold ---- */

START_TEST(values_keep_their_type_and_text)
{
	struct bytes text = TEXT("{\"n\":null,\"t\":true,\"f\":false,\"i\":-42,\"r\":1.50,\"s\":\"a\\nb\\u20ac\","
	                         "\"o\": { \"x\" : [1, 2] } ,\"a\":[ ],\"e\":\"\"}");

	ck_assert_int_eq(get(text, "/n").type, JSON_NULL);
	assert_text(get(text, "/n").text, "null");
	ck_assert_int_eq(get(text, "/t").type, JSON_BOOL);
	ck_assert_int_eq(get(text, "/t").integer, 1);
	assert_text(get(text, "/t").text, "true");
	ck_assert_int_eq(get(text, "/f").integer, 0);
	assert_text(get(text, "/f").text, "false");
	ck_assert_int_eq(get(text, "/i").type, JSON_INTEGER);
	ck_assert_int_eq(get(text, "/i").integer, -42);
	ck_assert_double_eq(get(text, "/i").real, -42);
	ck_assert_int_eq(get(text, "/r").type, JSON_REAL);
	ck_assert_double_eq(get(text, "/r").real, 1.5);
	assert_text(get(text, "/r").text, "1.50");
	ck_assert_int_eq(get(text, "/s").type, JSON_STRING);
	assert_text(get(text, "/s").text, "a\nb\xe2\x82\xac");
	ck_assert_int_eq(get(text, "/o").type, JSON_OBJECT);
	assert_text(get(text, "/o").text, "{ \"x\" : [1, 2] }");
	assert_text(get(text, "/o/x").text, "[1, 2]");
	assert_text(get(text, "/a").text, "[ ]");
	assert_text(get(text, "/e").text, "");
	ck_assert_ptr_nonnull(get(text, "/e").text.ptr);
	ck_assert(bytes_equal(get(text, "").text, text));
}
END_TEST

static const struct {
	struct bytes text;
	enum json_type type;
	int64_t integer;
	double real;
} numbers[] = {
        {ROW("0"), JSON_INTEGER, 0, 0},
        {ROW("-0"), JSON_INTEGER, 0, 0},
        {ROW("9007199254740993"), JSON_INTEGER, INT64_C(9007199254740993), 9007199254740992.0},
        {ROW("9223372036854775807"), JSON_INTEGER, INT64_MAX, 9223372036854775808.0},
        {ROW("-9223372036854775808"), JSON_INTEGER, INT64_MIN, -9223372036854775808.0},
        {ROW("9223372036854775808"), JSON_REAL, 0, 9223372036854775808.0},
        {ROW("-9223372036854775809"), JSON_REAL, 0, -9223372036854775808.0},
        {ROW("18446744073709551616"), JSON_REAL, 0, 18446744073709551616.0},
        {ROW("92233720368547758070"), JSON_REAL, 0, 92233720368547758070.0},
        {ROW("1.0"), JSON_REAL, 0, 1},
        {ROW("1e3"), JSON_REAL, 0, 1000},
        {ROW("1E3"), JSON_REAL, 0, 1000},
        {ROW("0.1"), JSON_REAL, 0, 0.1},
        {ROW("-2.5e-3"), JSON_REAL, 0, -0.0025},
        {ROW("1e999"), JSON_REAL, 0, (double)INFINITY},
        {ROW("1e-999"), JSON_REAL, 0, 0},
        {ROW("4.9406564584124654e-324"), JSON_REAL, 0, 4.9406564584124654e-324},
};

static void assert_number(int i)
{
	struct bytes in_array = bytes_from_string(arena_printf(&arena, "[%.*s]", BYTES_ARG(numbers[i].text)));
	const struct json_value values[] = {get(numbers[i].text, ""), get(in_array, "/0")};

	for (int j = 0; j < 2; j++) {
		ck_assert_int_eq(values[j].type, numbers[i].type);
		ck_assert_int_eq(values[j].integer, numbers[i].integer);
		ck_assert(values[j].real == numbers[i].real);
		ck_assert(bytes_equal(values[j].text, numbers[i].text));
	}
}

START_TEST(numbers_are_exact_or_real)
{
	assert_number(_i);
}
END_TEST

/* A locale with a decimal comma, made for this test; false: the machine has none to make it from. */
static bool make_comma_locale(const char *folder)
{
	char program[] = "localedef", source[] = "--inputfile=de_DE", charset[] = "--charmap=UTF-8";
	char *const arguments[] = {program, source, charset, arena_printf(&arena, "%s/comma.UTF-8", folder), NULL};
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, "localedef", NULL, NULL, arguments, environ) != 0)
		return false;
	return waitpid(pid, &status, 0) == pid && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "comma.UTF-8");
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

START_TEST(numbers_do_not_follow_the_locale)
{
	char folder[] = "locale-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(folder));
	if (make_comma_locale(folder)) {
		ck_assert_str_eq(localeconv()->decimal_point, ",");
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			assert_number((int)i);
		setlocale(LC_ALL, "C");
	} else {
		fprintf(stderr, "skipped: no localedef and no de_DE (Debian package locales)\n");
	}
	nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
END_TEST

/* The examples of RFC 6901 section 5 and edges of our own. */
#define POINTERS                                                                                                       \
	"{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7," \
	"\"m~n\":8,\"~1\":9,\"/\":{\"\":10},\"0\":{\"0\":11},\"x\":{\"y\":{\"z\":[[],[12]]}},\"-\":[13]}"

static const struct {
	const char *pointer;
	enum json_status status;
	const char *text;
} pointers[] = {
        {"/foo", JSON_OK, "[\"bar\",\"baz\"]"},
        {"/foo/0", JSON_OK, "bar"},
        {"/foo/1", JSON_OK, "baz"},
        {"/", JSON_OK, "0"},
        {"/a~1b", JSON_OK, "1"},
        {"/c%d", JSON_OK, "2"},
        {"/e^f", JSON_OK, "3"},
        {"/g|h", JSON_OK, "4"},
        {"/i\\j", JSON_OK, "5"},
        {"/k\"l", JSON_OK, "6"},
        {"/ ", JSON_OK, "7"},
        {"/m~0n", JSON_OK, "8"},
        {"/~01", JSON_OK, "9"},
        {"/~1/", JSON_OK, "10"},
        {"/0/0", JSON_OK, "11"},
        {"/x/y/z/1/0", JSON_OK, "12"},
        {"/-/0", JSON_OK, "13"},
        {"/foo/2", JSON_NOT_FOUND, NULL},
        {"/foo/-", JSON_NOT_FOUND, NULL},
        {"/foo/00", JSON_NOT_FOUND, NULL},
        {"/foo/01", JSON_NOT_FOUND, NULL},
        {"/foo/+1", JSON_NOT_FOUND, NULL},
        {"/foo/1e0", JSON_NOT_FOUND, NULL},
        {"/foo/", JSON_NOT_FOUND, NULL},
        {"/foo/18446744073709551616", JSON_NOT_FOUND, NULL},
        {"/foo/18446744073709551617", JSON_NOT_FOUND, NULL},
        {"/foo/0/0", JSON_NOT_FOUND, NULL},
        {"/x/y/z/0/0", JSON_NOT_FOUND, NULL},
        {"/x/z", JSON_NOT_FOUND, NULL},
        {"/z", JSON_NOT_FOUND, NULL},
        {"/bar", JSON_NOT_FOUND, NULL},
        {"/fo", JSON_NOT_FOUND, NULL},
        {"/fooo", JSON_NOT_FOUND, NULL},
        {"//", JSON_NOT_FOUND, NULL},
        {"/a/b", JSON_NOT_FOUND, NULL},
        {"foo", JSON_BAD_POINTER, NULL},
        {"foo/0", JSON_BAD_POINTER, NULL},
        {"#/foo", JSON_BAD_POINTER, NULL},
        {"/~", JSON_BAD_POINTER, NULL},
        {"/m~n", JSON_BAD_POINTER, NULL},
        {"/missing/~2", JSON_BAD_POINTER, NULL},
};

START_TEST(pointers_follow_rfc_6901)
{
	struct json_document *document = parse(TEXT(POINTERS));
	struct json_value value, scanned;

	ck_assert_msg(document, "%s", detail);
	ck_assert_int_eq(json_get(document, pointers[_i].pointer, &value), pointers[_i].status);
	if (pointers[_i].status == JSON_OK)
		assert_text(value.text, pointers[_i].text);
	if (pointers[_i].pointer[0] != '/')
		return;
	ck_assert_int_eq(json_scan_field(&arena, TEXT(POINTERS), pointers[_i].pointer, 64, &scanned),
	                 pointers[_i].status);
	if (pointers[_i].status == JSON_OK)
		assert_text(scanned.text, pointers[_i].text);
}
END_TEST

START_TEST(a_field_is_a_name_or_a_pointer)
{
	struct json_document *document = parse(TEXT("{\"a\":{\"b\":1},\"a/b\":2,\"m~n\":3,\"c\":4}"));
	struct json_value value;

	ck_assert_int_eq(json_get_field(document, "c", &value), JSON_OK);
	assert_text(value.text, "4");
	ck_assert_int_eq(json_get_field(document, "a/b", &value), JSON_OK);
	assert_text(value.text, "2");
	ck_assert_int_eq(json_get_field(document, "m~n", &value), JSON_OK);
	assert_text(value.text, "3");
	ck_assert_int_eq(json_get_field(document, "/a/b", &value), JSON_OK);
	assert_text(value.text, "1");
	ck_assert_int_eq(json_get_field(document, "b", &value), JSON_NOT_FOUND);
	ck_assert_int_eq(json_get_field(document, "", &value), JSON_NOT_FOUND);
	ck_assert_int_eq(json_get_field(parse(TEXT("[1]")), "c", &value), JSON_NOT_FOUND);
	ck_assert_int_eq(json_get_field(parse(TEXT("\"c\"")), "c", &value), JSON_NOT_FOUND);
}
END_TEST

START_TEST(keys_come_from_scalars_alone)
{
	struct bytes text = TEXT("{\"s\":\"x\",\"i\":1.50,\"n\":null,\"o\":{},\"a\":[],\"b\":true,\"e\":\"\"}");
	struct json_value value = get(text, "/s");
	assert_text(json_scalar_text(&value), "x");
	value = get(text, "/i");
	assert_text(json_scalar_text(&value), "1.50");
	value = get(text, "/b");
	assert_text(json_scalar_text(&value), "true");
	value = get(text, "/e");
	assert_text(json_scalar_text(&value), "");
	for (const char *name = "noa"; *name; name++) {
		value = get(text, (char[]){'/', *name, '\0'});
		ck_assert_ptr_null(json_scalar_text(&value).ptr);
	}
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(*(table)))

int main(void)
{
	Suite *suite = suite_create("json");
	TCase *tests = tcase_create("json");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, accepts_what_rfc_8259_allows, 0, COUNT(accepted));
	tcase_add_loop_test(tests, refuses_what_is_not_json, 0, COUNT(malformed));
	tcase_add_test(tests, finds_bad_bytes_at_every_alignment);
	tcase_add_loop_test(tests, refuses_a_field_given_twice, 0, COUNT(duplicates));
	tcase_add_test(tests, finds_a_duplicate_among_any_number_of_fields);
	tcase_add_test(tests, takes_max_depth_levels_and_not_one_more);
	tcase_add_test(tests, a_hundred_thousand_brackets_cost_next_to_nothing);
	tcase_add_test(tests, a_great_max_depth_needs_memory_in_proportion);
	tcase_add_test(tests, takes_max_bytes_and_not_one_more);
	tcase_add_test(tests, a_megabyte_of_tiny_values_needs_memory_in_proportion);
	tcase_add_test(tests, a_megabyte_of_escapes_needs_memory_in_proportion);
	tcase_add_test(tests, a_hundred_thousand_fields_take_time_in_proportion);
	tcase_add_test(tests, a_refusal_says_where_and_quotes_nothing);
	tcase_add_test(tests, values_keep_their_type_and_text);
	tcase_add_loop_test(tests, numbers_are_exact_or_real, 0, COUNT(numbers));
	tcase_add_test(tests, numbers_do_not_follow_the_locale);
	tcase_add_loop_test(tests, pointers_follow_rfc_6901, 0, COUNT(pointers));
	tcase_add_test(tests, a_field_is_a_name_or_a_pointer);
	tcase_add_test(tests, keys_come_from_scalars_alone);
	return run_suite(suite);
}
