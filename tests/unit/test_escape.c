/* Foreign text for a terminal and for JSON. */
#include "core/base/escape.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdlib.h>

typedef void printer(struct bytes text, FILE *out);

static void expect(printer *print, struct bytes text, const char *wanted)
{
	char *printed;
	size_t len;
	FILE *out = open_memstream(&printed, &len);
	ck_assert_ptr_nonnull(out);
	print(text, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(printed, wanted);
	free(printed);
}

static void cut_at_4(struct bytes text, FILE *out)
{
	escape_text_cut(text, 4, out);
}

START_TEST(what_can_be_seen_stays_as_it_is)
{
	expect(escape_text, BYTES_LITERAL("order 7, \"Grüße\", 価格 €5 😀"), "order 7, \"Grüße\", 価格 €5 😀");
	expect(escape_text, BYTES_LITERAL(""), "");
	expect(escape_text, BYTES_NONE, "");
}
END_TEST

START_TEST(controls_of_both_sets_are_shown)
{
	expect(escape_text, BYTES_LITERAL("a\x1b[31m\0b\x7f\xc2\x9b"), "a\\x1b[31m\\x00b\\x7f\\u{009b}");
	expect(escape_text, BYTES_LITERAL("a\r\n\t\\"), "a\\r\\n\\t\\\\");
}
END_TEST

START_TEST(what_turns_or_hides_text_is_shown)
{
	expect(escape_text, BYTES_LITERAL("\u202egpj.exe\u2066\u200b\ufeff\u2028"),
	       "\\u{202e}gpj.exe\\u{2066}\\u{200b}\\u{feff}\\u{2028}");
	expect(escape_text, BYTES_LITERAL("\U000e0041"), "\\u{e0041}");
}
END_TEST

/* Cut, overlong, a surrogate, beyond the last plane, a stray continuation. */
START_TEST(bytes_that_are_no_utf8_are_shown_one_by_one)
{
	expect(escape_text, BYTES_LITERAL("\xc3("), "\\xc3(");
	expect(escape_text, BYTES_LITERAL("\xe2\x82"), "\\xe2\\x82");
	expect(escape_text, BYTES_LITERAL("\xc0\x9b\xe0\x82\x9b"), "\\xc0\\x9b\\xe0\\x82\\x9b");
	expect(escape_text, BYTES_LITERAL("\xed\xa0\x80"), "\\xed\\xa0\\x80");
	expect(escape_text, BYTES_LITERAL("\xf4\x90\x80\x80\xff"), "\\xf4\\x90\\x80\\x80\\xff");
	ck_assert(!escape_is_utf8(BYTES_LITERAL("ab\xc3")));
	ck_assert(escape_is_utf8(BYTES_LITERAL("ab\0é")));
	ck_assert(escape_is_utf8(BYTES_NONE));
}
END_TEST

START_TEST(a_cut_is_not_inside_a_character)
{
	expect(cut_at_4, BYTES_LITERAL("abcd"), "abcd");
	expect(cut_at_4, BYTES_LITERAL("abcde"), "abcd…");
	expect(cut_at_4, BYTES_LITERAL("abc\u20ac"), "abc…");
}
END_TEST

START_TEST(json_is_ascii_and_keeps_null_and_empty_apart)
{
	expect(escape_json, BYTES_NONE, "null");
	expect(escape_json, BYTES_LITERAL(""), "\"\"");
	expect(escape_json, BYTES_LITERAL("\"\\\n\x7f\u00e9\U0001f600\xff"),
	       "\"\\\"\\\\\\u000a\\u007f\\u00e9\\ud83d\\ude00\\ufffd\"");
}
END_TEST

START_TEST(base64_of_any_length)
{
	char zeros[1000] = "";
	expect(escape_json_base64, BYTES_NONE, "null");
	expect(escape_json_base64, BYTES_LITERAL(""), "\"\"");
	expect(escape_json_base64, BYTES_LITERAL("\xff\xfe"), "\"//4=\"");
	char wanted[1400] = "\"";
	for (int i = 0; i < 1334; i++)
		wanted[1 + i] = 'A';
	wanted[1335] = wanted[1336] = '=';
	wanted[1337] = '"';
	expect(escape_json_base64, (struct bytes){zeros, sizeof(zeros)}, wanted);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("escape");
	TCase *tests = tcase_create("escape");
	tcase_add_test(tests, what_can_be_seen_stays_as_it_is);
	tcase_add_test(tests, controls_of_both_sets_are_shown);
	tcase_add_test(tests, what_turns_or_hides_text_is_shown);
	tcase_add_test(tests, bytes_that_are_no_utf8_are_shown_one_by_one);
	tcase_add_test(tests, a_cut_is_not_inside_a_character);
	tcase_add_test(tests, json_is_ascii_and_keeps_null_and_empty_apart);
	tcase_add_test(tests, base64_of_any_length);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
