#include <stdint.h>

#include "core/event/json_tape.h"

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define TOP_BITS EACH(0x80)

enum text_class { CONTROL = 1, ESCAPE = 2, BEYOND_ASCII = 4 };

static unsigned classify(unsigned char byte)
{
	if (byte >= 0x80)
		return BEYOND_ASCII;
	if (byte == '\\')
		return ESCAPE;
	return byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' ? CONTROL : 0;
}

/* True only for a word of eight characters of which none needs a closer look. */
static bool is_plain(uint64_t word)
{
	uint64_t below_space = (word - EACH(0x20)) & ~word;
	uint64_t without_backslash = word ^ EACH('\\');
	uint64_t backslash = (without_backslash - EACH(1)) & ~without_backslash;

	return ((word | below_space | backslash) & TOP_BITS) == 0;
}

static unsigned classify_text(struct bytes text, size_t *out_control_at)
{
	unsigned found = 0;
	size_t i = 0;

	while (i < text.len) {
		size_t end = text.len - i < 8 ? text.len : i + 8;
		uint64_t word = 0;
		if (end - i == 8)
			memcpy(&word, text.ptr + i, 8);
		if (end - i == 8 && is_plain(word)) {
			i = end;
			continue;
		}
		for (; i < end; i++) {
			unsigned class = classify((unsigned char)text.ptr[i]);
			if (class == CONTROL) {
				*out_control_at = i;
				return CONTROL;
			}
			found |= class;
		}
	}
	return found;
}

/* Bytes of the well-formed sequence at `at` (Unicode, table 3-7), 0: there is none. */
static size_t utf8_sequence(const unsigned char *at, size_t left)
{
	unsigned char lowest = 0x80, highest = 0xbf;
	size_t bytes;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	bytes = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (left < bytes)
		return 0;
	if (at[0] == 0xe0)
		lowest = 0xa0; /* shorter forms exist */
	else if (at[0] == 0xed)
		highest = 0x9f; /* surrogates */
	else if (at[0] == 0xf0)
		lowest = 0x90;
	else if (at[0] == 0xf4)
		highest = 0x8f; /* beyond U+10FFFF */
	if (at[1] < lowest || at[1] > highest)
		return 0;
	for (size_t i = 2; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	return bytes;
}

static bool is_utf8(struct bytes text, size_t *out_at)
{
	size_t bytes;

	for (size_t i = 0; i < text.len; i += bytes) {
		bytes = utf8_sequence((const unsigned char *)text.ptr + i, text.len - i);
		if (!bytes) {
			*out_at = i;
			return false;
		}
	}
	return true;
}

int32_t json_hex4(const char *digits)
{
	int32_t value = 0;

	for (int i = 0; i < 4; i++) {
		char c = digits[i];
		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* The number a \u escape at `at` writes, -1 when there is none. */
static int32_t unicode_escape(struct bytes text, size_t at)
{
	if (at + 6 > text.len || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u')
		return -1;
	return json_hex4(text.ptr + at + 2);
}

static bool is_high_surrogate(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* yajl refuses a backslash outside of a string, or before a wrong letter or digit. */
static const char *check_escapes(struct bytes text, size_t *out_at)
{
	const char *end = text.ptr + text.len;
	const char *backslash = memchr(text.ptr, '\\', text.len);

	while (backslash) {
		size_t at = (size_t)(backslash - text.ptr), bytes = 2;
		int32_t unit = unicode_escape(text, at);
		*out_at = at;
		if (unit == 0)
			return "the character U+0000, which PostgreSQL can't keep";
		if (is_low_surrogate(unit) ||
		    (is_high_surrogate(unit) && !is_low_surrogate(unicode_escape(text, at + 6))))
			return "half of a surrogate pair";
		if (unit > 0)
			bytes = is_high_surrogate(unit) ? 12 : 6;
		const char *next = backslash + bytes;
		backslash = next < end ? memchr(next, '\\', (size_t)(end - next)) : NULL;
	}
	return NULL;
}

const char *json_check_text(struct bytes text, size_t *out_at)
{
	unsigned found = classify_text(text, out_at);

	if (found == CONTROL)
		return "a control character";
	if ((found & BEYOND_ASCII) && !is_utf8(text, out_at))
		return "not UTF-8";
	return found & ESCAPE ? check_escapes(text, out_at) : NULL;
}

bool json_is_clean(struct bytes text)
{
	size_t at;
	unsigned found = classify_text(text, &at);

	return found != CONTROL && (!(found & BEYOND_ASCII) || is_utf8(text, &at));
}
