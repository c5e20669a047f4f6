#include "core/event/trace.h"

#define TRACEPARENT_BYTES 55

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	}
	return true;
}

static bool is_zero(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '0')
			return false;
	}
	return true;
}

static bool is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return true;
}

bool trace_is_parent(struct bytes text)
{
	const char *p = text.ptr;

	if (text.len < TRACEPARENT_BYTES || p[2] != '-' || p[35] != '-' || p[52] != '-')
		return false;
	if (!is_hex(p, 2) || !is_hex(p + 3, 32) || !is_hex(p + 36, 16) || !is_hex(p + 53, 2))
		return false;
	if (memcmp(p, "ff", 2) == 0 || is_zero(p + 3, 32) || is_zero(p + 36, 16))
		return false;
	if (text.len == TRACEPARENT_BYTES)
		return true;
	return memcmp(p, "00", 2) != 0 && p[55] == '-' && is_printable(p + 55, text.len - 55);
}
