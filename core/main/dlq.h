/* What the commands of idemctl dlq share: the dead letters of one pipeline, as their index in the database knows them
 * or, where it can't be asked, as they stand in the topic, and the dedup store. */
#ifndef IDEM_MAIN_DLQ_H
#define IDEM_MAIN_DLQ_H
#include "core/db/dedup_claim.h"
#include "core/db/letters.h"
#include "core/main/dlq_arguments.h"

struct replay;
struct dlq_place {
	struct kafka_place place;
	size_t copies;
	const char *state;
	bool is_found;
};
struct dlq {
	const struct ctl *ctl;
	const struct config_pipeline *pipeline;
	struct dlq_arguments arguments;
	struct pg *pg; /* NULL: not at hand; then letters is read instead of the index */
	struct dedup *dedup;
	struct letters *index;
	struct dead_letters *letters; /* the topic */
	struct dlq_place *chosen;     /* what the index said of those to be read from the topic, in order of place */
	size_t chosen_count;
	size_t gone;                 /* of these, not in the topic any more */
	dead_letters_visit *visit;   /* of the walk under way */
	struct letter_place *marked; /* done, and not noted in the index yet */
	size_t marked_count;
	size_t matched, printed;
	size_t claimed, claimed_before, impossible; /* discard */
	struct replay *replay;
	struct error error; /* why a visit ended the walk; code 0: it did not */
};

/* Reads the arguments; an exit status; CTL_OK: go on.  Close it either way; it must not move. */
int dlq_open(const struct ctl *ctl, int64_t default_limit, struct dlq *out_dlq);
void dlq_close(struct dlq *dlq);
/* The index and the dedup store. */
int dlq_open_index(struct dlq *dlq);
/* The same, or the topic: looking works without PostgreSQL, only it can't say what is claimed or was done. */
int dlq_open_index_or_topic(struct dlq *dlq);
int dlq_open_topic(struct dlq *dlq, bool filtered);

/* An exit status; CTL_OK: the walk went to its end, or the visitor had enough.  What the index gives has neither key
 * nor payload. */
int dlq_walk(struct dlq *dlq, dead_letters_visit *visit);
/* Chooses, up to the limit; counts them in dlq->matched. */
int dlq_choose(struct dlq *dlq);
/* The chosen ones whole, from the topic and, where it did not fit there, the index. */
int dlq_walk_chosen(struct dlq *dlq, dead_letters_visit *visit);
/* Notes that somebody replayed or discarded the one at that place; flush at the end. */
bool dlq_mark(struct dlq *dlq, const char *action, struct letter_place place, struct error *error) MUST_CHECK;
bool dlq_mark_flush(struct dlq *dlq, const char *action, struct error *error) MUST_CHECK;
bool dlq_is_within_limit(const struct dlq *dlq);
struct dedup_key dlq_key_of(const struct event *event);
/* no, yes, other (another content under its id), too-new; NULL: not known, or it has no id that could be; when the
 * look-up failed dlq->error says why. */
const char *dlq_word_of_claim(struct dlq *dlq, const struct event *event);
/* A line of the table, or an element of the JSON list. */
void dlq_print_row(struct dlq *dlq, const struct dead_letter *letter, const char *claimed);
#endif
