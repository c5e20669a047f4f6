#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/event/json_tape.h"

static locale_t c_locale;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	ASSERT(c_locale);
}

/* True when the text is an integer that fits; "-0" is 0. */
static bool convert_integer(struct bytes text, int64_t *out_integer)
{
	bool negative = text.ptr[0] == '-';
	uint64_t limit = (uint64_t)INT64_MAX + negative, value = 0;

	for (size_t i = negative; i < text.len; i++) {
		unsigned digit = (unsigned)text.ptr[i] - '0';
		if (digit > 9 || value > (limit - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out_integer = (int64_t)(negative ? 0 - value : value);
	return true;
}

void json_convert_number(struct bytes text, struct json_value *out_value)
{
	static pthread_once_t made = PTHREAD_ONCE_INIT;

	out_value->text = text;
	out_value->integer = 0;
	if (convert_integer(text, &out_value->integer)) {
		out_value->type = JSON_INTEGER;
		out_value->real = (double)out_value->integer;
		return;
	}
	PTHREAD_OK(pthread_once(&made, make_c_locale));
	out_value->type = JSON_REAL;
	out_value->real = strtod_l(text.ptr, NULL, c_locale);
}

static void read_node(const struct json_node *node, struct json_value *out_value)
{
	struct bytes text = {node->text, node->text_bytes};

	*out_value = (struct json_value){.type = node->type, .text = text};
	if (node->type == JSON_INTEGER || node->type == JSON_REAL)
		json_convert_number(text, out_value);
	else if (node->type == JSON_BOOL)
		out_value->integer = node->text[0] == 't';
}

bool json_pointer_is_valid(const char *pointer)
{
	if (*pointer && *pointer != '/')
		return false;
	for (; *pointer; pointer++) {
		if (*pointer == '~' && pointer[1] != '0' && pointer[1] != '1')
			return false;
	}
	return true;
}

struct bytes json_pointer_token(const char **pointer)
{
	struct bytes token = {*pointer, strcspn(*pointer, "/")};

	*pointer += token.len;
	return token;
}

bool json_token_equals(struct bytes token, struct bytes name)
{
	size_t at = 0;

	if (!memchr(token.ptr, '~', token.len))
		return bytes_equal(token, name);
	for (size_t i = 0; i < token.len; i++, at++) {
		char c = token.ptr[i];
		if (c == '~')
			c = token.ptr[++i] == '0' ? '~' : '/';
		if (at == name.len || name.ptr[at] != c)
			return false;
	}
	return at == name.len;
}

size_t json_token_index(struct bytes token)
{
	size_t index = 0;

	if (token.len == 0 || token.len > 9 || (token.len > 1 && token.ptr[0] == '0'))
		return SIZE_MAX;
	for (size_t i = 0; i < token.len; i++) {
		unsigned digit = (unsigned)token.ptr[i] - '0';
		if (digit > 9)
			return SIZE_MAX;
		index = index * 10 + digit;
	}
	return index;
}

static const struct json_node *find_field(const struct json_node *nodes, const struct json_node *object,
                                          struct bytes token)
{
	const struct json_node *end = nodes + object->end;

	for (const struct json_node *child = object + 1; child < end; child = nodes + child->end) {
		if (json_token_equals(token, (struct bytes){child->key, child->key_bytes}))
			return child;
	}
	return NULL;
}

static const struct json_node *find_item(const struct json_node *nodes, const struct json_node *array,
                                         struct bytes token)
{
	const struct json_node *end = nodes + array->end;
	size_t index = json_token_index(token);

	if (index == SIZE_MAX)
		return NULL;
	for (const struct json_node *child = array + 1; child < end; child = nodes + child->end) {
		if (index-- == 0)
			return child;
	}
	return NULL;
}

enum json_status json_get(const struct json_document *document, const char *pointer, struct json_value *out_value)
{
	const struct json_node *node = document->nodes;

	if (!json_pointer_is_valid(pointer))
		return JSON_BAD_POINTER;
	while (node && *pointer) {
		pointer++;
		struct bytes token = json_pointer_token(&pointer);
		if (node->type == JSON_OBJECT)
			node = find_field(document->nodes, node, token);
		else
			node = node->type == JSON_ARRAY ? find_item(document->nodes, node, token) : NULL;
	}
	if (!node)
		return JSON_NOT_FOUND;
	read_node(node, out_value);
	return JSON_OK;
}

static enum json_status get_name(const struct json_document *document, struct bytes name, struct json_value *out_value)
{
	const struct json_node *nodes = document->nodes;

	if (nodes->type != JSON_OBJECT)
		return JSON_NOT_FOUND;
	for (uint32_t i = 1; i < document->count; i = nodes[i].end) {
		if (bytes_equal(name, (struct bytes){nodes[i].key, nodes[i].key_bytes})) {
			read_node(&nodes[i], out_value);
			return JSON_OK;
		}
	}
	return JSON_NOT_FOUND;
}

enum json_status json_get_field(const struct json_document *document, const char *field, struct json_value *out_value)
{
	if (*field == '/')
		return json_get(document, field, out_value);
	return get_name(document, bytes_from_string(field), out_value);
}

struct bytes json_scalar_text(const struct json_value *value)
{
	switch (value->type) {
	case JSON_BOOL:
	case JSON_INTEGER:
	case JSON_REAL:
	case JSON_STRING:
		return value->text;
	case JSON_NULL:
	case JSON_OBJECT:
	case JSON_ARRAY:
		break;
	}
	return BYTES_NONE;
}
