#include "core/config/names.h"
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOPIC_LONGEST 249
#define NAME_LONGEST 100 /* consumer_name varchar(100) */
#define KEY_LONGEST 200  /* idempotency_key varchar(200) */
#define TOPIC_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static bool check_topic(const char *text, struct error *error)
{
	size_t valid = strspn(text, TOPIC_LETTERS);

	if (text[valid])
		return error_set(error, ERROR_CONFIG,
		                 "\"%s\" can't be the name of a topic or group: letters, digits, dots, underscores and "
		                 "hyphens are allowed",
		                 text);
	if (valid > TOPIC_LONGEST)
		return error_set(error, ERROR_CONFIG, "\"%s\" is longer than the %d characters of a topic", text,
		                 TOPIC_LONGEST);
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return error_set(error, ERROR_CONFIG, "\"%s\" can't be the name of a topic or group", text);
	return true;
}

static bool check_name(const char *text, struct error *error)
{
	if (strlen(text) > NAME_LONGEST)
		return error_set(error, ERROR_CONFIG, "\"%s\" is longer than %d characters", text, NAME_LONGEST);
	return check_topic(text, error);
}

static bool check_digest(const char *text, struct error *error)
{
	if (strlen(text) != 64 || strspn(text, "0123456789abcdefABCDEF") != 64)
		return error_set(error, ERROR_CONFIG, "must be 64 hex digits, as sha256sum prints them");
	return true;
}

static bool check_address(const char *text, struct error *error)
{
	const char *colon = strrchr(text, ':');
	long port;
	char *end;

	if (!colon || colon == text || colon[1] < '0' || colon[1] > '9')
		return error_set(error, ERROR_CONFIG, "\"%s\" is no address; write 127.0.0.1:9464", text);
	port = strtol(colon + 1, &end, 10);
	if (*end || port < 1 || port > 65535)
		return error_set(error, ERROR_CONFIG, "\"%s\" has no valid port; 1 to 65535 are allowed", text);
	return true;
}

/* libpq's message quotes what it did not understand, which may be a piece of the password: then it is not shown. */
static bool check_conninfo(const char *text, struct error *error)
{
	char *why = NULL;
	PQconninfoOption *options = PQconninfoParse(text, &why);
	bool valid = options != NULL;

	if (!valid && why && !strcasestr(text, "password"))
		error_set(error, ERROR_CONFIG, "%.*s", (int)strcspn(why, "\n"), why);
	else if (!valid)
		error_set(error, ERROR_CONFIG,
		          "is no connection string of libpq; write key=value pairs or a postgresql:// address");
	PQfreemem(why);
	PQconninfoFree(options);
	return valid;
}

bool names_is_position(const char *field)
{
	static const char *const names[] = {"offset", "partition", "topic", "timestamp"};

	field += field[0] == '/';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(field, names[i]) == 0)
			return true;
	return false;
}

/* One {field}; *text stands behind its brace and is moved behind the closing one. */
static bool check_field(const char **text, struct error *error)
{
	size_t length = strcspn(*text, "{}");
	char field[KEY_LONGEST + 1];

	if ((*text)[length] != '}')
		return error_set(error, ERROR_CONFIG, "a brace is not closed; write {field}");
	if (length == 0)
		return error_set(error, ERROR_CONFIG, "{} names no field");
	snprintf(field, sizeof(field), "%.*s", (int)(length < KEY_LONGEST ? length : KEY_LONGEST), *text);
	if (names_is_position(field))
		return error_set(error, ERROR_CONFIG,
		                 "{%s}: where a record lies in kafka says nothing about what it means; a dedup key is "
		                 "built from payload "
		                 "fields and the type only",
		                 field);
	*text += length + 1;
	return true;
}

static bool check_template(const char *text, struct error *error)
{
	size_t literal = 0, fields = 0;

	while (*text) {
		if (*text == '}')
			return error_set(error, ERROR_CONFIG, "a brace is closed that was not opened; write {field}");
		if (*text++ != '{') {
			literal++;
			continue;
		}
		if (!check_field(&text, error))
			return false;
		fields++;
	}
	if (fields == 0)
		return error_set(error, ERROR_CONFIG,
		                 "names no payload field, so that all events would be one; write {field}");
	if (literal + fields > KEY_LONGEST)
		return error_set(error, ERROR_CONFIG, "makes keys of more than %d characters", KEY_LONGEST);
	return true;
}

bool names_check(enum setting_kind kind, const char *text, struct error *error)
{
	switch (kind) {
	case SETTING_NAME:
		return check_name(text, error);
	case SETTING_TOPIC:
		return check_topic(text, error);
	case SETTING_DIGEST:
		return check_digest(text, error);
	case SETTING_ADDRESS:
		return check_address(text, error);
	case SETTING_CONNINFO:
		return check_conninfo(text, error);
	case SETTING_TEMPLATE:
		return check_template(text, error);
	default:
		return true;
	}
}
