#include "core/config/settings.h"
#include "tests/unit/config_files.h"
#include "tests/unit/run_suite.h"
#include <ctype.h>

/* make check says where the sources are. */
static FILE *open_source(const char *name)
{
	const char *folder = getenv("srcdir");
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s is missing; run make config-pages", path);
	return file;
}

static void expect_page(const char *name, void (*print)(FILE *out))
{
	FILE *committed = open_source(name), *generated = tmpfile();
	int expected, found, line = 1;

	ck_assert_ptr_nonnull(generated);
	print(generated);
	rewind(generated);
	do {
		expected = getc(generated);
		found = getc(committed);
		ck_assert_msg(expected == found, "%s:%d is not what the settings say; run make config-pages", name,
		              line);
		line += found == '\n';
	} while (expected != EOF);
	fclose(committed);
	fclose(generated);
}

START_TEST(the_reference_is_what_the_table_says)
{
	expect_page("doc/reference/settings.md", config_print_reference);
}
END_TEST

START_TEST(the_sample_is_what_the_table_says)
{
	expect_page("doc/idem.conf.sample", config_print_sample);
}
END_TEST

/* The sample with what it names at hand; commented lines too when they are made settings. */
static void load_sample(bool uncommented)
{
	char *text = NULL, line[512];
	struct config config;
	size_t size;
	FILE *sample = tmpfile(), *memory = open_memstream(&text, &size);

	config_print_sample(sample);
	rewind(sample);
	while (fgets(line, sizeof(line), sample)) {
		char *comment = strchr(line, '#');

		if (comment && uncommented && islower((unsigned char)comment[1]) && !strstr(line, "password") &&
		    !strstr(line, "token_file") && !strstr(line, "sha256"))
			*comment = ' ';
		fputs(line, memory);
	}
	fclose(sample);
	fclose(memory);
	config_file_write("billing.so", "");
	config_load_text(text, &config);
	ck_assert_str_eq(config.pipelines[0].name, "billing-order-confirmed");
	config_done(&config);
	free(text);
}

START_TEST(the_sample_can_be_loaded)
{
	load_sample(false);
	load_sample(true);
}
END_TEST

START_TEST(every_setting_is_explained_and_shown)
{
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *setting = &settings[i];
		size_t length = strlen(setting->help);

		ck_assert_msg(length > 0 && setting->help[length - 1] == '.', "%s", setting->name);
		ck_assert_msg(setting->preset || setting->example, "%s", setting->name);
		ck_assert_msg(!(setting->flags & SETTING_REQUIRED) || !setting->preset, "%s", setting->name);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_pages");
	TCase *tests = tcase_create("config_pages");

	tcase_add_checked_fixture(tests, config_files_setup, config_files_teardown);
	tcase_add_test(tests, the_reference_is_what_the_table_says);
	tcase_add_test(tests, the_sample_is_what_the_table_says);
	tcase_add_test(tests, the_sample_can_be_loaded);
	tcase_add_test(tests, every_setting_is_explained_and_shown);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
