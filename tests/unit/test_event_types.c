#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/event/event_types.h"
#include "tests/unit/run_suite.h"

static char folder[] = "schemas-XXXXXX";
static const char *const files[] = {"order.confirmed.v1.json",
                                    "order.cancelled.v1.json",
                                    "order.json.json",
                                    ".hidden.json",
                                    "README.md",
                                    ".json",
                                    "a.json.bak"};

static void path_of(size_t i, char *out, size_t size)
{
	snprintf(out, size, "%s/%s", folder, files[i]);
}

static void begin(void)
{
	char path[200];

	memcpy(folder, "schemas-XXXXXX", sizeof(folder));
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		path_of(i, path, sizeof(path));
		FILE *file = fopen(path, "w");
		ck_assert_ptr_nonnull(file);
		ck_assert_int_eq(fclose(file), 0);
	}
}

static void end(void)
{
	char path[200];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		path_of(i, path, sizeof(path));
		unlink(path);
	}
	rmdir(folder);
}

static enum event_type_status look_up(const char *known_folder, const char *const *handled, const char *name)
{
	struct error error;
	struct event_types *types = event_types_create(known_folder, handled, &error);

	ck_assert_msg(types, "%s", error.text);
	enum event_type_status status = event_types_look_up(types, bytes_from_string(name));
	event_types_destroy(types);
	return status;
}

static const char *const none[] = {NULL};
static const char *const confirmed[] = {"order.confirmed.v1", NULL};

START_TEST(the_folder_names_what_is_known)
{
	ck_assert_int_eq(look_up(folder, confirmed, "order.confirmed.v1"), EVENT_TYPE_HANDLED);
	ck_assert_int_eq(look_up(folder, confirmed, "order.cancelled.v1"), EVENT_TYPE_KNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, "order.json"), EVENT_TYPE_KNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, "order.confirmed.v2"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, "order.confirmed.v"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, "order.confirmed.v1.json"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, "ORDER.CONFIRMED.V1"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, ""), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, ".hidden"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, "README.md"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, confirmed, "a"), EVENT_TYPE_UNKNOWN);
}
END_TEST

START_TEST(a_plugin_without_a_list_handles_all_that_is_known)
{
	ck_assert_int_eq(look_up(folder, none, "order.confirmed.v1"), EVENT_TYPE_HANDLED);
	ck_assert_int_eq(look_up(folder, none, "order.cancelled.v1"), EVENT_TYPE_HANDLED);
	ck_assert_int_eq(look_up(folder, none, "order.confirmed.v2"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(folder, NULL, "order.cancelled.v1"), EVENT_TYPE_HANDLED);
}
END_TEST

START_TEST(without_a_folder_the_list_is_what_is_known)
{
	ck_assert_int_eq(look_up(NULL, confirmed, "order.confirmed.v1"), EVENT_TYPE_HANDLED);
	ck_assert_int_eq(look_up(NULL, confirmed, "order.cancelled.v1"), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(look_up(NULL, none, "anything"), EVENT_TYPE_HANDLED);
}
END_TEST

START_TEST(a_type_with_a_nul_byte_is_no_other_type)
{
	struct event_types *types = event_types_create(folder, none, NULL);

	ck_assert_int_eq(event_types_look_up(types, BYTES_LITERAL("order.confirmed.v1\0")), EVENT_TYPE_UNKNOWN);
	ck_assert_int_eq(event_types_look_up(types, BYTES_LITERAL("order.confirmed.v1\0x")), EVENT_TYPE_UNKNOWN);
	event_types_destroy(types);
}
END_TEST

START_TEST(a_handled_type_that_is_not_known_is_a_mistake)
{
	static const char *const handled[] = {"order.confirmed.v1", "order.paid.v1", NULL};
	struct error error;

	ck_assert_ptr_null(event_types_create(folder, handled, &error));
	ck_assert_int_eq(error.code, ERROR_CONFIG);
	ck_assert_ptr_nonnull(strstr(error.text, "order.paid.v1.json"));
}
END_TEST

START_TEST(a_folder_that_is_missing_or_empty_is_a_mistake)
{
	char empty[] = "empty-XXXXXX";
	struct error error;

	ck_assert_ptr_null(event_types_create("no-such-folder", none, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "no-such-folder"));
	ck_assert_ptr_nonnull(mkdtemp(empty));
	ck_assert_ptr_null(event_types_create(empty, none, &error));
	ck_assert_ptr_nonnull(strstr(error.text, empty));
	rmdir(empty);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("event_types");
	TCase *tests = tcase_create("event_types");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, the_folder_names_what_is_known);
	tcase_add_test(tests, a_plugin_without_a_list_handles_all_that_is_known);
	tcase_add_test(tests, without_a_folder_the_list_is_what_is_known);
	tcase_add_test(tests, a_type_with_a_nul_byte_is_no_other_type);
	tcase_add_test(tests, a_handled_type_that_is_not_known_is_a_mistake);
	tcase_add_test(tests, a_folder_that_is_missing_or_empty_is_a_mistake);
	return run_suite(suite);
}
