#include "core/config/settings.h"
#include <string.h>

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define KIB ((int64_t)1024)
#define GIB (1024 * 1024 * KIB)

#define REQUIRED SETTING_REQUIRED
#define SECRET SETTING_SECRET
#define RESTART SETTING_RESTART
#define RANGE(least, most) .minimum = (least), .maximum = (most)
#define CHOICES(list, first) .choices = (list), .minimum = (first)
#define ANY .minimum = 0

/* Only for offsetof. */
#define SECTION(section, parent, name, structure, help)                                                                \
	struct structure_of_##section {                                                                                \
		structure it;                                                                                          \
	};
#define SETTING(...)
#include "core/config/settings.def"
#undef SECTION
#undef SETTING

#define SECTION(...)
#define SETTING(section_id, setting_name, setting_kind, member, setting_preset, setting_example, bounds,               \
                setting_flags, text)                                                                                   \
	{.section = SECTION_##section_id,                                                                              \
	 .name = (setting_name),                                                                                       \
	 .kind = SETTING_##setting_kind,                                                                               \
	 .offset = offsetof(struct structure_of_##section_id, it.member),                                              \
	 .preset = (setting_preset),                                                                                   \
	 .example = (setting_example),                                                                                 \
	 bounds,                                                                                                       \
	 .flags = (setting_flags),                                                                                     \
	 .help = (text)},
const struct setting settings[] = {
#include "core/config/settings.def"
};
#undef SECTION
#undef SETTING

const size_t setting_count = sizeof(settings) / sizeof(settings[0]);

#define IS_PER_PIPELINE(structure) _Generic((structure *)NULL, struct config_pipeline * : true, default : false)
#define SECTION(section, parent_id, group_name, structure, text)                                                       \
	[SECTION_##section] = {                                                                                        \
	        .name = (group_name),                                                                                  \
	        .parent = SECTION_##parent_id,                                                                         \
	        .per_pipeline = IS_PER_PIPELINE(structure),                                                            \
	        .help = (text),                                                                                        \
	},
#define SETTING(...)
const struct setting_group setting_groups[SECTION_COUNT] = {
#include "core/config/settings.def"
};
#undef SECTION
#undef SETTING

void setting_path(enum setting_section section, const char *name, char *out, size_t size)
{
	const char *group = section == SECTION_PIPELINE ? "" : setting_groups[section].name;

	snprintf(out, size, "%s%s%s", group, group[0] ? "." : "", name);
}

const char *setting_kind_name(enum setting_kind kind)
{
	static const char *const names[] = {
	        [SETTING_STRING] = "text",
	        [SETTING_NAME] = "text",
	        [SETTING_TOPIC] = "topic name",
	        [SETTING_PATH] = "path",
	        [SETTING_FILE] = "path of a file",
	        [SETTING_FOLDER] = "path of a folder",
	        [SETTING_CONNINFO] = "connection string",
	        [SETTING_ADDRESS] = "address:port",
	        [SETTING_TEMPLATE] = "template",
	        [SETTING_FIELD] = "payload field",
	        [SETTING_DIGEST] = "64 hex digits",
	        [SETTING_BOOLEAN] = "true or false",
	        [SETTING_INTEGER] = "whole number",
	        [SETTING_DURATION] = "duration",
	        [SETTING_SIZE] = "size",
	        [SETTING_CHOICE] = "choice",
	        [SETTING_TOPICS] = "list of topic names",
	        [SETTING_DURATIONS] = "list of durations",
	        [SETTING_SOURCE] = "payload:field or header:name",
	        [SETTING_SOURCES] = "list of payload:field or header:name",
	        [SETTING_KAFKA] = "group of librdkafka properties",
	        [SETTING_OPTIONS] = "group of options",
	};

	return names[kind];
}

bool setting_choice(const char *choices, size_t i, char *out, size_t size)
{
	const char *start = choices;

	for (; i > 0; i--) {
		start = strchr(start, '|');
		if (!start)
			return false;
		start++;
	}
	snprintf(out, size, "%.*s", (int)strcspn(start, "|"), start);
	return true;
}
