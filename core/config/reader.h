/* From libconfig's tree to the typed configuration, driven by the table.  Inside config/ only. */
#ifndef IDEM_CONFIG_READER_H
#define IDEM_CONFIG_READER_H
#include "core/config/librdkafka.h"
#include "core/config/report.h"
#include "core/config/settings.h"
#include <libconfig.h>

struct reader {
	struct config *config;
	struct config_report *report;
	struct kafka_names kafka_names;
	const char *folder;  /* relative paths begin here */
	bool looks_at_files; /* false: a child's own part, in which nothing is left to read */
	bool database_only;
	bool has_inline_secrets;
};

/* Reports every mistake it finds; what is wrong keeps its default. */
void reader_read(struct reader *reader, const config_setting_t *root);

struct report_place reader_place(const config_setting_t *setting);
/* The place of a member ("retry.delays") or, when it is not written, of the group. */
struct report_place reader_member_place(const config_setting_t *group, const char *path);
/* A relative path made one from the folder of the configuration file. */
const char *reader_path(struct reader *reader, const char *path);
/* The text of a scalar, as a user would write it without quotes; into buffer when it is no string. */
const char *reader_scalar_text(const config_setting_t *setting, char *buffer, size_t size);
bool reader_is_scalar(const config_setting_t *setting);
#endif
