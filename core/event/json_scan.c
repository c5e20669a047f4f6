/* One field of a text that nobody has checked yet.  Reads what json_parse would, from every text that json_parse
 * accepts. */
#include "core/event/json_tape.h"

struct json_cursor {
	const char *at, *end;
	struct arena *arena;
};

static void skip_space(struct json_cursor *cursor)
{
	while (cursor->at < cursor->end &&
	       (*cursor->at == ' ' || *cursor->at == '\n' || *cursor->at == '\r' || *cursor->at == '\t'))
		cursor->at++;
}

static bool take(struct json_cursor *cursor, char wanted)
{
	skip_space(cursor);
	if (cursor->at == cursor->end || *cursor->at != wanted)
		return false;
	cursor->at++;
	return true;
}

/* The cursor stands behind the opening quote and moves behind the closing one. */
static bool take_string(struct json_cursor *cursor, struct bytes *out_raw, bool *out_has_escapes)
{
	const char *start = cursor->at;

	*out_has_escapes = false;
	for (; cursor->at < cursor->end; cursor->at++) {
		if (*cursor->at == '"') {
			*out_raw = (struct bytes){start, (size_t)(cursor->at++ - start)};
			return true;
		}
		if (*cursor->at == '\\' && cursor->at + 1 < cursor->end) {
			*out_has_escapes = true;
			cursor->at++;
		}
	}
	return false;
}

static size_t put_utf8(char *out, uint32_t codepoint)
{
	if (codepoint < 0x80) {
		out[0] = (char)codepoint;
		return 1;
	}
	if (codepoint < 0x800) {
		out[0] = (char)(0xc0 | codepoint >> 6);
		out[1] = (char)(0x80 | (codepoint & 0x3f));
		return 2;
	}
	if (codepoint < 0x10000) {
		out[0] = (char)(0xe0 | codepoint >> 12);
		out[1] = (char)(0x80 | (codepoint >> 6 & 0x3f));
		out[2] = (char)(0x80 | (codepoint & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | codepoint >> 18);
	out[1] = (char)(0x80 | (codepoint >> 12 & 0x3f));
	out[2] = (char)(0x80 | (codepoint >> 6 & 0x3f));
	out[3] = (char)(0x80 | (codepoint & 0x3f));
	return 4;
}

/* Decodes a \u escape whose digits begin at raw[at]; 0: it is none.  *at moves behind it. */
static size_t decode_unicode(struct bytes raw, size_t *at, char *out)
{
	int32_t unit = *at + 4 <= raw.len ? json_hex4(raw.ptr + *at) : -1;

	if (unit < 0)
		return 0;
	*at += 4;
	if (unit >= 0xd800 && unit <= 0xdbff && *at + 6 <= raw.len && raw.ptr[*at] == '\\' && raw.ptr[*at + 1] == 'u') {
		int32_t low = json_hex4(raw.ptr + *at + 2);
		if (low < 0xdc00 || low > 0xdfff)
			return 0;
		*at += 6;
		return put_utf8(out, 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
	}
	return put_utf8(out, (uint32_t)unit);
}

static bool decode(struct arena *arena, struct bytes raw, struct bytes *out_text)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char *out = arena_alloc(arena, raw.len + 1); /* no escape is shorter than what it means */
	size_t len = 0, i = 0;

	while (i < raw.len) {
		if (raw.ptr[i] != '\\') {
			out[len++] = raw.ptr[i++];
			continue;
		}
		char letter = raw.ptr[i + 1]; /* take_string does not end on a backslash */
		const char *known = letter ? strchr(letters, letter) : NULL;
		i += 2;
		if (known) {
			out[len++] = meanings[known - letters];
			continue;
		}
		size_t bytes = letter == 'u' ? decode_unicode(raw, &i, out + len) : 0;
		if (!bytes)
			return false;
		len += bytes;
	}
	out[len] = '\0';
	*out_text = (struct bytes){out, len};
	return true;
}

/* Lenient: brackets need not match in kind. */
static bool skip_container(struct json_cursor *cursor, size_t max_depth)
{
	struct bytes raw;
	bool has_escapes;
	size_t depth = 0;

	while (cursor->at < cursor->end) {
		char c = *cursor->at++;
		if (c == '"' && !take_string(cursor, &raw, &has_escapes))
			return false;
		if ((c == '{' || c == '[') && ++depth > max_depth)
			return false;
		if ((c == '}' || c == ']') && --depth == 0)
			return true;
	}
	return false;
}

static struct bytes take_word(struct json_cursor *cursor)
{
	const char *start = cursor->at;

	while (cursor->at < cursor->end && !strchr(",:]}[{\" \t\r\n", *cursor->at))
		cursor->at++;
	return (struct bytes){start, (size_t)(cursor->at - start)};
}

static bool skip_value(struct json_cursor *cursor, size_t max_depth)
{
	struct bytes raw;
	bool has_escapes;

	skip_space(cursor);
	if (cursor->at == cursor->end)
		return false;
	if (*cursor->at == '{' || *cursor->at == '[')
		return skip_container(cursor, max_depth);
	if (take(cursor, '"'))
		return take_string(cursor, &raw, &has_escapes);
	return take_word(cursor).len > 0;
}

static bool read_string(struct json_cursor *cursor, struct bytes *out_text)
{
	bool has_escapes;

	if (!take_string(cursor, out_text, &has_escapes))
		return false;
	return has_escapes ? decode(cursor->arena, *out_text, out_text) : true;
}

static bool read_word(struct json_cursor *cursor, struct json_value *out_value)
{
	struct bytes word = take_word(cursor);

	*out_value = (struct json_value){.text = word};
	if (bytes_equal_string(word, "null"))
		out_value->type = JSON_NULL;
	else if (bytes_equal_string(word, "true") || bytes_equal_string(word, "false"))
		out_value->type = JSON_BOOL;
	else if (word.len && (word.ptr[0] == '-' || (word.ptr[0] >= '0' && word.ptr[0] <= '9')))
		json_convert_number(cursor->at < cursor->end ? word : arena_copy(cursor->arena, word), out_value);
	else
		return false;
	if (out_value->type == JSON_BOOL)
		out_value->integer = word.ptr[0] == 't';
	return true;
}

static bool read_value(struct json_cursor *cursor, size_t max_depth, struct json_value *out_value)
{
	skip_space(cursor);
	const char *start = cursor->at;
	if (start == cursor->end)
		return false;
	if (*start == '{' || *start == '[') {
		if (!skip_container(cursor, max_depth))
			return false;
		*out_value = (struct json_value){.type = *start == '{' ? JSON_OBJECT : JSON_ARRAY,
		                                 .text = {start, (size_t)(cursor->at - start)}};
		return true;
	}
	if (!take(cursor, '"'))
		return read_word(cursor, out_value);
	struct json_value value = {.type = JSON_STRING};
	if (!read_string(cursor, &value.text))
		return false;
	*out_value = value;
	return true;
}

/* Moves to the value of that field of the object the cursor stands before. */
static bool find_field(struct json_cursor *cursor, struct bytes token, bool is_pointer, size_t max_depth)
{
	struct bytes name;

	if (!take(cursor, '{'))
		return false;
	do {
		if (!take(cursor, '"') || !read_string(cursor, &name) || !take(cursor, ':'))
			return false;
		if (is_pointer ? json_token_equals(token, name) : bytes_equal(token, name))
			return true;
		if (!skip_value(cursor, max_depth))
			return false;
	} while (take(cursor, ','));
	return false;
}

static bool find_item(struct json_cursor *cursor, struct bytes token, size_t max_depth)
{
	size_t index = json_token_index(token);

	if (index == SIZE_MAX || !take(cursor, '['))
		return false;
	skip_space(cursor);
	if (cursor->at < cursor->end && *cursor->at == ']')
		return false;
	while (index-- > 0) {
		if (!skip_value(cursor, max_depth) || !take(cursor, ','))
			return false;
	}
	return true;
}

static bool find_pointer(struct json_cursor *cursor, const char *pointer, size_t max_depth)
{
	while (*pointer) {
		pointer++;
		struct bytes token = json_pointer_token(&pointer);
		skip_space(cursor);
		bool is_array = cursor->at < cursor->end && *cursor->at == '[';
		if (max_depth == 0 || !(is_array ? find_item(cursor, token, max_depth - 1)
		                                 : find_field(cursor, token, true, max_depth - 1)))
			return false;
		max_depth--;
	}
	return true;
}

enum json_status json_scan_field(struct arena *arena, struct bytes text, const char *field, size_t max_depth,
                                 struct json_value *out_value)
{
	struct json_cursor cursor = {.at = text.ptr, .end = text.ptr ? text.ptr + text.len : NULL, .arena = arena};
	bool found;

	if (!text.ptr)
		return JSON_NOT_FOUND;
	if (*field == '/' && !json_pointer_is_valid(field))
		return JSON_BAD_POINTER;
	if (*field == '/')
		found = find_pointer(&cursor, field, max_depth);
	else
		found = find_field(&cursor, bytes_from_string(field), false, max_depth);
	return found && read_value(&cursor, max_depth, out_value) ? JSON_OK : JSON_NOT_FOUND;
}
