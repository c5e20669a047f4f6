#include "core/main/dlq.h"
#include "core/db/schema.h"
#include "core/kafka/client.h"
#include "core/main/dlq_print.h"
#include <stdlib.h>

/* ---- opening ---- */

static bool open_letters(struct dlq *dlq, struct error *error)
{
	struct config_properties properties;

	config_consumer_properties(dlq->ctl->config, dlq->pipeline, &properties);
	struct kafka_property *list = kafka_properties_create(&properties);
	const struct dead_letters_options options = {
	        .pipeline = dlq->pipeline,
	        .properties = list,
	        .property_count = properties.count,
	        .filter = &dlq->arguments.filter,
	};
	dlq->letters = dead_letters_open(&options, error);
	free(list);
	config_properties_done(&properties);
	return dlq->letters != NULL;
}

bool dlq_open_dedup(struct dlq *dlq, struct error *error)
{
	struct dedup_options options = ctl_dedup_options(dlq->ctl, dlq->pipeline);

	dlq->pg = ctl_open_database(dlq->ctl, error);
	if (dlq->pg && schema_check(dlq->pg, options.schema, error))
		dlq->dedup = dedup_open(dlq->pg, &options, error);
	return dlq->dedup != NULL;
}

void dlq_close(struct dlq *dlq)
{
	dead_letters_close(dlq->letters);
	dedup_close(dlq->dedup);
	pg_close(dlq->pg);
}

int dlq_open(const struct ctl *ctl, int64_t default_limit, struct dlq *dlq)
{
	struct error error;

	*dlq = (struct dlq){.ctl = ctl, .pipeline = ctl_find_pipeline(ctl, ctl->dlq.pipeline)};
	if (!dlq->pipeline)
		return CTL_NO;
	if (!dlq_arguments_read(&ctl->dlq, default_limit, &dlq->arguments, &error)) {
		ctl_fail(&error);
		return CTL_USAGE;
	}
	return open_letters(dlq, &error) ? CTL_OK : ctl_fail(&error);
}

/* ---- claims ---- */

struct dedup_key dlq_key_of(const struct event *event)
{
	return (struct dedup_key){
	        .business_key = event->business_key,
	        .id = {(const char *)event->id.byte, sizeof(event->id.byte)},
	        .time_ms = uuid_version(&event->id) == 7 ? uuid_time_ms(&event->id) : -1,
	        .content_hash = event->content_hash,
	};
}

const char *dlq_word_of_claim(struct dlq *dlq, const struct event *event)
{
	static const char *const words[] = {[DEDUP_CLAIM_NONE] = "no",
	                                    [DEDUP_CLAIM_MADE] = "yes",
	                                    [DEDUP_CLAIM_SAME] = "yes",
	                                    [DEDUP_CLAIM_OTHER] = "other",
	                                    [DEDUP_CLAIM_TOO_NEW] = "too-new"};
	struct dedup_key key = dlq_key_of(event);
	enum dedup_claim claim;

	if (!dlq->dedup || !event->has_id)
		return NULL;
	if (!dedup_look_up_key(dlq->dedup, dlq->pg, &key, &claim, &dlq->error))
		return NULL;
	return words[claim];
}

/* ---- the walk ---- */

bool dlq_is_within_limit(const struct dlq *dlq)
{
	return dlq->arguments.limit == 0 || dlq->matched < (size_t)dlq->arguments.limit;
}

int dlq_walk(struct dlq *dlq, dead_letters_visit *visit)
{
	struct error error;

	if (!dead_letters_each(dlq->letters, visit, dlq, &error))
		return ctl_fail(&error);
	return dlq->error.code ? ctl_fail(&dlq->error) : CTL_OK;
}

void dlq_print_row(struct dlq *dlq, const struct dead_letter *letter, const char *claimed)
{
	if (dlq->ctl->json) {
		fputs(dlq->printed ? ",\n" : "\n", stdout);
		dlq_print_json(letter, claimed, false, stdout);
	} else {
		if (dlq->printed == 0)
			dlq_print_head(stdout);
		dlq_print_line(letter, claimed ? claimed : "-", stdout);
	}
	dlq->printed++;
}
