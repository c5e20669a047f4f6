/* What a pipeline's process inherits of the host's environment. */
#include "core/main/environment.h"
#include "tests/unit/run_suite.h"
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef IDEM_FAILPOINTS
#define IN_TESTS_ONLY true
#else
#define IN_TESTS_ONLY false
#endif

static const struct {
	const char *variable;
	bool inherited;
} variables[] = {
        {"PATH=/bin", true},
        {"TZ=UTC", true},
        {"LC_ALL=C", true},
        {"ASAN_OPTIONS=x", true},
        {"PATHOLOGY=x", false},
        {"IDEM_DATABASE_PASSWORD=x", false},
        {"PGPASSWORD=x", false},
        {"PGSERVICE=x", false},
        {"AWS_SECRET_KEY=x", false},
        {"NOTIFY_SOCKET=x", false},
        {"LD_PRELOAD=x.so", IN_TESTS_ONLY},
        {"", false},
};

START_TEST(only_what_is_listed_is_inherited)
{
	char variable[64];
	char *all[] = {variable, NULL};
	char **kept;

	snprintf(variable, sizeof(variable), "%s", variables[_i].variable);
	kept = environment_for_children(all);
	if (variables[_i].inherited)
		ck_assert_ptr_eq(kept[0], variable);
	ck_assert_ptr_null(kept[variables[_i].inherited]);
	free(kept);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("environment");
	TCase *tests = tcase_create("children");

	tcase_add_loop_test(tests, only_what_is_listed_is_inherited, 0, sizeof(variables) / sizeof(*variables));
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
