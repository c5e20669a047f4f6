/* A configuration: whatever is accepted is printed for a child and must be accepted again.  Run with -detect_leaks=0:
 * libconfig leaks a buffer at a syntax error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool load(const void *text, size_t size, struct config *config)
{
	int fd = memfd_create("config", MFD_CLOEXEC);
	struct config_report report;
	bool good;

	ASSERT(fd >= 0 && write(fd, text, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	good = config_load_fd(fd, config, &report);
	config_report_done(&report);
	ASSERT(close(fd) == 0);
	return good;
}

static void print_and_load_again(const struct config *config)
{
	struct config again;
	struct error error;
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	ASSERT(memory && config_print(config, NULL, true, memory, &error));
	ASSERT(fclose(memory) == 0);
	ASSERT(load(text, size, &again));
	config_done(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config;

	if (memmem(data, size, "@include", strlen("@include"))) /* would read what lies about */
		return 0;
	if (load(data, size, &config))
		print_and_load_again(&config);
	config_done(&config);
	return 0;
}
