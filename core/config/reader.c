#include "core/config/reader.h"
#include "core/config/nearest.h"
#include "core/config/properties.h"
#include "core/config/secret.h"
#include "core/config/value.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_place reader_place(const config_setting_t *setting)
{
	int line = (int)config_setting_source_line(setting); /* the root has none */

	return (struct report_place){config_setting_source_file(setting), line > 0 ? line : 1};
}

struct report_place reader_member_place(const config_setting_t *group, const char *path)
{
	const config_setting_t *member = group;
	char name[64];

	while (member && *path) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, "."), path);
		path += strlen(name) + (path[strlen(name)] == '.');
		member = config_setting_is_group(member) ? config_setting_get_member(member, name) : NULL;
	}
	return reader_place(member ? member : group);
}

bool reader_is_scalar(const config_setting_t *setting)
{
	return config_setting_is_scalar(setting) == CONFIG_TRUE;
}

const char *reader_scalar_text(const config_setting_t *setting, char *buffer, size_t size)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_STRING:
		return config_setting_get_string(setting);
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(setting) ? "true" : "false";
	case CONFIG_TYPE_FLOAT:
		snprintf(buffer, size, "%.15g", config_setting_get_float(setting));
		return buffer;
	default:
		snprintf(buffer, size, "%lld", config_setting_get_int64(setting));
		return buffer;
	}
}

static const char *type_name(const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_STRING:
		return "text";
	case CONFIG_TYPE_BOOL:
		return "true or false";
	case CONFIG_TYPE_FLOAT:
		return "a number with a fraction";
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return "a whole number";
	case CONFIG_TYPE_GROUP:
		return "a group { … }";
	case CONFIG_TYPE_ARRAY:
		return "an array [ … ]";
	default:
		return "a list ( … )";
	}
}

/* What type_fits wants, as a user writes it. */
static const char *wanted_type(enum setting_kind kind)
{
	switch (kind) {
	case SETTING_BOOLEAN:
		return "true or false";
	case SETTING_INTEGER:
		return "a whole number";
	case SETTING_DURATION:
		return "a duration such as \"30s\"";
	case SETTING_SIZE:
		return "a size such as \"64MiB\"";
	case SETTING_TOPICS:
	case SETTING_DURATIONS:
	case SETTING_SOURCES:
		return "an array [ … ]";
	case SETTING_KAFKA:
	case SETTING_OPTIONS:
		return "a group { … }";
	default:
		return "text in quotes";
	}
}

static bool type_fits(enum setting_kind kind, const config_setting_t *written)
{
	int type = config_setting_type(written);
	bool whole = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;

	switch (kind) {
	case SETTING_BOOLEAN:
		return type == CONFIG_TYPE_BOOL;
	case SETTING_INTEGER:
		return whole;
	case SETTING_DURATION:
	case SETTING_SIZE:
		return whole || type == CONFIG_TYPE_STRING;
	case SETTING_KAFKA:
	case SETTING_OPTIONS:
		return type == CONFIG_TYPE_GROUP;
	default:
		return type == CONFIG_TYPE_STRING;
	}
}

const char *reader_path(struct reader *reader, const char *path)
{
	if (!reader->looks_at_files || path[0] == '/' || path[0] == '\0')
		return path;
	return arena_printf(&reader->config->arena, "%s/%s", reader->folder, path);
}

/* A bare file name of a plugin may also mean an installed one. */
static const char *resolve_path(struct reader *reader, const struct setting *setting, const char *text)
{
	const char *path = reader_path(reader, text), *installed;

	if (path == text || setting->section != SECTION_PLUGIN || strchr(text, '/') || access(path, F_OK) == 0)
		return path;
	installed = arena_printf(&reader->config->arena, "%s/%s", IDEM_PLUGIN_DIR, text);
	return access(installed, F_OK) == 0 ? installed : path;
}

static bool check_path(enum setting_kind kind, const char *path, struct error *error)
{
	struct stat status;
	bool wants_folder = kind == SETTING_FOLDER;

	if (stat(path, &status) != 0)
		return error_set(error, ERROR_CONFIG, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(status.st_mode) == wants_folder)
		return error_set(error, ERROR_CONFIG, "%s is %s folder", path, wants_folder ? "no" : "a");
	if (access(path, R_OK) != 0)
		return error_set(error, ERROR_CONFIG, "%s can't be read: %s", path, strerror(errno));
	return true;
}

static bool store_scalar(struct reader *reader, const struct setting *setting, const config_setting_t *written,
                         void *field, struct error *error)
{
	char buffer[64];
	const char *text = reader_scalar_text(written, buffer, sizeof(buffer));
	bool is_path =
	        setting->kind == SETTING_PATH || setting->kind == SETTING_FILE || setting->kind == SETTING_FOLDER;

	if (is_path)
		text = resolve_path(reader, setting, text);
	if (is_path && setting->kind != SETTING_PATH && reader->looks_at_files && text[0] &&
	    !check_path(setting->kind, text, error))
		return false;
	return value_store(setting, text, config_setting_type(written) != CONFIG_TYPE_STRING, &reader->config->arena,
	                   field, error);
}

static void read_scalar(struct reader *reader, const struct setting *setting, const char *path,
                        const config_setting_t *written, void *field)
{
	struct error error;

	if (!type_fits(setting->kind, written))
		report_error(reader->report, reader_place(written), "%s: must be %s, is %s", path,
		             wanted_type(setting->kind), type_name(written));
	else if (!store_scalar(reader, setting, written, field, &error))
		report_error(reader->report, reader_place(written), "%s: %s", path, error.text);
	else if (setting->flags & SETTING_SECRET)
		reader->has_inline_secrets = true;
}

static void read_list(struct reader *reader, const struct setting *setting, const char *path,
                      const config_setting_t *written, void *field)
{
	bool single = reader_is_scalar(written);
	size_t count = single ? 1 : (size_t)config_setting_length(written), step;
	struct setting element;
	char *items;

	if (config_setting_is_group(written)) {
		report_error(reader->report, reader_place(written), "%s: must be %s, is %s", path,
		             wanted_type(setting->kind), type_name(written));
		return;
	}
	element = value_list_begin(setting, count, &reader->config->arena, field, &items, &step);
	for (size_t i = 0; i < count; i++)
		read_scalar(reader, &element, path, single ? written : config_setting_get_elem(written, (unsigned)i),
		            items + i * step);
	if (count == 0 && setting->kind != SETTING_DURATIONS)
		report_error(reader->report, reader_place(written), "%s: must not be empty", path);
}

static void read_setting(struct reader *reader, const struct setting *setting, const config_setting_t *written,
                         char *base)
{
	void *field = base + setting->offset;
	char path[96];

	setting_path(setting->section, setting->name, path, sizeof(path));
	if (value_is_list(setting->kind))
		read_list(reader, setting, path, written, field);
	else if (!type_fits(setting->kind, written))
		read_scalar(reader, setting, path, written, field);
	else if (setting->kind == SETTING_KAFKA)
		properties_read_kafka(reader, written, field);
	else if (setting->kind == SETTING_OPTIONS)
		properties_read_options(reader, written, field);
	else
		read_scalar(reader, setting, path, written, field);
}

static void report_unknown(struct reader *reader, enum setting_section section, const config_setting_t *written)
{
	const char *name = config_setting_name(written), *group = setting_groups[section].name;
	struct nearest nearest = {.distance = 0};
	char hint[160];

	for (size_t i = 0; i < setting_count; i++)
		if (settings[i].section == section)
			nearest_offer(&nearest, name, settings[i].name);
	for (int i = 1; i < SECTION_COUNT; i++)
		if (setting_groups[i].parent == section)
			nearest_offer(&nearest, name, setting_groups[i].name);
	report_error(reader->report, reader_place(written), "%s%s%s: unknown setting%s", group, group[0] ? "." : "",
	             name, nearest_hint(&nearest, hint, sizeof(hint)));
}

static bool is_known(enum setting_section section, const char *name)
{
	for (size_t i = 0; i < setting_count; i++)
		if (settings[i].section == section && strcmp(settings[i].name, name) == 0)
			return true;
	for (int i = 1; i < SECTION_COUNT; i++)
		if (setting_groups[i].parent == section && strcmp(setting_groups[i].name, name) == 0)
			return true;
	return false;
}

static void read_section(struct reader *reader, enum setting_section section, const config_setting_t *group,
                         const config_setting_t *parent, char *base);

static void store_presets(struct reader *reader, bool per_pipeline, char *base)
{
	for (size_t i = 0; i < setting_count; i++)
		if (setting_groups[settings[i].section].per_pipeline == per_pipeline)
			value_store_preset(&settings[i], &reader->config->arena, base + settings[i].offset);
}

static void read_pipelines(struct reader *reader, const config_setting_t *list, const config_setting_t *root)
{
	struct config *config = reader->config;
	size_t count = list && config_setting_is_list(list) ? (size_t)config_setting_length(list) : 0;

	if (count == 0) {
		report_error(reader->report, reader_place(list ? list : root),
		             "pipelines: must be a list of at least one group; write pipelines = ({ name = … });");
		return;
	}
	config->pipelines = arena_zalloc(&config->arena, count * sizeof(config->pipelines[0]));
	config->pipeline_count = count;
	for (size_t i = 0; i < count; i++) {
		const config_setting_t *group = config_setting_get_elem(list, (unsigned)i);

		store_presets(reader, true, (char *)&config->pipelines[i]);
		config->pipelines[i].line = (int)config_setting_source_line(group);
		read_section(reader, SECTION_PIPELINE, group, list, (char *)&config->pipelines[i]);
	}
}

static const config_setting_t *member_of(const config_setting_t *group, const char *name)
{
	return group && config_setting_is_group(group) ? config_setting_get_member(group, name) : NULL;
}

static void read_members(struct reader *reader, enum setting_section section, const config_setting_t *group,
                         const config_setting_t *parent, char *base)
{
	char path[96];

	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *setting = &settings[i];
		const config_setting_t *written = setting->section == section ? member_of(group, setting->name) : NULL;

		if (written) {
			read_setting(reader, setting, written, base);
		} else if (setting->section == section && setting->flags & SETTING_REQUIRED) {
			setting_path(section, setting->name, path, sizeof(path));
			report_error(reader->report, reader_place(group ? group : parent), "%s: is missing", path);
		}
	}
	for (int i = 1; i < SECTION_COUNT; i++) {
		const config_setting_t *written = member_of(group, setting_groups[i].name);

		if (setting_groups[i].parent != section)
			continue;
		if (i == SECTION_PIPELINE)
			read_pipelines(reader, written, group);
		else
			read_section(reader, (enum setting_section)i, written, group ? group : parent, base);
	}
}

/* group NULL: it was not written, which only matters to what is required. */
static void read_section(struct reader *reader, enum setting_section section, const config_setting_t *group,
                         const config_setting_t *parent, char *base)
{
	if (group && !config_setting_is_group(group)) {
		report_error(reader->report, reader_place(group), "%s: must be a group { … }, is %s",
		             setting_groups[section].name, type_name(group));
		return;
	}
	read_members(reader, section, group, parent, base);
	for (int i = 0; group && i < config_setting_length(group); i++) {
		const config_setting_t *written = config_setting_get_elem(group, (unsigned)i);

		if (!is_known(section, config_setting_name(written)))
			report_unknown(reader, section, written);
	}
}

static int line_of(const config_setting_t *group, const char *name)
{
	const config_setting_t *member = member_of(group, name);

	return member ? (int)config_setting_source_line(member) : 0;
}

static int plugin_line(const config_setting_t *root, size_t i)
{
	const config_setting_t *list = config_setting_get_member(root, "pipelines");

	return reader_member_place(config_setting_get_elem(list, (unsigned)i), "plugin.file").line;
}

void reader_read(struct reader *reader, const config_setting_t *root)
{
	struct config *config = reader->config;

	store_presets(reader, false, (char *)config);
	if (reader->database_only)
		read_section(reader, SECTION_DATABASE, member_of(root, "database"), root, (char *)config);
	else
		read_section(reader, SECTION_HOST, root, root, (char *)config);
	config->database.line = line_of(root, "database");
	config->kafka.line = line_of(root, "kafka");
	config->admin.line = line_of(root, "admin");
	for (size_t i = 0; i < config->pipeline_count; i++)
		config->pipelines[i].plugin.line = plugin_line(root, i);
}
