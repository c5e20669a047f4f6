/* idemctl dedup: what the groups remember, and forgetting by hand. */
#include "core/db/dedup_claim.h"
#include "core/db/dedup_print.h"
#include "core/db/schema.h"
#include "core/event/uuid.h"
#include "core/main/idemctl.h"
#include <string.h>

/* Else a table that is missing is all that is told. */
static bool has_schema(const struct ctl *ctl, struct pg *pg, int *out_status)
{
	struct error error;

	if (schema_check(pg, ctl->config->database.schema, &error))
		return true;
	*out_status = ctl_fail(&error);
	return false;
}

static int print_status(const struct ctl *ctl, struct pg *pg)
{
	const char *group = ctl->word_count ? ctl->words[0] : NULL;
	struct error error;
	int status;

	if (!has_schema(ctl, pg, &status))
		return status;
	return dedup_print_status(pg, ctl->config->database.schema, group, ctl->json, stdout, &error)
	               ? CTL_OK
	               : ctl_fail(&error);
}

int ctl_dedup_status(const struct ctl *ctl)
{
	return ctl_with_database(ctl, print_status);
}

struct dedup_options ctl_dedup_options(const struct ctl *ctl, const struct config_pipeline *pipeline)
{
	return (struct dedup_options){
	        .schema = ctl->config->database.schema,
	        .group = pipeline->name,
	        .retention_ms = pipeline->dedup.retention_ms,
	        .day_ms = pipeline->dedup.day_ms,
	        .max_future_ms = pipeline->event.max_future_ms,
	};
}

static int expire_one(const struct ctl *ctl, struct pg *pg, const struct config_pipeline *pipeline)
{
	struct dedup_options options = ctl_dedup_options(ctl, pipeline);
	struct error error;

	return dedup_print_expire(pg, &options, ctl->json, stdout, &error) ? CTL_OK : ctl_fail(&error);
}

/* Of the pipeline that was named, or of all. */
static int expire(const struct ctl *ctl, struct pg *pg)
{
	int status, worst = CTL_OK;

	if (!has_schema(ctl, pg, &status))
		return status;
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
	if (ctl->word_count && !ctl_find_pipeline(ctl, ctl->words[0]))
		return CTL_NO;
	return ctl_with_database(ctl, expire);
}

/* ---- release ---- */

static bool is_too_old(struct dedup *dedup, const struct uuid *id)
{
	const struct dedup_table *table;

	return uuid_version(id) == 7 && dedup_place(dedup, uuid_time_ms(id), &table) == DEDUP_ID_TOO_OLD;
}

static bool release_id(struct dedup *dedup, struct pg *pg, const struct uuid *id, struct error *error)
{
	struct dedup_key key = {
	        .id = {(const char *)id->byte, sizeof(id->byte)},
	        .time_ms = uuid_version(id) == 7 ? uuid_time_ms(id) : -1,
	};
	enum dedup_claim claim;
	char text[UUID_TEXT_BYTES];

	uuid_to_text(id, text);
	if (!is_too_old(dedup, id))
		return error_set(
		        error, ERROR_INVALID,
		        "event %s is not too old: whether it was processed is known, a replay needs no release", text);
	if (!dedup_look_up_key(dedup, pg, &key, &claim, error))
		return false;
	if (claim != DEDUP_CLAIM_NONE)
		return error_set(error, ERROR_INVALID,
		                 "event %s is claimed: it was released and processed before, or discarded", text);
	return dedup_allow_old(dedup, pg, text, error);
}

static int release(const struct ctl *ctl, struct pg *pg)
{
	const struct config_pipeline *pipeline = ctl_find_pipeline(ctl, ctl->words[0]);
	struct dedup_options options = ctl_dedup_options(ctl, pipeline);
	struct error error;
	struct uuid id;
	struct dedup *dedup;
	bool released;
	int status;

	if (!has_schema(ctl, pg, &status))
		return status;
	if (!uuid_from_text(bytes_from_string(ctl->words[1]), &id)) {
		fprintf(stderr, "idemctl: \"%s\" is no event id\n", ctl->words[1]);
		return CTL_NO;
	}
	dedup = dedup_open(pg, &options, &error);
	if (!dedup)
		return ctl_fail(&error);
	released = release_id(dedup, pg, &id, &error);
	dedup_close(dedup);
	if (!released)
		return ctl_fail(&error);
	if (ctl->json)
		printf("{\"released\":true}\n");
	else
		printf("released: it is applied once when it comes again; now: idemctl -c %s dlq replay --pipeline %s "
		       "--id "
		       "%s\n",
		       ctl->config->file, pipeline->name, ctl->words[1]);
	return CTL_OK;
}

int ctl_dedup_release(const struct ctl *ctl)
{
	return ctl_find_pipeline(ctl, ctl->words[0]) ? ctl_with_database(ctl, release) : CTL_NO;
}
