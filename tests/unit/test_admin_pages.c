/* The committed pages of the manual are what the tables say. */
#include "core/admin/reference.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdlib.h>

/* make check says where the sources are. */
static FILE *open_source(const char *name)
{
	const char *folder = getenv("srcdir");
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s is missing; run make admin-pages", path);
	return file;
}

static const struct {
	const char *name;
	void (*print)(FILE *out);
} pages[] = {
        {"doc/reference/metrics.md", admin_print_metrics_page},
        {"doc/reference/log.md", admin_print_log_page},
};

START_TEST(the_page_is_what_the_table_says)
{
	FILE *committed = open_source(pages[_i].name), *generated = tmpfile();
	int expected, found, line = 1;

	ck_assert_ptr_nonnull(generated);
	pages[_i].print(generated);
	rewind(generated);
	do {
		expected = getc(generated);
		found = getc(committed);
		ck_assert_msg(expected == found, "%s:%d is not what the table says; run make admin-pages",
		              pages[_i].name, line);
		line += found == '\n';
	} while (expected != EOF);
	fclose(committed);
	fclose(generated);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admin pages");
	TCase *tests = tcase_create("pages");

	tcase_add_loop_test(tests, the_page_is_what_the_table_says, 0, sizeof(pages) / sizeof(*pages));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
