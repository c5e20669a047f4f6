#include <check.h>
#include <stdlib.h>

#include "core/event/event.h"
#include "tests/unit/run_suite.h"

#define EVENT_ID "01890a5d-ac96-774b-bcce-b302099a8057"

static struct arena arena;

static void begin(void)
{
	arena_init(&arena, 64 * 1024);
}

static void end(void)
{
	arena_done(&arena);
}

static struct event event_of(const char *json)
{
	static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
	const char *reason, *detail;
	struct event event = {
	        .type = BYTES_LITERAL("order.paid.v1"), .has_uuid = true, .id_text = BYTES_LITERAL(EVENT_ID)};

	if (json) {
		event.document = json_parse(&arena, bytes_from_string(json), &limits, &reason, &detail);
		ck_assert_msg(event.document, "%s: %s", json, detail);
	}
	return event;
}

static struct bytes apply(const char *text, const struct event *event, const char **out_reason, const char **out_detail)
{
	struct error error;
	struct key_template *template = key_template_create(text, &error);

	ck_assert_msg(template, "%s: %s", text, error.text);
	struct bytes key = key_template_apply(template, event, &arena, out_reason, out_detail);
	key_template_destroy(template);
	return key;
}

static const struct {
	const char *template, *json, *key, *reason; /* the key, or why there is none */
} cases[] = {
        {"{eventType}:{orderId}:{eventVersion}", "{\"orderId\":\"A-1\",\"eventVersion\":3}", "order.paid.v1:A-1:3",
         NULL},
        {"order-paid:{eventId}", "{}", "order-paid:" EVENT_ID, NULL},
        {"{orderId}", "{\"orderId\":\"x\"}", "x", NULL},
        {"a{orderId}z", "{\"orderId\":\"x\"}", "axz", NULL},
        /* numbers as written */
        {"{n}", "{\"n\":1}", "1", NULL},
        {"{n}", "{\"n\":1.0}", "1.0", NULL},
        {"{n}", "{\"n\":1.50}", "1.50", NULL},
        {"{n}", "{\"n\":1E+2}", "1E+2", NULL},
        {"{n}", "{\"n\":-0}", "-0", NULL},
        {"{n}", "{\"n\":123456789012345678901234567890}", "123456789012345678901234567890", NULL},
        {"{n}", "{\"n\":true}", "true", NULL},
        {"{n}", "{\"n\":false}", "false", NULL},
        /* ':' and '%' of a field are encoded, those of the template are not */
        {"%:{a}:{b}", "{\"a\":\"x:y\",\"b\":\"z\"}", "%:x%3Ay:z", NULL},
        {"{a}:{b}", "{\"a\":\"x\",\"b\":\"y:z\"}", "x:y%3Az", NULL},
        {"{a}:{b}", "{\"a\":\"x%3Ay\",\"b\":\"z\"}", "x%253Ay:z", NULL},
        {"{a}", "{\"a\":\":%:\"}", "%3A%25%3A", NULL},
        {"{a}", "{\"a\":\"{b}\"}", "{b}", NULL},
        {"{a}", "{\"a\":\" x\\t\\u00e9/\\\\\"}", " x\t\xc3\xa9/\\", NULL},
        /* pointers */
        {"{/order/id}:{/lines/1/sku}", "{\"order\":{\"id\":7},\"lines\":[{},{\"sku\":\"s\"}]}", "7:s", NULL},
        {"{/a~1b}", "{\"a/b\":1}", "1", NULL},
        {"{a/b}", "{\"a/b\":1}", "1", NULL},
        /* a payload field that begins like a forbidden one is a field */
        {"{topicId}:{offsetX}", "{\"topicId\":1,\"offsetX\":2}", "1:2", NULL},
        /* parts that are not there */
        {"{a}", "{}", NULL, "key_incomplete"},
        {"{a}", "{\"b\":{\"a\":1}}", NULL, "key_incomplete"},
        {"{a}", "{\"a\":null}", NULL, "key_incomplete"},
        {"{a}", "{\"a\":{}}", NULL, "key_incomplete"},
        {"{a}", "{\"a\":{\"b\":1}}", NULL, "key_incomplete"},
        {"{a}", "{\"a\":[]}", NULL, "key_incomplete"},
        {"{a}", "{\"a\":[1]}", NULL, "key_incomplete"},
        {"{a}", "{\"a\":\"\"}", NULL, "key_incomplete"},
        {"{a}:{b}", "{\"a\":1}", NULL, "key_incomplete"},
        {"{a}:{b}", "{\"b\":1}", NULL, "key_incomplete"},
        {"{a}", "[1]", NULL, "key_incomplete"},
        {"{a}", NULL, NULL, "key_incomplete"},
        {"{A}", "{\"a\":1}", NULL, "key_incomplete"},
};

START_TEST(makes_a_key_or_says_why_not)
{
	struct event event = event_of(cases[_i].json);
	const char *reason = NULL, *detail = NULL;
	struct bytes key = apply(cases[_i].template, &event, &reason, &detail);

	if (cases[_i].key) {
		ck_assert_msg(bytes_equal_string(key, cases[_i].key), "%.*s is not %s", BYTES_ARG(key), cases[_i].key);
		ck_assert_ptr_null(reason);
	} else {
		ck_assert_ptr_null(key.ptr);
		ck_assert_str_eq(reason, cases[_i].reason);
		ck_assert_ptr_nonnull(strchr(detail, '{'));
	}
}
END_TEST

/* unit: what the field is made of, as a literal in JSON; one unit is `characters` of the key. */
static const struct {
	const char *unit;
	size_t characters;
} units[] = {{"x", 1}, {"\xc3\xa9", 1}, {"\xf0\x9f\x98\x80", 1}, {"\\ud83d\\ude00", 1}, {":", 3}, {"%", 3}};

static const char *key_reason(const char *unit, size_t count, const char *rest)
{
	char *json = arena_alloc(&arena, count * strlen(unit) + 32);
	const char *reason = NULL, *detail = NULL;
	size_t len = 6;

	memcpy(json, "{\"a\":\"", 6);
	for (size_t i = 0; i < count; i++, len += strlen(unit))
		memcpy(json + len, unit, strlen(unit));
	memcpy(json + len, rest, strlen(rest) + 1);
	memcpy(json + len + strlen(rest), "\"}", 3);
	struct event event = event_of(json);
	struct bytes key = apply("{a}", &event, &reason, &detail);
	ck_assert(!key.ptr == (reason != NULL));
	return reason;
}

START_TEST(takes_200_characters_and_refuses_201)
{
	size_t count = 200 / units[_i].characters;
	const char *rest = 200 % units[_i].characters ? "yy" : "";
	char *longer = arena_printf(&arena, "%sz", rest);

	ck_assert_ptr_null(key_reason(units[_i].unit, count, rest));
	ck_assert_str_eq(key_reason(units[_i].unit, count, longer), "key_too_long");
	ck_assert_str_eq(key_reason(units[_i].unit, 5000, ""), "key_too_long");
}
END_TEST

START_TEST(the_template_counts_too)
{
	const char *reason = NULL, *detail = NULL;
	struct event event = event_of("{\"a\":\"x\"}");
	char literal[201];

	memset(literal, 'l', 199);
	literal[199] = '\0';
	ck_assert_uint_eq(apply(arena_printf(&arena, "%s{a}", literal), &event, &reason, &detail).len, 200);
	ck_assert_ptr_null(apply(arena_printf(&arena, "%sl{a}", literal), &event, &reason, &detail).ptr);
	ck_assert_str_eq(reason, "key_too_long");
}
END_TEST

START_TEST(an_event_without_an_id_has_no_event_id_part)
{
	struct event event = event_of("{\"eventId\":\"not checked\"}");
	const char *reason = NULL, *detail = NULL;

	event.has_uuid = false;
	ck_assert_ptr_null(apply("{eventId}", &event, &reason, &detail).ptr);
	ck_assert_str_eq(reason, "key_incomplete");
}
END_TEST

START_TEST(a_type_of_any_bytes_stays_within_bounds)
{
	struct event event = event_of("{\"a\":1}");
	const char *reason = NULL, *detail = NULL;
	char bytes[4000];

	memset(bytes, 0x80, sizeof(bytes)); /* no byte begins a character */
	event.type = (struct bytes){bytes, sizeof(bytes)};
	ck_assert_ptr_null(apply("{eventType}:{a}", &event, &reason, &detail).ptr);
	ck_assert_str_eq(reason, "key_too_long");
}
END_TEST

static const struct {
	const char *template, *why;
} refused[] = {
        /* IDEM-X2 */
        {"{offset}", "offset"},
        {"{partition}", "partition"},
        {"{topic}:{a}", "topic"},
        {"{a}:{timestamp}", "timestamp"},
        {"{Offset}", "Offset"},
        {"{TIMESTAMP}", "TIMESTAMP"},
        {"{/offset}", "offset"},
        {"{/meta/timestamp}", "timestamp"},
        /* a key that every event shares */
        {"", "no field"},
        {"constant", "no field"},
        {"{eventType}", "no field"},
        {"x:{eventType}", "no field"},
        /* a key that two different events could share */
        {"{a}{b}", "':' between {a} and {b}"},
        {"{a}-{b}", "':' between {a} and {b}"},
        {"{a}:{b}{c}", "':' between {b} and {c}"},
        {"{eventType}{a}", "':' between {eventType} and {a}"},
        /* not a template */
        {"{", "without its }"},
        {"{a", "without its }"},
        {"{a:{b}", "without its }"},
        {"a}", "without its {"},
        {"{a}}", "without its {"},
        {"{}", "without a field"},
        {"{/a~}", "pointer"},
        {"\xff:{a}", "UTF-8"},
        {"a\x01:{a}", "UTF-8"},
};

START_TEST(refuses_a_template_that_is_no_key)
{
	struct error error = {.code = ERROR_NONE};

	ck_assert_msg(!key_template_create(refused[_i].template, &error), "took %s", refused[_i].template);
	ck_assert_int_eq(error.code, ERROR_CONFIG);
	ck_assert_msg(strstr(error.text, refused[_i].why), "%s: %s", refused[_i].template, error.text);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(*(table)))

int main(void)
{
	Suite *suite = suite_create("key_template");
	TCase *tests = tcase_create("key_template");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, makes_a_key_or_says_why_not, 0, COUNT(cases));
	tcase_add_loop_test(tests, takes_200_characters_and_refuses_201, 0, COUNT(units));
	tcase_add_test(tests, the_template_counts_too);
	tcase_add_test(tests, an_event_without_an_id_has_no_event_id_part);
	tcase_add_test(tests, a_type_of_any_bytes_stays_within_bounds);
	tcase_add_loop_test(tests, refuses_a_template_that_is_no_key, 0, COUNT(refused));
	return run_suite(suite);
}
