#include "core/plugin/options.h"
#include "plugin_fixture.h"

static const struct idem_option table[] = {
        {"currency", "string", "", NULL}, {"count", "int", NULL, NULL},      {"ratio", "real", NULL, NULL},
        {"strict", "bool", NULL, NULL},   {"wait", "duration", NULL, NULL},  {"room", "size", NULL, NULL},
        {"token", "secret", NULL, NULL},  {"regions", "list", "a, b", NULL}, {0}};

static struct options options;

static bool read_one(const char *name, const char *value, struct error *error)
{
	struct config_property property = {.name = name, .value = value};
	struct config_properties given = {.items = &property, .count = 1};

	return options_init(&options, table, &given, error);
}

static const struct {
	const char *name, *value;
	int64_t integer;
	double real;
} right[] = {
        {"count", "0", 0, 0},
        {"count", "-7", -7, 0},
        {"count", "9223372036854775807", INT64_MAX, 0},
        {"strict", "true", 1, 0},
        {"strict", "false", 0, 0},
        {"strict", "1", 1, 0},
        {"wait", "30s", 30000, 0},
        {"wait", "7d", 7 * 86400000LL, 0},
        {"wait", "250", 250, 0},
        {"room", "64KiB", 65536, 0},
        {"room", "1MB", 1000000, 0},
        {"room", "512", 512, 0},
        {"ratio", "2.5", 0, 2.5},
        {"ratio", "-1e3", 0, -1000},
};

START_TEST(values_are_read_by_their_type)
{
	struct error error = {0};

	ck_assert_msg(read_one(right[_i].name, right[_i].value, &error), "%s", error.text);
	const struct option *option = options_find(&options, right[_i].name);
	ck_assert(option->is_set);
	ck_assert_int_eq(option->integer, right[_i].integer);
	ck_assert(option->real == right[_i].real);
	ck_assert_str_eq(option->text, right[_i].value);
	options_done(&options);
}
END_TEST

static const char *const wrong[][2] = {
        {"count", ""},
        {"count", "1.5"},
        {"count", " 1"},
        {"count", "1 "},
        {"count", "9223372036854775808"},
        {"count", "many"},
        {"strict", "yes"},
        {"strict", "TRUE"},
        {"wait", "30 s"},
        {"wait", "-1s"},
        {"wait", "soon"},
        {"wait", "1w"},
        {"room", "1.5M"},
        {"room", "-1"},
        {"ratio", "1,5"},
        {"ratio", "nan"},
        {"ratio", "inf"},
        {"ratio", ""},
        {"wait", "99999999999999d"},
};

START_TEST(a_value_of_another_type_is_refused)
{
	struct error error = {0};

	ck_assert_msg(!read_one(wrong[_i][0], wrong[_i][1], &error), "%s = \"%s\"", wrong[_i][0], wrong[_i][1]);
	ck_assert_int_eq(error.code, ERROR_CONFIG);
	ck_assert_ptr_nonnull(strstr(error.text, wrong[_i][0]));
	ck_assert_ptr_nonnull(strstr(error.text, "\" is not "));
}
END_TEST

START_TEST(an_unknown_option_names_the_nearest_one)
{
	struct error error = {0};
	struct config_property property = {.name = "x", .value = "1"};
	struct config_properties given = {.items = &property, .count = 1};

	ck_assert(!read_one("curency", "EUR", &error));
	ck_assert_msg(strstr(error.text, "\"curency\"") && strstr(error.text, "currency?"), "%s", error.text);
	ck_assert(!options_init(&options, NULL, &given, &error));
	ck_assert_msg(strstr(error.text, "it takes no options"), "%s", error.text);
}
END_TEST

START_TEST(presets_stand_in_and_what_has_none_is_unset)
{
	struct config_properties nothing = {0};

	ck_assert(options_init(&options, table, &nothing, NULL));
	ck_assert_str_eq(options_find(&options, "currency")->text, "");
	ck_assert(options_find(&options, "currency")->is_set);
	ck_assert(!options_find(&options, "count")->is_set);
	ck_assert_uint_eq(options_find(&options, "regions")->item_count, 2);
	ck_assert_str_eq(options_find(&options, "regions")->items[1], "b");
	ck_assert_ptr_null(options_find(&options, "nothing"));
	options_done(&options);
}
END_TEST

START_TEST(a_list_is_several_properties_and_one_value_is_one)
{
	struct config_property list[] = {{.name = "regions", .value = "north"},
	                                 {.name = "regions", .value = "south, east"}};
	struct config_property twice[] = {{.name = "count", .value = "1"}, {.name = "count", .value = "2"}};
	struct config_properties given = {.items = list, .count = 2}, doubled = {.items = twice, .count = 2};
	struct error error = {0};

	ck_assert(options_init(&options, table, &given, NULL));
	ck_assert_uint_eq(options_find(&options, "regions")->item_count, 2);
	ck_assert_str_eq(options_find(&options, "regions")->items[1], "south, east");
	options_done(&options);
	ck_assert(!options_init(&options, table, &doubled, &error));
	ck_assert_msg(strstr(error.text, "a list as \"count\""), "%s", error.text);
}
END_TEST

/* The same through the plugin's own table; its create() compares every value. */
START_TEST(a_plugin_reads_its_options_through_the_host)
{
	struct config_property given[] = {
	        {.name = "count", .value = "-12"},     {.name = "ratio", .value = "0.25"},
	        {.name = "wait", .value = "90s"},      {.name = "token", .value = "s3cret"},
	        {.name = "regions", .value = "north"}, {.name = "regions", .value = "south, east"}};
	struct config_properties properties = {.items = given, .count = 6};
	struct error error = {0};
	struct plugin *plugin = fixture_open(PLUGIN_DIR "good/good_options.so", &properties, &error);

	ck_assert_msg(plugin, "%s", error.text);
	ck_assert_msg(plugin_create(plugin, &error), "%s", error.text);
	plugin_destroy(plugin);
}
END_TEST

START_TEST(a_refused_option_says_which_plugin)
{
	struct config_property given = {.name = "wait", .value = "soon"};
	struct config_properties properties = {.items = &given, .count = 1};
	struct error error = {0};

	ck_assert_ptr_null(fixture_open(PLUGIN_DIR "good/good_options.so", &properties, &error));
	ck_assert_msg(strstr(error.text, "plugin good_options") && strstr(error.text, "\"soon\" is not a duration"),
	              "%s", error.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tests = tcase_create("options");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, values_are_read_by_their_type, 0, sizeof(right) / sizeof(right[0]));
	tcase_add_loop_test(tests, a_value_of_another_type_is_refused, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tests, an_unknown_option_names_the_nearest_one);
	tcase_add_test(tests, presets_stand_in_and_what_has_none_is_unset);
	tcase_add_test(tests, a_list_is_several_properties_and_one_value_is_one);
	tcase_add_test(tests, a_plugin_reads_its_options_through_the_host);
	tcase_add_test(tests, a_refused_option_says_which_plugin);
	return fixture_run(suite);
}
