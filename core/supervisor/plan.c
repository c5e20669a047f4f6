#include "core/supervisor/plan.h"
#include "core/base/assert.h"
#include "core/config/report.h"
#include "core/plugin/plugin.h"
#include "core/supervisor/supervisor.h"
#include <dirent.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *copy_string(const char *text)
{
	char *copy = strdup(text);

	ASSERT(copy);
	return copy;
}

static bool print_config(const struct config *config, const char *name, char **out_text, struct error *error)
{
	size_t len;
	FILE *out = open_memstream(out_text, &len);
	bool good;

	ASSERT(out);
	good = config_print(config, name, true, out, error);
	ASSERT(fclose(out) == 0);
	return good;
}

/* The copy is what runs: the file may have changed since it was checked. */
static bool stage(const struct config_plugin *plugin, const char *directory, char (*out_staged)[PATH_MAX],
                  struct plugin_metadata *out_metadata, struct error *error)
{
	return plugin_stage(plugin->file, directory, *out_staged, sizeof(*out_staged), error) &&
	       plugin_inspect(*out_staged, plugin->sha256, out_metadata, error);
}

/* The child reads the folder when it starts: a file more, less or changed there is a change of the plan. */
static char *describe_schemas(const char *folder)
{
	struct dirent **entries = NULL;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int count = folder ? scandir(folder, &entries, NULL, alphasort) : 0;

	ASSERT(out);
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		struct stat status;

		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
			fprintf(out, "%s %lld %lld.%09ld\n", entries[i]->d_name, (long long)status.st_size,
			        (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
		free(entries[i]);
	}
	free(entries);
	ASSERT(fclose(out) == 0);
	return text;
}

static bool plan_make(const struct config *config, const struct config_pipeline *pipeline, struct child_plan *plan,
                      struct error *error)
{
	char directory[PATH_MAX], staged[PATH_MAX];
	struct plugin_metadata metadata = {0};
	struct error refusal;

	if ((size_t)snprintf(directory, sizeof(directory), "%s/plugins", config->state_dir) >= sizeof(directory))
		return error_set(error, ERROR_CONFIG, "state_dir: the path is too long");
	if (!stage(&pipeline->plugin, directory, &staged, &metadata, &refusal)) {
		plan->refusal = copy_string(refusal.text);
		snprintf(staged, sizeof(staged), "%s", pipeline->plugin.file);
	}
	plan->name = copy_string(pipeline->name);
	plan->plugin_path = copy_string(staged);
	plan->plugin_name = copy_string(metadata.name);
	plan->plugin_version = copy_string(metadata.version);
	plan->schemas = describe_schemas(pipeline->event.schemas);
	plan->memory_max_bytes = pipeline->memory_max;
	return print_config(config, pipeline->name, &plan->text, error);
}

bool child_plans_make(const struct config *config, struct child_plans *out_plans, struct error *error)
{
	struct child_plans plans = {calloc(config->pipeline_count + 1, sizeof(*plans.items)), config->pipeline_count};

	ASSERT(plans.items);
	for (size_t i = 0; i < plans.count; i++)
		if (!plan_make(config, &config->pipelines[i], &plans.items[i], error)) {
			child_plans_done(&plans);
			return error_wrap(error, "pipeline %s", config->pipelines[i].name);
		}
	*out_plans = plans;
	return true;
}

bool child_plan_equal(const struct child_plan *a, const struct child_plan *b)
{
	return strcmp(a->text, b->text) == 0 && strcmp(a->plugin_path, b->plugin_path) == 0 &&
	       strcmp(a->schemas, b->schemas) == 0;
}

struct child_plan *child_plans_find(const struct child_plans *plans, const char *name)
{
	for (size_t i = 0; i < plans->count; i++)
		if (plans->items[i].name && strcmp(plans->items[i].name, name) == 0)
			return &plans->items[i];
	return NULL;
}

const char *child_plans_refusal(const struct child_plans *plans)
{
	for (size_t i = 0; i < plans->count; i++)
		if (plans->items[i].refusal)
			return plans->items[i].refusal;
	return NULL;
}

struct child_plan child_plan_take(struct child_plan *plan)
{
	struct child_plan taken = *plan;

	*plan = (struct child_plan){0};
	return taken;
}

void child_plan_done(struct child_plan *plan)
{
	if (plan->text)
		OPENSSL_cleanse(plan->text, strlen(plan->text));
	free(plan->text);
	free(plan->name);
	free(plan->plugin_path);
	free(plan->plugin_name);
	free(plan->plugin_version);
	free(plan->schemas);
	free(plan->refusal);
	*plan = (struct child_plan){0};
}

void child_plans_done(struct child_plans *plans)
{
	for (size_t i = 0; i < plans->count; i++)
		child_plan_done(&plans->items[i]);
	free(plans->items);
	*plans = (struct child_plans){0};
}

void supervisor_check_plugins(const struct config *config, struct config_report *report)
{
	for (size_t i = 0; i < config->pipeline_count; i++) {
		const struct config_pipeline *pipeline = &config->pipelines[i];
		struct plugin_metadata metadata;
		struct error error;

		if (!plugin_inspect(pipeline->plugin.file, pipeline->plugin.sha256, &metadata, &error) ||
		    !plugin_try(pipeline, &error))
			report_error(report, (struct report_place){.line = pipeline->plugin.line}, "pipeline %s: %s",
			             pipeline->name, error.text);
	}
	report_sort(report);
}
