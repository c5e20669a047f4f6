#include "core/main/dlq.h"
#include "core/base/assert.h"
#include "core/db/schema.h"
#include "core/kafka/client.h"
#include "core/main/dlq_print.h"
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ---- */

static bool find_payload(void *self, const struct kafka_record *record, struct arena *arena, struct bytes *out_payload,
                         struct error *error)
{
	struct dlq *dlq = self;
	struct letter_place place = {record->partition, record->offset};

	return letters_payload(dlq->index, dlq->pg, place, arena, out_payload, error);
}

int dlq_open_topic(struct dlq *dlq, bool filtered)
{
	struct config_properties properties;
	struct error error;

	config_consumer_properties(dlq->ctl->config, dlq->pipeline, &properties);
	struct kafka_property *list = kafka_properties_create(&properties);
	const struct dead_letters_options options = {
	        .pipeline = dlq->pipeline,
	        .properties = list,
	        .property_count = properties.count,
	        .filter = filtered ? &dlq->arguments.filter : NULL,
	        .find_payload = dlq->index ? find_payload : NULL,
	        .self = dlq,
	};
	dlq->letters = dead_letters_open(&options, &error);
	free(list);
	config_properties_done(&properties);
	return dlq->letters ? CTL_OK : ctl_fail(&error);
}

static bool open_database(struct dlq *dlq, struct error *error)
{
	struct dedup_options options = ctl_dedup_options(dlq->ctl, dlq->pipeline);

	dlq->pg = ctl_open_database(dlq->ctl, error);
	if (dlq->pg && schema_check(dlq->pg, options.schema, error))
		dlq->dedup = dedup_open(dlq->pg, &options, error);
	if (dlq->dedup)
		dlq->index = letters_create(dlq->pg, options.schema, options.group);
	return dlq->dedup != NULL;
}

int dlq_open_index(struct dlq *dlq)
{
	struct error error;
	int status;

	if (open_database(dlq, &error))
		return CTL_OK;
	status = ctl_fail(&error);
	return dlq->pg ? status : CTL_SERVICE_MISSING;
}

int dlq_open_index_or_topic(struct dlq *dlq)
{
	struct error error;

	if (open_database(dlq, &error))
		return CTL_OK;
	fprintf(stderr, "idemctl: reading topic %s, what was claimed, replayed or discarded is not known: %s\n",
	        dlq->pipeline->dlq_topic, error.text);
	pg_close(dlq->pg);
	dlq->pg = NULL;
	return dlq_open_topic(dlq, true);
}

void dlq_close(struct dlq *dlq)
{
	dead_letters_close(dlq->letters);
	letters_destroy(dlq->index);
	dedup_close(dlq->dedup);
	pg_close(dlq->pg);
	free(dlq->chosen);
	free(dlq->marked);
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
	return CTL_OK;
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

/* The event as far as the index knows it. */
static void event_of(const struct letter *letter, const char *topic, struct kafka_header *header,
                     struct event *out_event)
{
	struct event event = {
	        .has_id = letter->key.ptr != NULL,
	        .content_hash = letter->content_hash,
	        .type = letter->type,
	        .attempt = letter->attempt,
	        .round = letter->round,
	        .record = {topic, letter->partition, letter->offset, letter->died_ms, .headers = header},
	        .origin_topic = letter->origin_topic,
	        .origin_partition = letter->origin_partition,
	        .origin_offset = letter->origin_offset,
	        .origin_timestamp_ms = letter->origin_ms,
	};

	event.has_uuid = letter->uuid.ptr && uuid_from_text(letter->uuid, &event.id);
	if (event.has_uuid)
		event.id_text = letter->uuid;
	if (letter->key.ptr && !bytes_equal(letter->key, letter->uuid))
		event.business_key = letter->key;
	*header = (struct kafka_header){bytes_from_string(HEADER_EVENT_ID), letter->given_id};
	event.record.header_count = letter->given_id.ptr != NULL;
	*out_event = event;
}

static bool visit_row(void *self, const struct letter_row *row)
{
	struct dlq *dlq = self;
	struct event event;
	struct kafka_header header;

	event_of(&row->letter, dlq->pipeline->dlq_topic, &header, &event);
	const struct dead_letter letter = {
	        .event = &event,
	        .reason = row->letter.reason,
	        .error_text = row->letter.error_text.len ? row->letter.error_text : BYTES_NONE,
	        .copies = row->copies,
	        .state = row->state,
	};
	return dlq->visit(dlq, &letter);
}

static bool ask_index(struct dlq *dlq, letters_visit *visit, struct error *error)
{
	const struct dead_letter_filter *given = &dlq->arguments.filter;
	const struct letter_filter filter = {
	        .ids = given->ids,
	        .id_count = given->id_count,
	        .reason = given->reason,
	        .origin_topic = given->origin_topic,
	        .origin_partition = given->origin_partition,
	        .origin_offset = given->origin_offset,
	        .partition = given->partition,
	        .offset = given->offset,
	        .since_ms = given->since_ms,
	        .until_ms = given->until_ms,
	        .open = dlq->ctl->dlq.open,
	};

	return letters_each(dlq->index, dlq->pg, &filter, visit, dlq, error);
}

int dlq_walk(struct dlq *dlq, dead_letters_visit *visit)
{
	struct error error;

	dlq->visit = visit;
	if (dlq->index ? !ask_index(dlq, visit_row, &error) : !dead_letters_each(dlq->letters, visit, dlq, &error))
		return ctl_fail(&error);
	return dlq->error.code ? ctl_fail(&dlq->error) : CTL_OK;
}

/* ---- choosing, and what is chosen whole ---- */

/* A row's state, for longer than the row. */
static const char *kept_state(const char *state)
{
	static const char *const states[] = {"open", "replayed", "discarded"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(state, states[i]) == 0)
			return states[i];
	return NULL;
}

static bool choose_row(void *self, const struct letter_row *row)
{
	struct dlq *dlq = self;

	if (!dlq_is_within_limit(dlq))
		return false;
	if (dlq->matched % 1024 == 0) {
		dlq->chosen = realloc(dlq->chosen, (dlq->matched + 1024) * sizeof(*dlq->chosen));
		ASSERT(dlq->chosen);
	}
	dlq->chosen[dlq->matched++] =
	        (struct dlq_place){.place = {row->letter.partition, row->letter.offset, row->letter.died_ms},
	                           .copies = row->copies,
	                           .state = kept_state(row->state)};
	return true;
}

int dlq_choose(struct dlq *dlq)
{
	struct error error;

	if (!ask_index(dlq, choose_row, &error))
		return ctl_fail(&error);
	dlq->chosen_count = dlq->matched;
	return CTL_OK;
}

static int compare_places(const void *left, const void *right)
{
	const struct kafka_place *a = &((const struct dlq_place *)left)->place,
	                         *b = &((const struct dlq_place *)right)->place;

	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static bool visit_chosen(void *self, const struct dead_letter *letter)
{
	struct dlq *dlq = self;
	const struct dlq_place key = {.place = {letter->event->record.partition, letter->event->record.offset, -1}};
	struct dlq_place *chosen = bsearch(&key, dlq->chosen, dlq->chosen_count, sizeof(*dlq->chosen), compare_places);
	struct dead_letter known = *letter;

	ASSERT(chosen);
	chosen->is_found = true;
	known.copies = chosen->copies;
	known.state = chosen->state;
	return dlq->visit(dlq, &known);
}

static void tell_gone(struct dlq *dlq)
{
	for (size_t i = 0; i < dlq->chosen_count; i++) {
		const struct kafka_place *place = &dlq->chosen[i].place;

		if (dlq->chosen[i].is_found)
			continue;
		dlq->gone++;
		fprintf(stderr, "idemctl: dead letter %d/%" PRId64 " is not in topic %s any more: see dlq index\n",
		        place->partition, place->offset, dlq->pipeline->dlq_topic);
	}
}

int dlq_walk_chosen(struct dlq *dlq, dead_letters_visit *visit)
{
	struct kafka_place *places = calloc(dlq->chosen_count + 1, sizeof(*places));
	struct error error;
	bool is_fine;

	ASSERT(places);
	for (size_t i = 0; i < dlq->chosen_count; i++)
		places[i] = dlq->chosen[i].place;
	dlq->visit = visit;
	is_fine = dead_letters_pick(dlq->letters, places, dlq->chosen_count, visit_chosen, dlq, &error);
	free(places);
	if (!is_fine)
		return ctl_fail(&error);
	if (dlq->error.code)
		return ctl_fail(&dlq->error);
	tell_gone(dlq);
	return CTL_OK;
}

/* ---- what was done ---- */

#define MARKS_MAX 1000 /* noted at once */

/* Who runs this, for the next who looks. */
static void name_actor(char *out, size_t size)
{
	char host[256] = "";
	const struct passwd *user = getpwuid(geteuid());

	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	snprintf(out, size, "%s@%s", user ? user->pw_name : "?", host);
}

bool dlq_mark_flush(struct dlq *dlq, const char *action, struct error *error)
{
	char actor[512];
	size_t count = dlq->marked_count;

	dlq->marked_count = 0;
	name_actor(actor, sizeof(actor));
	return count == 0 ||
	       letters_mark(dlq->index, dlq->pg, action, actor, (struct letter_places){dlq->marked, count}, error);
}

bool dlq_mark(struct dlq *dlq, const char *action, struct letter_place place, struct error *error)
{
	if (!dlq->marked)
		dlq->marked = calloc(MARKS_MAX, sizeof(*dlq->marked));
	ASSERT(dlq->marked);
	dlq->marked[dlq->marked_count++] = place;
	return dlq->marked_count < MARKS_MAX || dlq_mark_flush(dlq, action, error);
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
