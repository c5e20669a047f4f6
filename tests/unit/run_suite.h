/* The end of every test program: runs the suite; an exit status. */
#ifndef TESTS_RUN_SUITE_H
#define TESTS_RUN_SUITE_H
#include <check.h>
#include <stdlib.h>

static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
#endif
