#include "core/config/includes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_LARGEST (16 << 20)
#define DEPTH_MOST 10 /* libconfig's own */
#define FILES_MOST 100

/* libconfig would end the process when reading fails, so the text is read here. */
char *includes_read_text(int fd, struct arena *arena, struct error *error)
{
	size_t length = 0, room = 65536;
	char *text = arena_alloc(arena, room), *grown;
	ssize_t got;

	while ((got = read(fd, text + length, room - length - 1)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			error_set(error, ERROR_CONFIG, "can't be read: %s", strerror(errno));
			return NULL;
		}
		length += (size_t)got;
		if (length + 1 < room)
			continue;
		if (room >= FILE_LARGEST) {
			error_set(error, ERROR_CONFIG, "is larger than %d bytes", FILE_LARGEST);
			return NULL;
		}
		grown = memcpy(arena_alloc(arena, 2 * room), text, length);
		text = grown;
		room *= 2;
	}
	if (memchr(text, '\0', length)) {
		error_set(error, ERROR_CONFIG, "holds a NUL byte; it must be text");
		return NULL;
	}
	text[length] = '\0';
	return text;
}

struct walk {
	struct reader *reader;
	struct arena arena; /* of the texts */
	int files, depth;
};

static void walk_text(struct walk *walk, const char *file, const char *text);

/* Not waiting for a pipe's writer. */
static char *read_file(struct walk *walk, const char *path, struct error *error)
{
	struct stat status;
	char *text = NULL;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		error_set(error, ERROR_CONFIG, "can't be opened: %s", strerror(errno));
		return NULL;
	}
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		error_set(error, ERROR_CONFIG, "is no regular file; name each file to include");
	else
		text = includes_read_text(fd, &walk->arena, error);
	close(fd);
	return text;
}

static void walk_file(struct walk *walk, const char *name, struct report_place place)
{
	struct error error;
	/* libconfig puts the folder in front of an absolute path, too */
	const char *path = arena_printf(&walk->arena, "%s/%s", walk->reader->folder, name);
	char *text;

	if (walk->depth == DEPTH_MOST || walk->files == FILES_MOST) {
		report_error(
		        walk->reader->report, place,
		        "@include: %s is one file too many, %d levels and %d files are allowed; does a file include "
		        "itself?",
		        path, DEPTH_MOST, FILES_MOST);
		return;
	}
	walk->files++;
	text = read_file(walk, path, &error);
	if (!text) {
		report_error(walk->reader->report, place, "@include: %s %s", path, error.text);
		return;
	}
	walk->depth++;
	walk_text(walk, name, text);
	walk->depth--;
	explicit_bzero(text, strlen(text));
}

/* Behind the string that begins at text. */
static const char *skip_string(const char *text)
{
	for (text++; *text && *text != '"'; text++)
		if (*text == '\\' && text[1])
			text++;
	return *text ? text + 1 : text;
}

/* Behind the comment or string at text; text itself when there is none. */
static const char *skip_quoted(const char *text)
{
	const char *end;

	if (*text == '"')
		return skip_string(text);
	if (*text == '#' || strncmp(text, "//", 2) == 0)
		return text + strcspn(text, "\n");
	if (strncmp(text, "/*", 2) != 0)
		return text;
	end = strstr(text + 2, "*/");
	return end ? end + 2 : text + strlen(text);
}

/* What the line that begins at text includes; NULL: it is none that does. */
static const char *included_name(struct walk *walk, const char *text)
{
	static const char directive[] = "@include";
	const char *end;
	char *name, *out;

	text += strspn(text, " \t");
	if (strncmp(text, directive, strlen(directive)) != 0)
		return NULL;
	text += strlen(directive);
	if (text[strspn(text, " \t")] != '"' || *text == '"')
		return NULL; /* libconfig tells the syntax error */
	text += strspn(text, " \t");
	end = skip_string(text);
	name = out = arena_alloc(&walk->arena, (size_t)(end - text) + 1);
	for (text++; text < end && *text != '"'; text++) {
		if (*text == '\\' && text + 1 < end)
			text++;
		*out++ = *text;
	}
	*out = '\0';
	return name;
}

static bool is_word(char character)
{
	return character == '_' || character == '.' || (character >= '0' && character <= '9') ||
	       (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

/* libconfig keeps the lowest 32 bits of a number without L and says nothing: 8589934592 would be 0. */
static void check_number(struct walk *walk, const char *text, struct report_place place)
{
	size_t digits = strspn(text, "0123456789");

	if (digits > 0 && !is_word(text[digits]) && (digits > 18 || strtoll(text, NULL, 10) > INT32_MAX))
		report_error(walk->reader->report, place,
		             "%.*s is too large for a plain number; write %.*sL, or a size such as \"8GiB\"",
		             (int)digits, text, (int)digits, text);
}

static void walk_text(struct walk *walk, const char *file, const char *text)
{
	const char *next, *name;
	int line = 1;
	bool in_word = false;

	for (bool begins = true; *text; text = next) {
		if (!in_word)
			check_number(walk, text, (struct report_place){file, line});
		in_word = is_word(*text) || *text == '-';
		name = begins ? included_name(walk, text) : NULL;
		if (name)
			walk_file(walk, name, (struct report_place){file, line});
		next = skip_quoted(text);
		if (next == text)
			next++;
		for (const char *at = text; at < next; at++)
			line += *at == '\n';
		begins = next[-1] == '\n';
	}
}

void includes_check(struct reader *reader, const char *text)
{
	struct walk walk = {.reader = reader};

	arena_init(&walk.arena, 16384);
	walk_text(&walk, NULL, text);
	arena_done(&walk.arena);
}
