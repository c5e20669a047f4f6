#include "core/config/value.h"
#include "core/base/assert.h"
#include "core/config/names.h"
#include "core/config/nearest.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit durations[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit sizes[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1000000000},
                                    {"MB", 1000000},  {"kB", 1000},     {"KB", 1000},     {"B", 1}};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static bool parse_with_unit(const char *text, bool bare, const struct unit *units, size_t count, int64_t *out)
{
	char *end;
	int64_t number;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno)
		return false;
	if (!*end && bare) {
		*out = number;
		return true;
	}
	for (size_t i = 0; i < count; i++)
		if (strcmp(end, units[i].name) == 0)
			return !__builtin_mul_overflow(number, units[i].factor, out);
	return false;
}

bool value_parse_duration(const char *text, bool bare, int64_t *out_ms, struct error *error)
{
	return parse_with_unit(text, bare, durations, LENGTH(durations), out_ms) ||
	       error_set(error, ERROR_CONFIG, "%s is no duration; write 100ms, 30s, 5m, 1h or 7d", text);
}

bool value_parse_size(const char *text, bool bare, int64_t *out_bytes, struct error *error)
{
	return parse_with_unit(text, bare, sizes, LENGTH(sizes), out_bytes) ||
	       error_set(error, ERROR_CONFIG, "%s is no size; write 512B, 64KiB, 64MiB, 1GiB, or 64kB, 64MB, 1GB",
	                 text);
}

void config_duration_text(int64_t ms, char *out, size_t size)
{
	const struct unit *unit = durations;

	while (ms % unit->factor)
		unit++;
	if (ms == 0)
		unit = &durations[3];
	snprintf(out, size, "%" PRId64 "%s", ms / unit->factor, unit->name);
}

void value_size_text(int64_t bytes, char *out, size_t size)
{
	for (size_t i = 0; i < 3; i++) {
		if (bytes && bytes % sizes[i].factor == 0) {
			snprintf(out, size, "%" PRId64 "%s", bytes / sizes[i].factor, sizes[i].name);
			return;
		}
	}
	snprintf(out, size, "%" PRId64 "B", bytes);
}

static void number_text(enum setting_kind kind, int64_t number, char *out, size_t size)
{
	if (kind == SETTING_DURATION || kind == SETTING_DURATIONS)
		config_duration_text(number, out, size);
	else if (kind == SETTING_SIZE)
		value_size_text(number, out, size);
	else
		snprintf(out, size, "%" PRId64, number);
}

static bool parse_integer(const char *text, int64_t *out, struct error *error)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return (!errno && end != text && !*end) || error_set(error, ERROR_CONFIG, "%s is no whole number", text);
}

static bool store_number(const struct setting *setting, const char *text, bool bare, int64_t *field,
                         struct error *error)
{
	char least[32], most[32];
	int64_t number;
	bool understood;

	if (setting->kind == SETTING_DURATION)
		understood = value_parse_duration(text, bare, &number, error);
	else if (setting->kind == SETTING_SIZE)
		understood = value_parse_size(text, bare, &number, error);
	else
		understood = parse_integer(text, &number, error);
	if (!understood)
		return false;
	if (number < setting->minimum || number > setting->maximum) {
		number_text(setting->kind, setting->minimum, least, sizeof(least));
		number_text(setting->kind, setting->maximum, most, sizeof(most));
		return error_set(error, ERROR_CONFIG, "%s is out of bounds, %s to %s are allowed", text, least, most);
	}
	*field = number;
	return true;
}

static bool store_choice(const struct setting *setting, const char *text, int *field, struct error *error)
{
	struct nearest nearest = {.distance = 0};
	char choice[64], all[256] = "", hint[160];
	size_t length = 0;

	for (size_t i = 0; setting_choice(setting->choices, i, choice, sizeof(choice)); i++) {
		if (strcmp(choice, text) == 0) {
			*field = (int)setting->minimum + (int)i;
			return true;
		}
		nearest_offer(&nearest, text, choice);
		length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s", i ? ", " : "", choice);
	}
	return error_set(error, ERROR_CONFIG, "\"%s\" is none of %s%s", text, all,
	                 nearest_hint(&nearest, hint, sizeof(hint)));
}

static bool store_source(const char *text, struct arena *arena, struct config_source *field, struct error *error)
{
	static const char *const places[] = {"payload", "header"};
	struct config_source source = {.place = CONFIG_PLACE_PAYLOAD, .name = text};
	const char *colon = strchr(text, ':');

	for (size_t i = 0; colon && i < LENGTH(places); i++) {
		if (strlen(places[i]) == (size_t)(colon - text) && strncmp(text, places[i], strlen(places[i])) == 0)
			source = (struct config_source){(enum config_place)i, colon + 1};
	}
	if (colon && source.name == text)
		return error_set(error, ERROR_CONFIG, "\"%s\" is no place; write payload:field or header:name", text);
	if (!source.name[0])
		return error_set(error, ERROR_CONFIG, "\"%s\" names no field; write payload:field or header:name",
		                 text);
	if (source.place == CONFIG_PLACE_PAYLOAD && !names_check(SETTING_FIELD, source.name, error))
		return false;
	source.name = arena_string(arena, bytes_from_string(source.name));
	*field = source;
	return true;
}

static bool store_string(enum setting_kind kind, const char *text, struct arena *arena, const char **field,
                         struct error *error)
{
	if (!text[0])
		return error_set(error, ERROR_CONFIG, "must not be empty");
	if (!names_check(kind, text, error))
		return false;
	*field = arena_string(arena, bytes_from_string(text));
	return true;
}

bool value_store(const struct setting *setting, const char *text, bool bare, struct arena *arena, void *field,
                 struct error *error)
{
	switch (setting->kind) {
	case SETTING_BOOLEAN:
		*(bool *)field = strcmp(text, "true") == 0;
		return true;
	case SETTING_INTEGER:
	case SETTING_DURATION:
	case SETTING_SIZE:
		return store_number(setting, text, bare, field, error);
	case SETTING_CHOICE:
		return store_choice(setting, text, field, error);
	case SETTING_SOURCE:
		return store_source(text, arena, field, error);
	default:
		ASSERT(setting->kind <= SETTING_DIGEST);
		return store_string(setting->kind, text, arena, field, error);
	}
}

bool value_is_list(enum setting_kind kind)
{
	return kind == SETTING_TOPICS || kind == SETTING_DURATIONS || kind == SETTING_SOURCES;
}

struct setting value_list_begin(const struct setting *setting, size_t count, struct arena *arena, void *field,
                                char **out_items, size_t *out_step)
{
	struct setting element = *setting;

	if (setting->kind == SETTING_TOPICS) {
		struct config_strings *list = field;

		element.kind = SETTING_TOPIC;
		*out_step = sizeof(list->items[0]);
		list->items = arena_zalloc(arena, count * *out_step);
		list->count = count;
		*out_items = (char *)list->items;
	} else if (setting->kind == SETTING_DURATIONS) {
		struct config_durations *list = field;

		element.kind = SETTING_DURATION;
		*out_step = sizeof(list->ms[0]);
		list->ms = arena_zalloc(arena, count * *out_step);
		list->count = count;
		*out_items = (char *)list->ms;
	} else {
		struct config_event *event = field;

		ASSERT(setting->kind == SETTING_SOURCES);
		element.kind = SETTING_SOURCE;
		*out_step = sizeof(event->ids[0]);
		event->ids = arena_zalloc(arena, count * *out_step);
		event->id_count = count;
		*out_items = (char *)event->ids;
	}
	return element;
}

static void store_preset_list(const struct setting *setting, struct arena *arena, void *field)
{
	char *copy = arena_printf(arena, "%s", setting->preset), *one, *items;
	size_t count = 1, step;
	struct setting element;

	for (const char *comma = copy; (comma = strchr(comma, ',')) != NULL; comma++)
		count++;
	element = value_list_begin(setting, count, arena, field, &items, &step);
	for (; (one = strsep(&copy, ",")) != NULL; items += step)
		ASSERT(value_store(&element, one + strspn(one, " "), false, arena, items, NULL));
}

void value_store_preset(const struct setting *setting, struct arena *arena, void *field)
{
	if (!setting->preset)
		return;
	if (value_is_list(setting->kind))
		store_preset_list(setting, arena, field);
	else
		ASSERT(value_store(setting, setting->preset, true, arena, field, NULL));
}
