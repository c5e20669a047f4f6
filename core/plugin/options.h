/* Options of a plugin: the strings of the configuration, read by the types of the table the plugin declares. */
#ifndef IDEM_PLUGIN_OPTIONS_H
#define IDEM_PLUGIN_OPTIONS_H
#include "core/config/config.h"
#include <idem/plugin.h>

enum option_type {
	OPTION_STRING,
	OPTION_INT,
	OPTION_REAL,
	OPTION_BOOL,
	OPTION_DURATION,
	OPTION_SIZE,
	OPTION_SECRET,
	OPTION_LIST
};

struct option {
	const struct idem_option *row; /* the plugin's */
	enum option_type type;
	bool is_set;     /* configured, or by its preset */
	char *text;      /* as written */
	int64_t integer; /* INT; BOOL 0/1; DURATION in ms; SIZE in bytes */
	double real;     /* REAL */
	char **items;    /* LIST: one property each; a preset is separated by commas */
	size_t item_count;
};
struct options {
	struct option *items;
	size_t count;
};

/* table NULL: no options.  Refused: a bad table (names, types, presets), an option that is not in it (the nearest name
 * is suggested), a value that is not of its type.  Values of secrets are never part of a message.  [main] */
bool options_init(struct options *options, const struct idem_option *table, const struct config_properties *given,
                  struct error *error) MUST_CHECK;
void options_done(struct options *options);                                         /* also of a failed or zeroed one */
const struct option *options_find(const struct options *options, const char *name); /* NULL: not declared */
#endif
