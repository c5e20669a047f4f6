#include "core/plugin/options.h"
#include "core/base/assert.h"
#include "core/config/nearest.h"
#include "core/config/value.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 100
#define MAX_NAME_BYTES 63

static const struct {
	const char *name;
	enum option_type type;
	const char *example;
} types[] = {
        {"string", OPTION_STRING, ""},
        {"int", OPTION_INT, "a whole number"},
        {"real", OPTION_REAL, "a number"},
        {"bool", OPTION_BOOL, "true or false"},
        {"duration", OPTION_DURATION, "a duration such as \"500ms\", \"30s\", \"5m\", \"1h\" or \"7d\""},
        {"size", OPTION_SIZE, "a size such as 4096, \"64KiB\", \"16MiB\" or \"64MB\""},
        {"secret", OPTION_SECRET, ""},
        {"list", OPTION_LIST, ""},
};

/* ---- values ---- */

static bool read_integer(const char *text, int64_t *out_value)
{
	char *end;

	errno = 0;
	long long number = strtoll(text, &end, 10);
	if (end == text || *end || errno != 0 || text[0] == ' ')
		return false;
	*out_value = number;
	return true;
}

/* With a point, whatever locale a plugin may have set. */
static bool read_real(const char *text, double *out_value)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end;

	ASSERT(plain);
	double value = strtod_l(text, &end, plain);
	freelocale(plain);
	if (end == text || *end || text[0] == ' ' || !isfinite(value))
		return false;
	*out_value = value;
	return true;
}

static bool read_bool(const char *text, int64_t *out_value)
{
	bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

	if (!is_true && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return false;
	*out_value = is_true;
	return true;
}

static char *copy_trimmed(const char *start, size_t length)
{
	while (length > 0 && *start == ' ')
		start++, length--;
	while (length > 0 && start[length - 1] == ' ')
		length--;
	char *copy = strndup(start, length);
	ASSERT(copy);
	return copy;
}

static void add_item(struct option *option, char *item)
{
	option->items = realloc(option->items, (option->item_count + 1) * sizeof(*option->items));
	ASSERT(option->items && item);
	option->items[option->item_count++] = item;
}

/* A preset is one string: its elements are separated by commas. */
static void split_list(struct option *option, const char *at)
{
	if (strspn(at, " ") == strlen(at))
		return; /* an empty list, not a list of one empty element */
	for (bool more = true; more; at++) {
		size_t length = strcspn(at, ",");
		add_item(option, copy_trimmed(at, length));
		at += length;
		more = *at == ',';
	}
}

static bool option_read(struct option *option, const char *text)
{
	option->is_set = true;
	if (option->type == OPTION_LIST) {
		add_item(option, strdup(text));
		return true;
	}
	option->text = strdup(text);
	ASSERT(option->text);
	switch (option->type) {
	case OPTION_STRING:
	case OPTION_SECRET:
		return true;
	case OPTION_INT:
		return read_integer(text, &option->integer);
	case OPTION_REAL:
		return read_real(text, &option->real);
	case OPTION_BOOL:
		return read_bool(text, &option->integer);
	case OPTION_DURATION:
		return value_parse_duration(text, true, &option->integer, NULL);
	case OPTION_SIZE:
		return value_parse_size(text, true, &option->integer, NULL);
	case OPTION_LIST:
		break;
	}
	return false;
}

static bool value_mistake(const struct option *option, const char *text, const char *where, struct error *error)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == option->type)
			return error_set(error, ERROR_CONFIG, "%s \"%s\": \"%s\" is not %s", where, option->row->name,
			                 text, types[i].example);
	return false;
}

/* ---- the table ---- */

static bool is_option_name(const char *name)
{
	size_t length = strnlen(name, MAX_NAME_BYTES + 1);

	return length > 0 && length <= MAX_NAME_BYTES && name[0] >= 'a' && name[0] <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static bool take_row(struct options *options, const struct idem_option *row, struct error *error)
{
	struct option *option = &options->items[options->count];

	if (!is_option_name(row->name))
		return error_set(error, ERROR_PLUGIN, "option %zu has no valid name: [a-z][a-z0-9_]*",
		                 options->count + 1);
	if (options_find(options, row->name))
		return error_set(error, ERROR_PLUGIN, "option \"%s\" is declared twice", row->name);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!row->type || strcmp(types[i].name, row->type) != 0)
			continue;
		*option = (struct option){.row = row, .type = types[i].type};
		options->count++;
		return true;
	}
	return error_set(error, ERROR_PLUGIN,
	                 "option \"%s\" has the type \"%s\"; there are string int real bool duration size secret list",
	                 row->name, row->type ? row->type : "");
}

static bool take_table(struct options *options, const struct idem_option *table, struct error *error)
{
	options->items = calloc(MAX_OPTIONS, sizeof(*options->items));
	ASSERT(options->items);
	for (const struct idem_option *row = table; row && row->name; row++) {
		if (options->count == MAX_OPTIONS)
			return error_set(error, ERROR_PLUGIN,
			                 "more than %d options, or their table does not end with name NULL",
			                 MAX_OPTIONS);
		if (!take_row(options, row, error))
			return false;
	}
	return true;
}

static bool unknown_option(const struct options *options, const char *name, struct error *error)
{
	struct nearest nearest = {0};
	char hint[200];

	for (size_t i = 0; i < options->count; i++)
		nearest_offer(&nearest, name, options->items[i].row->name);
	return error_set(error, ERROR_CONFIG, "plugin.options has \"%s\", which the plugin does not know%s", name,
	                 options->count > 0 ? nearest_hint(&nearest, hint, sizeof(hint)) : "; it takes no options");
}

/* ---- all ---- */

static struct option *find(const struct options *options, const char *name)
{
	for (size_t i = 0; i < options->count; i++)
		if (strcmp(options->items[i].row->name, name) == 0)
			return &options->items[i];
	return NULL;
}

const struct option *options_find(const struct options *options, const char *name)
{
	return find(options, name);
}

static bool take_given(struct options *options, const struct config_properties *given, struct error *error)
{
	for (size_t i = 0; i < given->count; i++) {
		const struct config_property *property = &given->items[i];
		struct option *option = find(options, property->name);
		if (!option)
			return unknown_option(options, property->name, error);
		if (option->is_set && option->type != OPTION_LIST)
			return error_set(error, ERROR_CONFIG, "plugin.options has a list as \"%s\", which is one %s",
			                 property->name, option->row->type);
		if (!option_read(option, property->value))
			return value_mistake(option, property->value, "plugin.options", error);
	}
	return true;
}

static bool take_presets(struct options *options, struct error *error)
{
	for (size_t i = 0; i < options->count; i++) {
		struct option *option = &options->items[i];
		if (option->is_set || !option->row->preset)
			continue;
		if (option->type == OPTION_LIST) {
			split_list(option, option->row->preset);
			option->is_set = true;
		} else if (!option_read(option, option->row->preset)) {
			(void)value_mistake(option, option->row->preset, "the preset of option", error);
			if (error)
				error->code = ERROR_PLUGIN;
			return false;
		}
	}
	return true;
}

bool options_init(struct options *options, const struct idem_option *table, const struct config_properties *given,
                  struct error *error)
{
	*options = (struct options){0};
	if (take_table(options, table, error) && take_given(options, given, error) && take_presets(options, error))
		return true;
	options_done(options);
	return false;
}

void options_done(struct options *options)
{
	for (size_t i = 0; i < options->count; i++) {
		struct option *option = &options->items[i];
		if (option->text && option->type == OPTION_SECRET)
			explicit_bzero(option->text, strlen(option->text));
		free(option->text);
		for (size_t j = 0; j < option->item_count; j++)
			free(option->items[j]);
		free(option->items);
	}
	free(options->items);
	*options = (struct options){0};
}
