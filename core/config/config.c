#include "core/config/config.h"
#include "core/base/assert.h"
#include "core/config/check.h"
#include "core/config/includes.h"
#include "core/config/reader.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void parse(struct reader *reader, const char *text)
{
	config_t tree;

	config_init(&tree);
	config_set_include_dir(&tree, reader->folder);
	if (config_read_string(&tree, text)) {
		reader_read(reader, config_root_setting(&tree));
		check_config(reader, config_root_setting(&tree));
	} else {
		report_error(reader->report, (struct report_place){config_error_file(&tree), config_error_line(&tree)},
		             "%s", config_error_text(&tree));
	}
	config_destroy(&tree);
}

static void load(struct reader *reader, int fd)
{
	struct error error;
	char *text = includes_read_text(fd, &reader->config->arena, &error);

	if (!text) {
		report_error(reader->report, (struct report_place){NULL, 0}, "%s", error.text);
		return;
	}
	kafka_names_load(&reader->config->arena, &reader->kafka_names);
	includes_check(reader, text);
	if (reader->report->error_count == 0)
		parse(reader, text);
	explicit_bzero(text, strlen(text));
}

/* The absolute folder of path; "." when it can't be told. */
static const char *folder_of(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? arena_string(arena, (struct bytes){path, (size_t)(slash - path) + 1})
	                     : arena_printf(arena, ".");
	char *absolute = realpath(folder, NULL);

	if (absolute)
		folder = arena_printf(arena, "%s", absolute);
	free(absolute);
	return folder;
}

static void config_begin(struct config *config, struct config_report *report)
{
	report_init(report);
	*config = (struct config){.file = NULL};
	arena_init(&config->arena, 16384);
}

static void warn_of_readers(const struct reader *reader, int fd)
{
	struct stat status;

	if (reader->has_inline_secrets && fstat(fd, &status) == 0 && status.st_mode & S_IROTH)
		report_warning(
		        reader->report, (struct report_place){NULL, 0},
		        "holds secrets and everybody can read it; chmod o-r, or keep them in files of their own");
}

static bool load_path(struct reader *reader, const char *path)
{
	struct config *config = reader->config;
	int fd;

	config_begin(config, reader->report);
	config->file = arena_printf(&config->arena, "%s", path);
	reader->folder = folder_of(path, &config->arena);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		report_error(reader->report, (struct report_place){NULL, 0}, "can't be opened: %s", strerror(errno));
		return false;
	}
	load(reader, fd);
	warn_of_readers(reader, fd);
	close(fd);
	report_sort(reader->report);
	return reader->report->error_count == 0;
}

bool config_load(const char *path, struct config *out_config, struct config_report *out_report)
{
	struct reader reader = {.config = out_config, .report = out_report, .looks_at_files = true};

	return load_path(&reader, path);
}

bool config_load_database(const char *path, struct config *out_config, struct config_report *out_report)
{
	struct reader reader = {
	        .config = out_config, .report = out_report, .looks_at_files = true, .database_only = true};

	return load_path(&reader, path);
}

bool config_load_fd(int fd, struct config *out_config, struct config_report *out_report)
{
	struct reader reader = {.config = out_config, .report = out_report, .folder = "."};

	config_begin(out_config, out_report);
	load(&reader, fd);
	report_sort(out_report);
	return out_report->error_count == 0;
}

void config_done(struct config *config)
{
	arena_done(&config->arena);
	*config = (struct config){.file = NULL};
}

const struct config_pipeline *config_find_pipeline(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->pipeline_count; i++)
		if (config->pipelines[i].name && strcmp(config->pipelines[i].name, name) == 0)
			return &config->pipelines[i];
	return NULL;
}
