/* idemctl dlq: looking at dead letters, sending them again, giving them up. */
#include "core/kafka/client.h"
#include "core/main/dlq.h"
#include "core/main/dlq_print.h"
#include "core/retry/replay.h"
#include "core/retry/router.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIST_LIMIT 100

/* ---- list ---- */

/* By the words of dlq_word_of_claim; what is not known may be open. */
static bool is_open(const char *claimed)
{
	return !claimed || strcmp(claimed, "no") == 0 || strcmp(claimed, "too-new") == 0;
}

static bool list_letter(void *self, const struct dead_letter *letter)
{
	struct dlq *dlq = self;
	bool is_shown = dlq_is_within_limit(dlq);
	const char *claimed = is_shown || dlq->ctl->dlq.open ? dlq_word_of_claim(dlq, letter->event) : NULL;

	if (dlq->error.code)
		return false;
	if (dlq->ctl->dlq.open && !is_open(claimed))
		return true;
	if (is_shown)
		dlq_print_row(dlq, letter, claimed);
	dlq->matched++;
	return true;
}

static void print_list_end(const struct dlq *dlq)
{
	size_t others = dlq->letters ? dead_letters_of_others(dlq->letters) : 0;

	if (dlq->ctl->json) {
		printf("%s],\"matched\":%zu,\"from\":\"%s\"}\n", dlq->printed ? "\n" : "", dlq->matched,
		       dlq->index ? "index" : "topic");
		return;
	}
	printf("%zu dead letter%s%s\n", dlq->matched, dlq->matched == 1 ? "" : "s",
	       dlq->printed < dlq->matched ? ", not all of them shown: see --limit" : "");
	if (others)
		printf("%zu records of other groups in topic %s left out\n", others, dlq->pipeline->dlq_topic);
}

int ctl_dlq_list(const struct ctl *ctl)
{
	struct dlq dlq;
	int status = dlq_open(ctl, LIST_LIMIT, &dlq);

	if (status == CTL_OK)
		status = dlq_open_index_or_topic(&dlq);
	if (status == CTL_OK) {
		if (ctl->json)
			fputs("{\"dead_letters\":[", stdout);
		status = dlq_walk(&dlq, list_letter);
	}
	if (status == CTL_OK)
		print_list_end(&dlq);
	dlq_close(&dlq);
	return status;
}

/* ---- show ---- */

static void print_hint(const struct dlq *dlq, const struct dead_letter *letter)
{
	const char *file = dlq->ctl->config->file, *group = dlq->pipeline->name;

	if (letter->event->has_uuid && bytes_equal_string(letter->reason, "id_too_old"))
		printf("to do         if you know that it was not applied:\n"
		       "                idemctl -c %s dedup release %s %s\n"
		       "                idemctl -c %s dlq replay --pipeline %s --id %s\n",
		       file, group, letter->event->id_text.ptr, file, group, letter->event->id_text.ptr);
	if (!letter->event->has_id)
		printf("to do         it has no id that could be claimed: it can be replayed, but not discarded\n");
}

static bool show_letter(void *self, const struct dead_letter *letter)
{
	struct dlq *dlq = self;
	struct bytes payload = letter->event->record.value;
	const char *claimed;

	if (dlq->ctl->dlq.raw) {
		fwrite(payload.ptr, 1, payload.len, stdout);
		return true;
	}
	claimed = dlq_word_of_claim(dlq, letter->event);
	if (dlq->error.code)
		return false;
	if (dlq->ctl->json) {
		dlq_print_json(letter, claimed, true, stdout);
		putchar('\n');
	} else {
		dlq_print_whole(letter, claimed ? claimed : "-", stdout);
		print_hint(dlq, letter);
	}
	return true;
}

static int nothing_matches(const struct dlq *dlq)
{
	fprintf(stderr, "idemctl: no dead letter in topic %s matches\n", dlq->pipeline->dlq_topic);
	return CTL_NO;
}

static bool count_letter(void *self, const struct dead_letter *letter)
{
	(void)letter;
	((struct dlq *)self)->matched++;
	return true;
}

static int is_one(const struct dlq *dlq)
{
	if (dlq->matched == 1)
		return CTL_OK;
	if (dlq->matched == 0)
		return nothing_matches(dlq);
	fprintf(stderr, "idemctl: %zu dead letters match, show takes one: see dlq list, then --at\n", dlq->matched);
	return CTL_NO;
}

static int show_from_index(struct dlq *dlq)
{
	int status = dlq_choose(dlq);

	if (status == CTL_OK)
		status = is_one(dlq);
	if (status == CTL_OK)
		status = dlq_open_topic(dlq, false);
	if (status == CTL_OK)
		status = dlq_walk_chosen(dlq, show_letter);
	return status == CTL_OK && dlq->gone ? CTL_NO : status;
}

static int show_from_topic(struct dlq *dlq)
{
	int status = dlq_walk(dlq, count_letter);

	if (status == CTL_OK)
		status = is_one(dlq);
	return status == CTL_OK ? dlq_walk(dlq, show_letter) : status;
}

int ctl_dlq_show(const struct ctl *ctl)
{
	struct dlq dlq;
	int status = dlq_open(ctl, 0, &dlq);

	if (status == CTL_OK)
		status = dlq_open_index_or_topic(&dlq);
	if (status == CTL_OK)
		status = dlq.index ? show_from_index(&dlq) : show_from_topic(&dlq);
	dlq_close(&dlq);
	return status;
}

/* ---- replay and discard ---- */

static bool names_some(const struct ctl_dlq *given)
{
	return given->id_count || given->reason || given->origin || given->since || given->until || given->at;
}

static int open_chosen(const struct ctl *ctl, struct dlq *dlq)
{
	if (names_some(&ctl->dlq) || ctl->dlq.all)
		return dlq_open(ctl, 0, dlq);
	*dlq = (struct dlq){.ctl = ctl};
	fprintf(stderr,
	        "idemctl: say which dead letters: --id, --reason, --origin, --at, --since, --until, or --all\n");
	return CTL_USAGE;
}

/* Nothing to do is what --all may find; what was named should be there. */
static bool found_nothing(const struct dlq *dlq)
{
	return dlq->matched == 0 && !dlq->ctl->dlq.all;
}

/* Said once: by the JSON or the line of the work, or, when there was none, by this. */
static int status_of_work(const struct dlq *dlq, bool good)
{
	if (found_nothing(dlq))
		return nothing_matches(dlq);
	return good ? CTL_OK : CTL_NO;
}

static bool list_to_replay(void *self, const struct dead_letter *letter)
{
	struct dlq *dlq = self;

	if (!dlq_is_within_limit(dlq))
		return false;
	dlq->matched++;
	dlq_print_row(dlq, letter, dlq_word_of_claim(dlq, letter->event));
	return !dlq->error.code;
}

static bool replay_letter(void *self, const struct dead_letter *letter)
{
	struct dlq *dlq = self;

	replay_send(dlq->replay, letter);
	return !dlq->error.code;
}

static void note_done(void *self, int32_t partition, int64_t offset)
{
	struct dlq *dlq = self;

	if (!dlq_mark(dlq, "replayed", (struct letter_place){partition, offset}, &dlq->error))
		fprintf(stderr, "idemctl: %s\n", dlq->error.text);
}

static void tell_failed(void *self, int32_t partition, int64_t offset, const struct error *error)
{
	(void)self;
	fprintf(stderr, "idemctl: dead letter %d/%" PRId64 " was not replayed: %s\n", partition, offset, error->text);
}

static int dry_run(struct dlq *dlq, dead_letters_visit *visit, const char *verb)
{
	int status;

	if (dlq->ctl->json)
		fputs("{\"dead_letters\":[", stdout);
	status = dlq_walk(dlq, visit);
	if (status != CTL_OK)
		return status;
	if (dlq->ctl->json)
		printf("%s],\"matched\":%zu,\"dry_run\":true}\n", dlq->printed ? "\n" : "", dlq->matched);
	else if (!found_nothing(dlq))
		printf("would %s %zu dead letter%s; nothing was changed\n", verb, dlq->matched,
		       dlq->matched == 1 ? "" : "s");
	return status_of_work(dlq, true);
}

static bool start_replay(struct dlq *dlq, struct error *error)
{
	struct config_properties properties;

	config_producer_properties(dlq->ctl->config, dlq->pipeline, &properties);
	struct kafka_property *list = kafka_properties_create(&properties);
	const struct replay_options options = {
	        .pipeline = dlq->pipeline,
	        .properties = list,
	        .property_count = properties.count,
	        .per_second = dlq->arguments.per_second,
	        .self = dlq,
	        .on_done = note_done,
	        .on_failed = tell_failed,
	};
	dlq->replay = replay_create(&options, error);
	free(list);
	config_properties_done(&properties);
	return dlq->replay != NULL;
}

static int send_chosen(struct dlq *dlq, struct replay_count *out_count)
{
	struct error error;
	int status = dlq_open_topic(dlq, false);

	if (status != CTL_OK)
		return status;
	if (!start_replay(dlq, &error))
		return ctl_fail(&error);
	status = dlq_walk_chosen(dlq, replay_letter);
	*out_count = replay_finish(dlq->replay);
	if (!dlq_mark_flush(dlq, "replayed", &error))
		return ctl_fail(&error);
	return status;
}

static int replay(struct dlq *dlq)
{
	struct replay_count count = {0};
	char topic[256];
	int status = dlq_choose(dlq);

	if (status == CTL_OK && dlq->matched > 0)
		status = send_chosen(dlq, &count);
	count.failed += dlq->gone;
	router_replay_topic(dlq->pipeline, topic, sizeof(topic));
	if (dlq->ctl->json)
		printf("{\"matched\":%zu,\"done\":%zu,\"failed\":%zu}\n", dlq->matched, count.done, count.failed);
	else if (!found_nothing(dlq))
		printf("replayed %zu of %zu to topic %s, %zu failed; what was applied before ends there as a "
		       "duplicate\n",
		       count.done, dlq->matched, topic, count.failed);
	return status == CTL_OK ? status_of_work(dlq, count.failed == 0) : status;
}

int ctl_dlq_replay(const struct ctl *ctl)
{
	struct dlq dlq;
	int status = open_chosen(ctl, &dlq);

	if (status == CTL_OK)
		status = dlq_open_index(&dlq);
	if (status == CTL_OK)
		status = ctl->dlq.dry_run ? dry_run(&dlq, list_to_replay, "replay") : replay(&dlq);
	dlq_close(&dlq);
	return status;
}

/* ---- discard ---- */

static void tell_impossible(struct dlq *dlq, const struct event *event, const char *why)
{
	dlq->impossible++;
	fprintf(stderr, "idemctl: dead letter %d/%" PRId64 " can't be discarded: %s\n", event->record.partition,
	        event->record.offset, why);
}

static void count_claim(struct dlq *dlq, const struct event *event, enum dedup_claim claim)
{
	switch (claim) {
	case DEDUP_CLAIM_NONE:
	case DEDUP_CLAIM_MADE:
		dlq->claimed++;
		break;
	case DEDUP_CLAIM_SAME:
	case DEDUP_CLAIM_OTHER:
		dlq->claimed_before++;
		break;
	case DEDUP_CLAIM_TOO_NEW:
		tell_impossible(dlq, event, "the time in its id is ahead of the database's clock: later");
		break;
	}
}

static bool discard_letter(void *self, const struct dead_letter *letter)
{
	struct dlq *dlq = self;
	struct dedup_key key = dlq_key_of(letter->event);
	enum dedup_claim claim;

	if (!dlq_is_within_limit(dlq))
		return false;
	dlq->matched++;
	if (dlq->ctl->dlq.dry_run) {
		dlq_print_row(dlq, letter, dlq_word_of_claim(dlq, letter->event));
		return !dlq->error.code;
	}
	if (!letter->event->has_id) {
		tell_impossible(dlq, letter->event, "it has no id that could be claimed; a copy of it dies again");
		return true;
	}
	if (!dedup_claim_key(dlq->dedup, dlq->pg, &key, &claim, &dlq->error))
		return false;
	count_claim(dlq, letter->event, claim);
	struct letter_place place = {letter->event->record.partition, letter->event->record.offset};
	return claim == DEDUP_CLAIM_TOO_NEW || dlq_mark(dlq, "discarded", place, &dlq->error);
}

static int discard(struct dlq *dlq)
{
	struct error error;
	int status = dlq_walk(dlq, discard_letter);

	if (!dlq_mark_flush(dlq, "discarded", &error))
		status = ctl_fail(&error);
	if (dlq->ctl->json)
		printf("{\"matched\":%zu,\"discarded\":%zu,\"claimed_before\":%zu,\"impossible\":%zu}\n", dlq->matched,
		       dlq->claimed, dlq->claimed_before, dlq->impossible);
	else if (!found_nothing(dlq))
		printf("discarded %zu of %zu; %zu were processed or discarded before, %zu can't be\n", dlq->claimed,
		       dlq->matched, dlq->claimed_before, dlq->impossible);
	return status == CTL_OK ? status_of_work(dlq, dlq->impossible == 0) : status;
}

int ctl_dlq_discard(const struct ctl *ctl)
{
	struct dlq dlq;
	int status = open_chosen(ctl, &dlq);

	if (status == CTL_OK)
		status = dlq_open_index(&dlq);
	if (status == CTL_OK)
		status = ctl->dlq.dry_run ? dry_run(&dlq, discard_letter, "discard") : discard(&dlq);
	dlq_close(&dlq);
	return status;
}
