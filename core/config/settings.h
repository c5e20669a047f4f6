/* The table of settings.def as data, for the parser, the printers and the manual. */
#ifndef IDEM_CONFIG_SETTINGS_H
#define IDEM_CONFIG_SETTINGS_H
#include "core/config/config.h"
#include <stddef.h>
#include <stdint.h>

enum setting_section {
#define SECTION(section, parent, name, structure, help) SECTION_##section,
#define SETTING(...)
#include "core/config/settings.def"
#undef SECTION
#undef SETTING
	SECTION_COUNT
};

/* What a value is, and what it is stored as. */
enum setting_kind {
	SETTING_STRING, /* const char *, like all up to DIGEST */
	SETTING_NAME,   /* begins the names of topics */
	SETTING_TOPIC,
	SETTING_PATH,   /* relative to the folder of the configuration file; need not be there */
	SETTING_FILE,   /* can be read */
	SETTING_FOLDER, /* is there */
	SETTING_CONNINFO,
	SETTING_ADDRESS,   /* host:port */
	SETTING_TEMPLATE,  /* of a business key */
	SETTING_FIELD,     /* of the payload */
	SETTING_DIGEST,    /* 64 hex digits */
	SETTING_BOOLEAN,   /* bool */
	SETTING_INTEGER,   /* int64_t */
	SETTING_DURATION,  /* int64_t, milliseconds */
	SETTING_SIZE,      /* int64_t, bytes */
	SETTING_CHOICE,    /* an enum */
	SETTING_TOPICS,    /* struct config_strings */
	SETTING_DURATIONS, /* struct config_durations */
	SETTING_SOURCE,    /* struct config_source */
	SETTING_SOURCES,   /* ids of a struct config_event */
	SETTING_KAFKA,     /* struct config_properties of librdkafka */
	SETTING_OPTIONS    /* struct config_properties of a plugin */
};

#define SETTING_REQUIRED 1u
#define SETTING_SECRET 2u
#define SETTING_RESTART 4u

struct setting {
	enum setting_section section;
	const char *name;
	enum setting_kind kind;
	size_t offset; /* in the section's struct */
	const char *preset, *example;
	int64_t minimum, maximum; /* a choice: the value of the first one */
	const char *choices;      /* "a|b" */
	unsigned flags;
	const char *help;
};

struct setting_group {
	const char *name;
	enum setting_section parent;
	bool per_pipeline; /* the struct is a config_pipeline, not the config */
	const char *help;
};

extern const struct setting settings[];
extern const size_t setting_count;
extern const struct setting_group setting_groups[SECTION_COUNT];

/* "event.max_bytes"; of the host itself: "state_dir". */
void setting_path(enum setting_section section, const char *name, char *out, size_t size);
/* "whole number", "duration", … for the manual. */
const char *setting_kind_name(enum setting_kind kind);
/* Copies choice number i into out; false: there are not so many. */
bool setting_choice(const char *choices, size_t i, char *out, size_t size);
#endif
