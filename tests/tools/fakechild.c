/* A child with everything of the real one but the pipeline: core/main/child.c around a pipeline_run that does what the
 * file <state_dir>/<name>.do says (none: ready until it is told to stop) and tells each step to the socket
 * <state_dir>/steps. */
#include "core/base/assert.h"
#include "core/main/idemd.h"
#include "core/pipeline/pipeline.h"
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static sem_t stop;
static int steps = -1;

void pipeline_request_stop(void)
{
	sem_post(&stop);
}

static void open_steps(const char *state_dir)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/steps", state_dir);
	steps = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ASSERT(steps >= 0 && connect(steps, (struct sockaddr *)&address, sizeof(address)) == 0);
}

static void tell(const char *format, ...) PRINTF_LIKE(1, 2);
static void tell(const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	ASSERT(send(steps, line, strlen(line), 0) == (ssize_t)strlen(line));
}

/* "0 1 2 5": the descriptors that are open here. */
static void list_descriptors(char *out, size_t size)
{
	*out = '\0';
	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			snprintf(out + strlen(out), size - strlen(out), "%s%d", *out ? " " : "", fd);
}

static void read_orders(const char *state_dir, const char *name, char *out, int size)
{
	char path[512];
	FILE *in;

	*out = '\0';
	snprintf(path, sizeof(path), "%s/%s.do", state_dir, name);
	in = fopen(path, "re");
	if (!in)
		return;
	if (!fgets(out, size, in))
		*out = '\0';
	fclose(in);
}

static void eat_memory(size_t bytes)
{
	char *memory = malloc(bytes);

	ASSERT(memory);
	explicit_bzero(memory, bytes); /* touches every page, and no compiler leaves it out */
	for (;;)
		pause();
}

int pipeline_run(const struct pipeline_options *options)
{
	const char *name = options->pipeline->name;
	char orders[64], descriptors[256];

	list_descriptors(descriptors, sizeof(descriptors));
	open_steps(options->config->state_dir);
	read_orders(options->config->state_dir, name, orders, sizeof(orders));
	metrics_add(options->metrics, METRIC_records_consumed, 1);
	metrics_set(options->metrics, METRIC_consumer_lag, 42);
	if (strtol(orders, NULL, 10) > 0) { /* before "start", so that it was never seen ready */
		tell("start %s %d", name, (int)getpid());
		return (int)strtol(orders, NULL, 10);
	}
	if (strcmp(orders, "stolen") == 0) { /* it worked, and was ready for too short a time to be seen */
		metrics_add(options->metrics, METRIC_rebalances, 1);
		tell("start %s %d", name, (int)getpid());
		return CHILD_STOLEN;
	}
	atomic_store(&options->metrics->ready, 1);
	tell("start %s %d plugin=%s descriptors=%s password=%s", name, (int)getpid(), options->plugin_path, descriptors,
	     options->config->database.password ? options->config->database.password : "");
	if (strcmp(orders, "abort") == 0)
		abort();
	if (strcmp(orders, "exit") == 0)
		exit(0);
	if (strcmp(orders, "eat") == 0)
		eat_memory((size_t)64 << 20);
	while (strcmp(orders, "hang") == 0)
		pause();
	while (sem_wait(&stop) != 0)
		;
	tell("stop %s %d", name, (int)getpid());
	options->say_stopped();
	return CHILD_STOPPED;
}

int main(int argc, char **argv)
{
	ASSERT(argc == 6 && strcmp(argv[1], "--child") == 0 && strcmp(argv[4], "--plugin") == 0);
	ASSERT(sem_init(&stop, 0, 0) == 0);
	child_main(argv[3], argv[5]);
}
