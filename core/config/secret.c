#include "core/config/secret.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LARGEST 65536

static const char *read_open_file(FILE *file, const char *path, struct arena *arena, struct error *error)
{
	char *text = arena_alloc(arena, LARGEST + 1);
	size_t length = fread(text, 1, LARGEST + 1, file);

	if (ferror(file))
		error_set(error, ERROR_CONFIG, "%s: %s", path, strerror(errno));
	else if (length > LARGEST)
		error_set(error, ERROR_CONFIG, "%s is larger than %d bytes", path, LARGEST);
	else if (memchr(text, '\0', length))
		error_set(error, ERROR_CONFIG, "%s holds a NUL byte", path);
	else {
		while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
			length--;
		text[length] = '\0';
		if (length > 0)
			return text;
		error_set(error, ERROR_CONFIG, "%s is empty", path);
	}
	return NULL;
}

const char *secret_read_file(const char *path, struct arena *arena, struct error *error)
{
	FILE *file = fopen(path, "re");
	const char *text;

	if (!file) {
		error_set(error, ERROR_CONFIG, "%s: %s", path, strerror(errno));
		return NULL;
	}
	text = read_open_file(file, path, arena, error);
	fclose(file);
	return text;
}

const char *secret_read_environment(const char *name, struct arena *arena, struct error *error)
{
	const char *value = getenv(name);

	if (value && value[0])
		return arena_string(arena, bytes_from_string(value));
	error_set(error, ERROR_CONFIG, "the environment variable %s is not set", name);
	return NULL;
}
