/* Prints the pages that are generated from the settings table: config_doc reference | sample. */
#include "core/config/config.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "reference") == 0)
		config_print_reference(stdout);
	else if (argc == 2 && strcmp(argv[1], "sample") == 0)
		config_print_sample(stdout);
	else
		return 2;
	return fflush(stdout) == 0 ? 0 : 1;
}
