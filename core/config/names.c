#include "core/config/names.h"
#include "core/config/conninfo.h"
#include <string.h>
#include <strings.h>

#define TOPIC_LONGEST 249
#define NAME_LONGEST 100 /* consumer_name varchar(100) */
#define KEY_LONGEST 200  /* idempotency_key varchar(200) */
#define PORT_LARGEST 65535
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

bool names_is_port(struct bytes text)
{
	long port = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9' || port > PORT_LARGEST)
			return false;
		port = port * 10 + (text.ptr[i] - '0');
	}
	return port >= 1 && port <= PORT_LARGEST;
}

static bool check_address(const char *text, struct error *error)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon == text || colon[1] < '0' || colon[1] > '9')
		return error_set(error, ERROR_CONFIG, "\"%s\" is no address; write 127.0.0.1:9464", text);
	if (!names_is_port(bytes_from_string(colon + 1)))
		return error_set(error, ERROR_CONFIG, "\"%s\" has no valid port; 1 to 65535 are allowed", text);
	return true;
}

bool names_is_position(const char *field)
{
	static const char *const names[] = {"offset", "partition", "topic", "timestamp"};

	if (field[0] == '/')
		field = strrchr(field, '/') + 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(field, names[i]) == 0)
			return true;
	return false;
}

/* A name, or a JSON pointer (RFC 6901), in which '~' is written ~0 and '/' ~1. */
static bool check_pointer(const char *field, struct error *error)
{
	for (const char *tilde = field; field[0] == '/' && (tilde = strchr(tilde, '~')) != NULL; tilde++)
		if (tilde[1] != '0' && tilde[1] != '1')
			return error_set(error, ERROR_CONFIG, "\"%s\" is no JSON pointer; ~ is written ~0", field);
	return true;
}

struct key_scan { /* of a business key's template, from left to right */
	const char *rest;
	size_t literal_length, fields;
	size_t telling_fields; /* more than the type */
	bool separated;        /* a ':' stands between the last field and here */
};

static bool check_field(const char *field, const struct key_scan *scan, struct error *error)
{
	if (!field[0])
		return error_set(error, ERROR_CONFIG, "{} names no field");
	if (names_is_position(field))
		return error_set(error, ERROR_CONFIG,
		                 "{%s}: where a record lies in kafka says nothing about what it means; a dedup key is "
		                 "built from payload fields and the type only",
		                 field);
	if (!check_pointer(field, error))
		return false;
	if (scan->fields > 0 && !scan->separated)
		return error_set(error, ERROR_CONFIG,
		                 "needs a ':' before {%s}, or different events could get the same key", field);
	return true;
}

/* What stands before the next brace, or one {field}. */
static bool check_part(struct key_scan *scan, struct error *error)
{
	bool is_field = scan->rest[0] == '{';
	const char *start = scan->rest + is_field;
	size_t length = strcspn(start, "{}");
	char field[KEY_LONGEST + 1];

	scan->rest = start + length + is_field;
	if (!is_field) {
		scan->literal_length += length;
		scan->separated |= memchr(start, ':', length) != NULL;
		return start[length] != '}' ||
		       error_set(error, ERROR_CONFIG, "a brace is closed that was not opened; write {field}");
	}
	if (start[length] != '}')
		return error_set(error, ERROR_CONFIG, "a brace is not closed; write {field}");
	snprintf(field, sizeof(field), "%.*s", (int)(length < KEY_LONGEST ? length : KEY_LONGEST), start);
	if (!check_field(field, scan, error))
		return false;
	scan->fields++;
	scan->telling_fields += strcmp(field, "eventType") != 0;
	scan->separated = false;
	return true;
}

static bool check_template(const char *text, struct error *error)
{
	struct key_scan scan = {.rest = text};

	while (*scan.rest)
		if (!check_part(&scan, error))
			return false;
	if (scan.telling_fields == 0)
		return error_set(error, ERROR_CONFIG,
		                 "names no field that tells one event from another, such as {orderId}");
	if (scan.literal_length + scan.fields > KEY_LONGEST)
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
		return conninfo_check(text, error);
	case SETTING_TEMPLATE:
		return check_template(text, error);
	case SETTING_FIELD:
		return check_pointer(text, error);
	default:
		return true;
	}
}
