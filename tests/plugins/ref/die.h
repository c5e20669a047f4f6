/* The ways in which a handler does not come back.  "deed" is what the payload says, without its argument. */
#ifndef IDEM_TESTS_PLUGINS_REF_DIE_H
#define IDEM_TESTS_PLUGINS_REF_DIE_H
#include <idem/sugar.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int for_ever(volatile char *above, volatile int *depth)
{
	volatile char frame[4096];

	frame[0] = above ? above[0] : 1;
	++*depth;
	return *depth > 0 ? for_ever(frame, depth) + frame[0] : 0;
}

/* Takes memory until the process is ended for it; slowly, and a gibibyte at most, so that the machine does not suffer.
 */
static void eat(void)
{
	const struct timespec rest = {0, 5000000};
	const size_t bite = 4 << 20;

	for (int i = 0; i < 256; i++) {
		void *piece = malloc(bite);
		if (!piece)
			abort();
		memset(piece, 1, bite);
		(void)nanosleep(&rest, NULL);
	}
}

/* Comes back when the deed is none of these. */
static void die_if_told(struct idem_bytes deed, struct idem_bytes argument)
{
	volatile int yes = 1;
	volatile char *volatile nowhere = NULL;

	if (idem_equal_string(deed, "segv"))
		raise(SIGSEGV);
	else if (idem_equal_string(deed, "wild"))
		*nowhere = 1;
	else if (idem_equal_string(deed, "abort"))
		abort();
	else if (idem_equal_string(deed, "exit"))
		exit(argument.len == 1 ? argument.ptr[0] - '0' : 0);
	else if (idem_equal_string(deed, "overflow"))
		(void)for_ever(NULL, &yes);
	else if (idem_equal_string(deed, "eat"))
		eat();
	for (int fd = 3; fd < 1024 && idem_equal_string(deed, "close"); fd++)
		(void)close(fd); /* and comes back */
	while (idem_equal_string(deed, "loop") && yes)
		;
}
#endif
