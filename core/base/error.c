#include "core/base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *error, enum error_code code, const char *format, ...)
{
	char text[sizeof(error->text)]; /* an argument may be error->text itself */
	va_list arguments;

	if (!error)
		return false;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	*error = (struct error){.code = code};
	memcpy(error->text, text, sizeof(text));
	return false;
}

bool error_wrap(struct error *error, const char *format, ...)
{
	char context[sizeof(error->text)], text[2 * sizeof(error->text) + 2];
	va_list arguments;

	if (!error)
		return false;
	va_start(arguments, format);
	vsnprintf(context, sizeof(context), format, arguments);
	va_end(arguments);
	snprintf(text, sizeof(text), "%s: %s", context, error->text);
	text[sizeof(error->text) - 1] = '\0';
	memcpy(error->text, text, sizeof(error->text));
	return false;
}

void error_clear(struct error *error)
{
	if (error)
		*error = (struct error){.code = ERROR_NONE};
}
