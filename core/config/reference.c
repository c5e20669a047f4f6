#include "core/config/settings.h"
#include "core/config/value.h"
#include <inttypes.h>
#include <string.h>

#define SAMPLE_WIDTH 100

static void print_bounds(const struct setting *setting, FILE *out)
{
	char least[32], most[32];

	switch (setting->kind) {
	case SETTING_INTEGER:
		fprintf(out, "%" PRId64 " to %" PRId64, setting->minimum, setting->maximum);
		return;
	case SETTING_DURATION:
	case SETTING_DURATIONS:
		config_duration_text(setting->minimum, least, sizeof(least));
		config_duration_text(setting->maximum, most, sizeof(most));
		break;
	case SETTING_SIZE:
		value_size_text(setting->minimum, least, sizeof(least));
		value_size_text(setting->maximum, most, sizeof(most));
		break;
	case SETTING_CHOICE:
		for (const char *choice = setting->choices; *choice;
		     choice += strcspn(choice, "|") + (strchr(choice, '|') != NULL))
			fprintf(out, "%s`%.*s`", choice == setting->choices ? "" : ", ", (int)strcspn(choice, "|"),
			        choice);
		return;
	default:
		fputs(setting_kind_name(setting->kind), out);
		return;
	}
	fprintf(out, "%s, %s to %s", setting_kind_name(setting->kind), least, most);
}

static void print_row(const struct setting *setting, FILE *out)
{
	fprintf(out, "| `%s` | ", setting->name);
	print_bounds(setting, out);
	if (setting->flags & SETTING_REQUIRED)
		fputs(" | required", out);
	else
		fprintf(out, setting->preset ? " | `%s`" : " |", setting->preset);
	fprintf(out, " | %s |%s |\n", setting->help, setting->flags & SETTING_RESTART ? " restart" : "");
}

static void print_table(enum setting_section section, FILE *out)
{
	const struct setting_group *group = &setting_groups[section];
	bool nested = group->parent == SECTION_PIPELINE && section != SECTION_PIPELINE;

	fprintf(out, "\n## %s%s%s\n\n%s\n\n", nested ? "pipelines: " : "", group->name[0] ? group->name : "The host",
	        "", group->help);
	fputs("| setting | value | default | meaning | |\n| --- | --- | --- | --- | --- |\n", out);
	for (size_t i = 0; i < setting_count; i++)
		if (settings[i].section == section)
			print_row(&settings[i], out);
}

void config_print_reference(FILE *out)
{
	fputs("# Settings\n\n"
	      "Generated from `core/config/settings.def`. A configuration file is libconfig text; `@include \"file\"` "
	      "works, and a\n"
	      "relative path begins at the folder of the file. Durations are written `100ms`, `30s`, `5m`, `1h`, `7d`; "
	      "sizes `512B`,\n"
	      "`64KiB`, `64MiB`, `1GiB`, or `64kB`, `64MB`, `1GB`; a number without quotes is milliseconds or bytes. "
	      "`idemd -c FILE\n"
	      "--check` reports every mistake with its line. A reload (SIGHUP) takes a changed setting over by "
	      "replacing the\n"
	      "processes it concerns; those marked *restart* need a restart of idemd.\n",
	      out);
	for (int i = 0; i < SECTION_COUNT; i++)
		print_table((enum setting_section)i, out);
}

static void sample_indent(int depth, bool commented, FILE *out)
{
	for (int i = 0; i < depth; i++)
		fputc('\t', out);
	if (commented)
		fputc('#', out);
}

/* The help text as comment lines. */
static void sample_help(const char *help, int depth, FILE *out)
{
	size_t width = SAMPLE_WIDTH - 8 * (size_t)depth;

	while (*help) {
		size_t length = strlen(help);

		if (length > width)
			for (length = width; length > 0 && help[length] != ' ';)
				length--;
		sample_indent(depth, true, out);
		fprintf(out, " %.*s\n", (int)length, help);
		help += length + (help[length] == ' ');
	}
}

static void sample_list(const char *text, FILE *out)
{
	fputc('[', out);
	while (*text) {
		size_t length = strcspn(text, ",");

		fprintf(out, "\"%.*s\"%s", (int)length, text, text[length] ? ", " : "");
		text += length;
		text += strspn(text, ", ");
	}
	fputc(']', out);
}

static void sample_setting(const struct setting *setting, int depth, FILE *out)
{
	const char *text = setting->example ? setting->example : setting->preset;

	sample_help(setting->help, depth, out);
	sample_indent(depth, !(setting->flags & SETTING_REQUIRED), out);
	fprintf(out, "%s = ", setting->name);
	if (value_is_list(setting->kind))
		sample_list(text, out);
	else if (setting->kind == SETTING_BOOLEAN || setting->kind == SETTING_INTEGER ||
	         setting->kind == SETTING_KAFKA || setting->kind == SETTING_OPTIONS)
		fputs(text, out);
	else
		fprintf(out, "\"%s\"", text);
	fputs(";\n", out);
}

static void sample_section(enum setting_section section, int depth, FILE *out)
{
	bool list = section == SECTION_PIPELINE;

	if (section != SECTION_HOST) {
		fputc('\n', out);
		sample_help(setting_groups[section].help, depth, out);
		sample_indent(depth, false, out);
		fprintf(out, "%s = %s{\n", setting_groups[section].name, list ? "(" : "");
		depth++;
	}
	for (size_t i = 0; i < setting_count; i++)
		if (settings[i].section == section)
			sample_setting(&settings[i], depth, out);
	for (int i = 1; i < SECTION_COUNT; i++)
		if (setting_groups[i].parent == section)
			sample_section((enum setting_section)i, depth, out);
	if (section != SECTION_HOST) {
		sample_indent(depth - 1, false, out);
		fputs(list ? "});\n" : "};\n", out);
	}
}

void config_print_sample(FILE *out)
{
	fputs("# Every setting of idem.  Lines that begin with # show the default, or an example where there is "
	      "none.\n\n",
	      out);
	sample_section(SECTION_HOST, 0, out);
}
