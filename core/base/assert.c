#include "core/base/assert.h"
#include "core/base/log.h"
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char note[201];

void assert_note(const char *what)
{
	snprintf(note, sizeof(note), "%s", what ? what : "");
}

void assert_failed(const char *expression, const char *file, int line)
{
	log_write(LOG_assertion, "%s is not so at %s:%d, working on %s", expression, file, line,
	          note[0] ? note : "nothing");
	abort();
}
