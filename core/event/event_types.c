#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/event/event_types.h"

struct event_type {
	char *name;
	bool handled;
};

struct event_types {
	struct event_type *items; /* by name */
	size_t count;
	bool open; /* neither folder nor list: whatever comes is known and handled */
};

static int compare_types(const void *a, const void *b)
{
	return strcmp(((const struct event_type *)a)->name, ((const struct event_type *)b)->name);
}

static void add_type(struct event_types *types, struct bytes name, bool handled)
{
	char *copy = strndup(name.ptr, name.len);

	types->items = reallocarray(types->items, types->count + 1, sizeof(*types->items));
	ASSERT(types->items && copy);
	types->items[types->count++] = (struct event_type){copy, handled};
}

/* The type a file of the folder stands for: its name less ".json"; absent: none. */
static struct bytes type_of_file(const char *file)
{
	size_t len = strlen(file);

	if (file[0] == '.' || len <= strlen(".json") || strcmp(file + len - strlen(".json"), ".json") != 0)
		return BYTES_NONE;
	return (struct bytes){file, len - strlen(".json")};
}

static bool read_folder(struct event_types *types, const char *folder, bool handled, struct error *error)
{
	DIR *dir = opendir(folder);
	bool good = true;

	if (!dir)
		return error_set(error, ERROR_CONFIG, "event.schemas: can't read folder %s: %s", folder,
		                 strerror(errno));
	errno = 0;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		struct bytes type = type_of_file(entry->d_name);
		if (type.ptr)
			add_type(types, type, handled);
		errno = 0;
	}
	if (errno)
		good = error_set(error, ERROR_IO, "event.schemas: can't read folder %s: %s", folder, strerror(errno));
	if (closedir(dir) != 0 && good)
		good = error_set(error, ERROR_IO, "event.schemas: can't close folder %s: %s", folder, strerror(errno));
	if (good && types->count == 0)
		good = error_set(
		        error, ERROR_CONFIG,
		        "event.schemas: folder %s holds no .json file, so that every event would be of an unknown type",
		        folder);
	return good;
}

static struct event_type *find_type(const struct event_types *types, const char *name)
{
	struct event_type *found = NULL;

	for (size_t i = 0; !found && i < types->count; i++) {
		if (strcmp(types->items[i].name, name) == 0)
			found = &types->items[i];
	}
	return found;
}

/* A handled type that is not in the registry would send all its records to the dead letters. */
static bool mark_handled(struct event_types *types, const char *folder, const char *const *handled, struct error *error)
{
	for (size_t i = 0; handled[i]; i++) {
		struct event_type *type = find_type(types, handled[i]);
		if (!type)
			return error_set(
			        error, ERROR_CONFIG,
			        "the plugin handles event type \"%s\", but event.schemas has no file %s/%s.json",
			        handled[i], folder, handled[i]);
		type->handled = true;
	}
	return true;
}

static bool fill(struct event_types *types, const char *known_folder, const char *const *handled, struct error *error)
{
	bool handles_all = !handled || !handled[0];

	types->open = !known_folder && handles_all;
	if (known_folder)
		return read_folder(types, known_folder, handles_all, error) &&
		       (handles_all || mark_handled(types, known_folder, handled, error));
	for (size_t i = 0; !handles_all && handled[i]; i++)
		add_type(types, bytes_from_string(handled[i]), true);
	return true;
}

struct event_types *event_types_create(const char *known_folder, const char *const *handled, struct error *error)
{
	struct event_types *types = calloc(1, sizeof(*types));

	ASSERT(types);
	if (!fill(types, known_folder, handled, error)) {
		event_types_destroy(types);
		return NULL;
	}
	if (types->count)
		qsort(types->items, types->count, sizeof(*types->items), compare_types);
	return types;
}

void event_types_destroy(struct event_types *types)
{
	if (!types)
		return;
	for (size_t i = 0; i < types->count; i++)
		free(types->items[i].name);
	free(types->items);
	free(types);
}

static int compare_name(struct bytes name, const char *other)
{
	size_t other_len = strlen(other);
	int order = memcmp(name.ptr, other, name.len < other_len ? name.len : other_len);

	return order ? order : (name.len > other_len) - (name.len < other_len);
}

enum event_type_status event_types_look_up(const struct event_types *types, struct bytes name)
{
	size_t low = 0, high = types->count;

	if (types->open)
		return EVENT_TYPE_HANDLED;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_name(name, types->items[middle].name);
		if (order == 0)
			return types->items[middle].handled ? EVENT_TYPE_HANDLED : EVENT_TYPE_KNOWN;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return EVENT_TYPE_UNKNOWN;
}
