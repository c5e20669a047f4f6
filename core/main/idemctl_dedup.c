/* idemctl dedup: what the groups remember, and forgetting by hand. */
#include "core/db/dedup_print.h"
#include "core/main/idemctl.h"
#include <string.h>

static int print_status(const struct ctl *ctl, struct pg *pg)
{
	const char *group = ctl->word_count ? ctl->words[0] : NULL;
	struct error error;

	return dedup_print_status(pg, ctl->config->database.schema, group, ctl->json, stdout, &error)
	               ? CTL_OK
	               : ctl_fail(&error);
}

int ctl_dedup_status(const struct ctl *ctl)
{
	return ctl_with_database(ctl, print_status);
}

static int expire_one(const struct ctl *ctl, struct pg *pg, const struct config_pipeline *pipeline)
{
	struct dedup_options options = {
	        .schema = ctl->config->database.schema,
	        .group = pipeline->name,
	        .retention_ms = pipeline->dedup.retention_ms,
	        .day_ms = pipeline->dedup.day_ms,
	        .max_future_ms = pipeline->event.max_future_ms,
	};
	struct error error;

	return dedup_print_expire(pg, &options, ctl->json, stdout, &error) ? CTL_OK : ctl_fail(&error);
}

/* Of the pipeline that was named, or of all. */
static int expire(const struct ctl *ctl, struct pg *pg)
{
	int status, worst = CTL_OK;

	for (size_t i = 0; i < ctl->config->pipeline_count; i++) {
		const struct config_pipeline *pipeline = &ctl->config->pipelines[i];

		if (ctl->word_count && strcmp(ctl->words[0], pipeline->name) != 0)
			continue;
		status = expire_one(ctl, pg, pipeline);
		worst = status > worst ? status : worst;
	}
	return worst;
}

int ctl_dedup_expire(const struct ctl *ctl)
{
	if (ctl->word_count && !config_find_pipeline(ctl->config, ctl->words[0])) {
		fprintf(stderr, "idemctl: %s has no pipeline %s\n", ctl->config->file, ctl->words[0]);
		return CTL_NO;
	}
	return ctl_with_database(ctl, expire);
}
