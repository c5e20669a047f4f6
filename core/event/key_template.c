/* "{eventType}:{orderId}" compiled to parts.  Two events must never be given one key by accident, since the second
 * would be dropped as a duplicate; so fields are held apart by a ':', which never comes out of a field. */
#include <stdlib.h>
#include <strings.h>

#include "core/base/assert.h"
#include "core/event/event.h"
#include "core/event/json_tape.h"

#define KEY_MAX_CHARACTERS 200 /* processed_message.idempotency_key varchar(200) */

enum part_kind { PART_LITERAL, PART_FIELD, PART_EVENT_TYPE, PART_EVENT_ID };

struct key_part {
	enum part_kind kind;
	char *text; /* the literal, or the field's name */
};

struct key_template {
	struct key_part *parts;
	size_t count;
};

static const struct key_part *add_part(struct key_template *template, enum part_kind kind, struct bytes text)
{
	char *copy = strndup(text.ptr, text.len);

	template->parts = reallocarray(template->parts, template->count + 1, sizeof(*template->parts));
	ASSERT(template->parts && copy);
	template->parts[template->count] = (struct key_part){kind, copy};
	return &template->parts[template->count++];
}

/* Where a record stands in Kafka says nothing about the event: a copy of it stands elsewhere. */
static bool names_position(const char *field)
{
	static const char *const forbidden[] = {"offset", "partition", "topic", "timestamp"};
	const char *slash = strrchr(field, '/');
	const char *name = *field == '/' ? slash + 1 : field;

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++) {
		if (strcasecmp(name, forbidden[i]) == 0)
			return true;
	}
	return false;
}

static bool check_field(const char *field, struct error *error)
{
	if (!*field)
		return error_set(error, ERROR_CONFIG, "event.business_key has {} without a field's name in it");
	if (names_position(field))
		return error_set(error, ERROR_CONFIG,
		                 "event.business_key can't name {%s}: offset, partition, topic and timestamp change "
		                 "when an event is sent again; name fields that say which event it is",
		                 field);
	if (*field == '/' && !json_pointer_is_valid(field))
		return error_set(error, ERROR_CONFIG, "event.business_key: {%s} is not a JSON pointer (RFC 6901)",
		                 field);
	return true;
}

static enum part_kind kind_of_field(struct bytes name)
{
	if (bytes_equal_string(name, "eventType"))
		return PART_EVENT_TYPE;
	return bytes_equal_string(name, "eventId") ? PART_EVENT_ID : PART_FIELD;
}

/* One piece of the text: "{field}" or what stands before the next '{'.  *text moves behind it. */
static bool take_part(struct key_template *template, const char **text, struct error *error)
{
	const char *start = *text;

	if (*start != '{') {
		struct bytes literal = {start, strcspn(start, "{}")};
		*text += literal.len;
		if (**text == '}')
			return error_set(error, ERROR_CONFIG, "event.business_key \"%.200s\" has a } without its {",
			                 start);
		add_part(template, PART_LITERAL, literal);
		return true;
	}
	struct bytes name = {start + 1, strcspn(start + 1, "{}")};
	if (name.ptr[name.len] != '}')
		return error_set(error, ERROR_CONFIG, "event.business_key \"%.200s\" has a { without its }", start);
	*text = name.ptr + name.len + 1;
	return check_field(add_part(template, kind_of_field(name), name)->text, error);
}

static bool check_separators(const struct key_template *template, struct error *error)
{
	const struct key_part *field = NULL;
	bool separated = true;

	for (size_t i = 0; i < template->count; i++) {
		const struct key_part *part = &template->parts[i];
		if (part->kind == PART_LITERAL) {
			separated = separated || strchr(part->text, ':');
			continue;
		}
		if (field && !separated)
			return error_set(error, ERROR_CONFIG,
			                 "event.business_key needs a ':' between {%s} and {%s}, or different events "
			                 "could get the same key",
			                 field->text, part->text);
		field = part;
		separated = false;
	}
	return true;
}

static bool check_whole(const struct key_template *template, const char *text, struct error *error)
{
	bool tells_apart = false;

	for (size_t i = 0; i < template->count; i++)
		tells_apart = tells_apart || template->parts[i].kind == PART_FIELD ||
		              template->parts[i].kind == PART_EVENT_ID;
	if (!tells_apart)
		return error_set(error, ERROR_CONFIG,
		                 "event.business_key \"%.200s\" names no field that tells one event from another, "
		                 "such as {orderId}",
		                 text);
	if (!json_is_clean(bytes_from_string(text)))
		return error_set(error, ERROR_CONFIG, "event.business_key is not UTF-8 or holds control characters");
	return check_separators(template, error);
}

struct key_template *key_template_create(const char *text, struct error *error)
{
	struct key_template *template = calloc(1, sizeof(*template));
	const char *rest = text;
	bool good = true;

	ASSERT(template);
	while (good && *rest)
		good = take_part(template, &rest, error);
	if (good && check_whole(template, text, error))
		return template;
	key_template_destroy(template);
	return NULL;
}

void key_template_destroy(struct key_template *template)
{
	if (!template)
		return;
	for (size_t i = 0; i < template->count; i++)
		free(template->parts[i].text);
	free(template->parts);
	free(template);
}

struct key_writer {
	char text[KEY_MAX_CHARACTERS * 4]; /* a character has at most four bytes of UTF-8 */
	size_t len, characters;
};

static bool put(struct key_writer *writer, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool begins_character = (text[i] & 0xc0) != 0x80;
		writer->characters += begins_character;
		if (writer->characters > KEY_MAX_CHARACTERS || writer->len == sizeof(writer->text))
			return false;
		writer->text[writer->len++] = text[i];
	}
	return true;
}

static bool put_encoded(struct key_writer *writer, struct bytes value)
{
	bool fits = true;

	for (size_t i = 0; fits && i < value.len; i++) {
		if (value.ptr[i] == ':')
			fits = put(writer, "%3A", 3);
		else if (value.ptr[i] == '%')
			fits = put(writer, "%25", 3);
		else
			fits = put(writer, value.ptr + i, 1);
	}
	return fits;
}

static struct bytes payload_field(const struct event *event, const char *name)
{
	struct json_value value;

	if (!event->document || json_get_field(event->document, name, &value) != JSON_OK)
		return BYTES_NONE;
	return json_scalar_text(&value);
}

/* Absent or empty: the key is incomplete. */
static struct bytes value_of_part(const struct key_part *part, const struct event *event)
{
	if (part->kind == PART_EVENT_TYPE)
		return event->type;
	if (part->kind == PART_EVENT_ID)
		return event->has_uuid ? event->id_text : BYTES_NONE; /* one case, wherever it came from */
	return payload_field(event, part->text);
}

/* NULL: it fits; else the reason. */
static const char *put_part(struct key_writer *writer, const struct key_part *part, const struct event *event)
{
	if (part->kind == PART_LITERAL)
		return put(writer, part->text, strlen(part->text)) ? NULL : "key_too_long";
	struct bytes value = value_of_part(part, event);
	if (value.len == 0)
		return "key_incomplete";
	return put_encoded(writer, value) ? NULL : "key_too_long";
}

struct bytes key_template_apply(const struct key_template *template, const struct event *event, struct arena *arena,
                                const char **out_reason, const char **out_detail)
{
	struct key_writer writer = {.len = 0};

	for (size_t i = 0; i < template->count; i++) {
		const struct key_part *part = &template->parts[i];
		const char *reason = put_part(&writer, part, event);
		if (!reason)
			continue;
		*out_reason = reason;
		if (strcmp(reason, "key_incomplete") == 0)
			*out_detail =
			        arena_printf(arena, "{%s} is missing, null, empty, an object or an array", part->text);
		else
			*out_detail = arena_printf(arena, "over %d characters at {%s}", KEY_MAX_CHARACTERS, part->text);
		return BYTES_NONE;
	}
	return arena_copy(arena, (struct bytes){writer.text, writer.len});
}
