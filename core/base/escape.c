#include "core/base/escape.h"
#include "core/base/assert.h"
#include <openssl/evp.h>
#include <stdint.h>

#define REPLACEMENT 0xFFFD

/* Takes one character off *text; false: no UTF-8 is there, one byte was taken. */
static bool take_character(struct bytes *text, uint32_t *out_code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)text->ptr[0];
	size_t len = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
	uint32_t code = len == 1 ? first : first & (0x7Fu >> len);
	bool good = len > 0 && len <= text->len;
	for (size_t i = 1; good && i < len; i++) {
		unsigned char next = (unsigned char)text->ptr[i];
		good = (next & 0xC0) == 0x80;
		code = code << 6 | (next & 0x3F);
	}
	if (!good || code < smallest[len] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
		*out_code = first;
		len = 1;
		good = false;
	} else {
		*out_code = code;
	}
	text->ptr += len;
	text->len -= len;
	return good;
}

/* Controls, what turns the direction of writing, what has no width, what breaks lines. */
static bool is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},      {0x061C, 0x061C},
	              {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
	              {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

static void print_character(struct bytes character, uint32_t code, bool good, FILE *out)
{
	if (!good || (code < 0x20 && code != '\n' && code != '\t' && code != '\r') || code == 0x7F)
		fprintf(out, "\\x%02x", code);
	else if (code == '\n' || code == '\t' || code == '\r' || code == '\\')
		fprintf(out, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : code == '\r' ? 'r' : '\\');
	else if (is_hidden(code))
		fprintf(out, "\\u{%04x}", code);
	else
		fwrite(character.ptr, 1, character.len, out);
}

void escape_text_cut(struct bytes text, size_t max_bytes, FILE *out)
{
	size_t whole = text.len;
	while (text.len > 0) {
		struct bytes character = text;
		uint32_t code;
		bool good = take_character(&text, &code);
		character.len -= text.len;
		if (whole - text.len > max_bytes) {
			fputs("…", out);
			return;
		}
		print_character(character, code, good, out);
	}
}

void escape_text(struct bytes text, FILE *out)
{
	escape_text_cut(text, SIZE_MAX, out);
}

static void print_json_character(uint32_t code, FILE *out)
{
	if (code == '"' || code == '\\')
		fprintf(out, "\\%c", (int)code);
	else if (code >= 0x20 && code <= 0x7E)
		putc((int)code, out);
	else if (code < 0x10000)
		fprintf(out, "\\u%04x", code);
	else
		fprintf(out, "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF));
}

void escape_json(struct bytes text, FILE *out)
{
	uint32_t code;
	if (!text.ptr) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	while (text.len > 0)
		print_json_character(take_character(&text, &code) ? code : REPLACEMENT, out);
	putc('"', out);
}

void escape_json_base64(struct bytes bytes, FILE *out)
{
	if (!bytes.ptr) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	while (bytes.len > 0) { /* in pieces without a remainder, so that they can be put together */
		unsigned char text[4 * 256 + 1];
		size_t len = bytes.len < 3 * 256 ? bytes.len : 3 * 256;
		int written = EVP_EncodeBlock(text, (const unsigned char *)bytes.ptr, (int)len);
		ASSERT(written >= 0);
		fwrite(text, 1, (size_t)written, out);
		bytes.ptr += len;
		bytes.len -= len;
	}
	putc('"', out);
}

bool escape_is_utf8(struct bytes text)
{
	uint32_t code;
	bool good = true;
	while (good && text.len > 0)
		good = take_character(&text, &code);
	return good;
}
