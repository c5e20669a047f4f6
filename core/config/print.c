#include "core/config/librdkafka.h"
#include "core/config/settings.h"
#include "core/config/value.h"
#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <string.h>

#define HIDDEN "(hidden)"

struct printer {
	FILE *out;
	bool with_secrets;
	int depth;
	struct arena arena; /* for what is put together on the way */
};

static void indent(const struct printer *printer)
{
	for (int i = 0; i < printer->depth; i++)
		fputc('\t', printer->out);
}

/* As libconfig reads it back. */
static void print_text(const struct printer *printer, const char *text)
{
	fputc('"', printer->out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(printer->out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(printer->out, "\\x%02X", (unsigned)*text);
		else
			fputc(*text, printer->out);
	}
	fputc('"', printer->out);
}

/* The same parameters with the secret ones covered. */
static const char *hide_in_conninfo(struct printer *printer, const char *conninfo)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	const char *text = "";
	bool secret = false;

	for (PQconninfoOption *option = options; option && option->keyword; option++) {
		bool covered = option->val && strstr(option->keyword, "password");

		secret |= covered;
		if (option->val && strpbrk(option->val, " '\\") == NULL && option->val[0])
			text = arena_printf(&printer->arena, "%s%s%s=%s", text, text[0] ? " " : "", option->keyword,
			                    covered ? HIDDEN : option->val);
		else if (option->val)
			text = arena_printf(&printer->arena, "%s%s%s='%s'", text, text[0] ? " " : "", option->keyword,
			                    covered ? HIDDEN : option->val);
	}
	PQconninfoFree(options);
	return secret ? text : conninfo;
}

static void print_durations(const struct printer *printer, const struct config_durations *durations)
{
	char text[32];

	for (size_t i = 0; i < durations->count; i++) {
		config_duration_text(durations->ms[i], text, sizeof(text));
		fprintf(printer->out, "%s\"%s\"", i ? ", " : "", text);
	}
}

static void print_source(struct printer *printer, const struct config_source *source)
{
	const char *place = source->place == CONFIG_PLACE_HEADER ? "header" : "payload";

	print_text(printer, arena_printf(&printer->arena, "%s:%s", place, source->name));
}

static void print_list(struct printer *printer, const struct setting *setting, const void *field)
{
	const struct config_strings *topics = field;
	const struct config_event *event = field;

	fputc('[', printer->out);
	if (setting->kind == SETTING_DURATIONS)
		print_durations(printer, field);
	for (size_t i = 0; setting->kind == SETTING_TOPICS && i < topics->count; i++) {
		fputs(i ? ", " : "", printer->out);
		print_text(printer, topics->items[i]);
	}
	for (size_t i = 0; setting->kind == SETTING_SOURCES && i < event->id_count; i++) {
		fputs(i ? ", " : "", printer->out);
		print_source(printer, &event->ids[i]);
	}
	fputc(']', printer->out);
}

/* Items of one name in a row are a list. */
static void print_properties(struct printer *printer, const struct config_properties *properties)
{
	char name[128];

	fputs("{\n", printer->out);
	printer->depth++;
	for (size_t i = 0, end; i < properties->count; i = end) {
		const struct config_property *items = properties->items;

		for (end = i + 1; end < properties->count && strcmp(items[end].name, items[i].name) == 0;)
			end++;
		kafka_name_written(items[i].name, name, sizeof(name));
		indent(printer);
		fprintf(printer->out, "%s = %s", name, end - i > 1 ? "[" : "");
		for (size_t j = i; j < end; j++) {
			fputs(j > i ? ", " : "", printer->out);
			print_text(printer, items[j].secret && !printer->with_secrets ? HIDDEN : items[j].value);
		}
		fputs(end - i > 1 ? "];\n" : ";\n", printer->out);
	}
	printer->depth--;
	indent(printer);
	fputc('}', printer->out);
}

static void print_number(struct printer *printer, const struct setting *setting, const void *field)
{
	int64_t number = *(const int64_t *)field;
	char text[64];

	if (setting->kind == SETTING_INTEGER) {
		fprintf(printer->out, "%" PRId64, number);
		return;
	}
	if (setting->kind == SETTING_DURATION)
		config_duration_text(number, text, sizeof(text));
	else
		value_size_text(number, text, sizeof(text));
	print_text(printer, text);
}

static void print_string(struct printer *printer, const struct setting *setting, const char *text)
{
	if (setting->flags & SETTING_SECRET && !printer->with_secrets)
		text = HIDDEN;
	else if (setting->kind == SETTING_CONNINFO && !printer->with_secrets)
		text = hide_in_conninfo(printer, text);
	print_text(printer, text);
}

static void print_value(struct printer *printer, const struct setting *setting, const void *field)
{
	char choice[64] = "";

	switch (setting->kind) {
	case SETTING_BOOLEAN:
		fputs(*(const bool *)field ? "true" : "false", printer->out);
		break;
	case SETTING_INTEGER:
	case SETTING_DURATION:
	case SETTING_SIZE:
		print_number(printer, setting, field);
		break;
	case SETTING_CHOICE:
		setting_choice(setting->choices, (size_t)(*(const int *)field - setting->minimum), choice,
		               sizeof(choice));
		print_text(printer, choice);
		break;
	case SETTING_TOPICS:
	case SETTING_DURATIONS:
	case SETTING_SOURCES:
		print_list(printer, setting, field);
		break;
	case SETTING_SOURCE:
		print_source(printer, field);
		break;
	case SETTING_KAFKA:
	case SETTING_OPTIONS:
		print_properties(printer, field);
		break;
	default:
		print_string(printer, setting, *(const char *const *)field);
	}
}

/* What was not given is not printed; a child is told a secret, everybody else where it is kept. */
static bool is_printed(const struct printer *printer, const struct config *config, const struct setting *setting,
                       const void *field)
{
	const struct config_database *database = &config->database;
	bool kept_elsewhere = database->password_file || database->password_env;

	if (setting->kind == SETTING_KAFKA || setting->kind == SETTING_OPTIONS)
		return ((const struct config_properties *)field)->count > 0;
	if (setting->kind <= SETTING_DIGEST && !*(const char *const *)field)
		return false;
	if (field == &database->password)
		return printer->with_secrets || !kept_elsewhere;
	if (field == &database->password_file || field == &database->password_env)
		return !printer->with_secrets;
	return true;
}

static void print_section(struct printer *printer, const struct config *config, enum setting_section section,
                          const void *base);

static void print_members(struct printer *printer, const struct config *config, enum setting_section section,
                          const void *base)
{
	for (size_t i = 0; i < setting_count; i++) {
		const void *field = (const char *)base + settings[i].offset;

		if (settings[i].section != section || !is_printed(printer, config, &settings[i], field))
			continue;
		indent(printer);
		fprintf(printer->out, "%s = ", settings[i].name);
		print_value(printer, &settings[i], field);
		fputs(";\n", printer->out);
	}
	for (int i = 1; i < SECTION_COUNT; i++)
		if (setting_groups[i].parent == section && i != SECTION_PIPELINE)
			print_section(printer, config, (enum setting_section)i, base);
}

static void print_section(struct printer *printer, const struct config *config, enum setting_section section,
                          const void *base)
{
	if (section == SECTION_ADMIN && (printer->with_secrets || !config->admin.listen))
		return;
	indent(printer);
	fprintf(printer->out, "%s = {\n", setting_groups[section].name);
	printer->depth++;
	print_members(printer, config, section, base);
	printer->depth--;
	indent(printer);
	fputs("};\n", printer->out);
}

static void print_pipelines(struct printer *printer, const struct config *config, const char *only)
{
	const char *separator = "";

	fputs("pipelines = (", printer->out);
	for (size_t i = 0; i < config->pipeline_count; i++) {
		if (only && strcmp(config->pipelines[i].name, only) != 0)
			continue;
		fprintf(printer->out, "%s{\n", separator);
		printer->depth++;
		print_members(printer, config, SECTION_PIPELINE, &config->pipelines[i]);
		printer->depth--;
		fputc('}', printer->out);
		separator = ", ";
	}
	fputs(");\n", printer->out);
}

bool config_print(const struct config *config, const char *only, bool with_secrets, FILE *out, struct error *error)
{
	struct printer printer = {.out = out, .with_secrets = with_secrets};

	if (only && !config_find_pipeline(config, only))
		return error_set(error, ERROR_NOT_FOUND, "there is no pipeline %s", only);
	arena_init(&printer.arena, 4096);
	print_members(&printer, config, SECTION_HOST, config);
	print_pipelines(&printer, config, only);
	arena_done(&printer.arena);
	if (fflush(out) != 0 || ferror(out))
		return error_set(error, ERROR_IO, "the configuration can't be written: %s", strerror(errno));
	return true;
}
