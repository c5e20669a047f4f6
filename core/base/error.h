/* Expected failures: a bool (false: failed) and one of these, filled by the lowest layer that knows, wrapped on the way
 * up, logged once at the top.  Callers branch on the properties, not on the text. */
#ifndef IDEM_BASE_ERROR_H
#define IDEM_BASE_ERROR_H
#include <stdbool.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

enum error_code {
	ERROR_NONE,
	ERROR_INVALID, /* the caller's or the user's input is wrong */
	ERROR_IO,      /* a file, a socket, a process */
	ERROR_DB, /* PostgreSQL answered an error: sqlstate is set; or the connection is gone: sqlstate "" or 08… */
	ERROR_KAFKA,
	ERROR_CONFIG,
	ERROR_PLUGIN, /* the plugin was refused or broke the contract */
	ERROR_TIMEOUT,
	ERROR_NOT_FOUND,
	ERROR_LIMIT /* a configured bound was reached */
};

struct error {
	enum error_code code;
	bool retriable;   /* the same call may succeed later without anybody's help */
	bool fatal;       /* the process can't go on */
	char sqlstate[6]; /* "" when not from PostgreSQL */
	char text[512];   /* lower case: what happened to which thing, what to do; never a secret or a payload */
};

/* Fill *error (NULL allowed); always returns false, so `return error_set(...)` reads well. */
bool error_set(struct error *error, enum error_code code, const char *format, ...) PRINTF_LIKE(3, 4);
/* Put "context: " in front of the text; keeps code and properties; returns false. */
bool error_wrap(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);
void error_clear(struct error *error);
#endif
