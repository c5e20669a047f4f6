#include "core/config/conninfo.h"
#include "core/config/names.h"
#include <errno.h>
#include <libpq-fe.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* One for all hosts or, with commas, one for each; an empty one is 5432. */
static bool check_ports(const char *ports, struct error *error)
{
	for (const char *at = ports;; at++) {
		struct bytes port = {at, strcspn(at, ",")};

		if (port.len > 0 && !names_is_port(port))
			return error_set(error, ERROR_CONFIG, "port=%.*s is no valid port; 1 to 65535 are allowed",
			                 (int)port.len, at);
		at += port.len;
		if (!*at)
			return true;
	}
}

static bool is_set(const PQconninfoOption *option, const char *keyword)
{
	return option->val && *option->val && strcmp(option->keyword, keyword) == 0;
}

static bool check_values(const PQconninfoOption *options, struct error *error)
{
	for (const PQconninfoOption *option = options; option->keyword; option++)
		if (is_set(option, "port") && !check_ports(option->val, error))
			return false;
	return true;
}

/* libpq's message quotes what it did not understand, which may be a piece of the password: then it is not shown. */
bool conninfo_check(const char *text, struct error *error)
{
	char *why = NULL;
	PQconninfoOption *options = PQconninfoParse(text, &why);
	bool valid = options && check_values(options, error);

	if (!options && why && !strcasestr(text, "password") && !strstr(text, "://"))
		error_set(error, ERROR_CONFIG, "%.*s", (int)strcspn(why, "\n"), why);
	else if (!options)
		error_set(error, ERROR_CONFIG,
		          "is no connection string of libpq; write key=value pairs or a postgresql:// address");
	PQfreemem(why);
	PQconninfoFree(options);
	return valid;
}

static bool check_file(const PQconninfoOption *option, struct error *error)
{
	static const char *const names[] = {"sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_set(option, names[i]) && strcmp(option->val, "system") != 0 && access(option->val, R_OK) != 0)
			return error_set(error, ERROR_CONFIG, "%s=%s: %s", names[i], option->val, strerror(errno));
	return true;
}

bool conninfo_check_files(const char *text, struct error *error)
{
	PQconninfoOption *options = PQconninfoParse(text, NULL);
	bool good = true;

	for (PQconninfoOption *option = options; good && option && option->keyword; option++)
		good = check_file(option, error);
	PQconninfoFree(options);
	return good;
}
