/* A folder with a configuration file and what it may name: p.so, schemas/, secret. */
#ifndef IDEM_TESTS_CONFIG_FILES_H
#define IDEM_TESTS_CONFIG_FILES_H
#include "core/config/config.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST_LINES                                                                                                     \
	"database = { conninfo = \"host=127.0.0.1 dbname=billing\"; };\n"                                              \
	"kafka = { bootstrap_servers = \"127.0.0.1:9092\"; };\n"
#define PIPELINE_LINES                                                                                                 \
	"pipelines = ({ name = \"billing\"; topics = [\"orders\"];\n"                                                  \
	"plugin = { file = \"p.so\"; };\n"
/* What is given stands on line 5 (in the pipeline), or on line 1 (of the host). */
#define WITH_PIPELINE(text) HOST_LINES PIPELINE_LINES text "\n});\n"
#define WITH_HOST(text) text "\n" HOST_LINES PIPELINE_LINES "});\n"

static char config_folder[] = "/tmp/idem-config-XXXXXX";
static char config_path[64];

static inline void config_file_write(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", config_folder, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static inline void config_files_setup(void)
{
	char path[128];

	ck_assert_ptr_nonnull(mkdtemp(config_folder));
	snprintf(config_path, sizeof(config_path), "%s/c", config_folder);
	snprintf(path, sizeof(path), "%s/schemas", config_folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	config_file_write("p.so", "");
	config_file_write("secret", "s3cret\n");
	snprintf(path, sizeof(path), "%s/secret", config_folder);
	ck_assert_int_eq(chmod(path, 0600), 0);
}

static inline void config_files_teardown(void)
{
	static const char *const names[] = {"c", "p.so", "secret", "more", "empty", "billing.so", "schemas"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", config_folder, names[i]);
		remove(path);
	}
	ck_assert_int_eq(rmdir(config_folder), 0);
}

/* "c:5: error: …" lines; the caller frees them. */
static inline char *config_report_text(const struct config_report *report)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	config_report_print(report, "c", memory);
	fclose(memory);
	return text;
}

/* Loads text, which must be without mistakes. */
static inline void config_load_text(const char *text, struct config *config)
{
	struct config_report report;
	char *mistakes;

	config_file_write("c", text);
	if (!config_load(config_path, config, &report)) {
		mistakes = config_report_text(&report);
		ck_abort_msg("%s", mistakes);
	}
	config_report_done(&report);
}
#endif
