/* What the commands of idemctl dlq share: the dead letters of one pipeline, and the dedup store where they need it. */
#ifndef IDEM_MAIN_DLQ_H
#define IDEM_MAIN_DLQ_H
#include "core/db/dedup_claim.h"
#include "core/main/dlq_arguments.h"

struct replay;
struct dlq {
	const struct ctl *ctl;
	const struct config_pipeline *pipeline;
	struct dlq_arguments arguments;
	struct dead_letters *letters;
	struct pg *pg; /* NULL: not at hand, or not needed */
	struct dedup *dedup;
	size_t matched, printed;
	size_t claimed, claimed_before, impossible; /* discard */
	struct replay *replay;
	struct error error; /* why a visit ended the walk; code 0: it did not */
};

/* An exit status; CTL_OK: go on.  Close it either way; it must not move. */
int dlq_open(const struct ctl *ctl, int64_t default_limit, struct dlq *out_dlq);
void dlq_close(struct dlq *dlq);
bool dlq_open_dedup(struct dlq *dlq, struct error *error) MUST_CHECK;

/* An exit status; CTL_OK: the walk went to its end, or the visitor had enough. */
int dlq_walk(struct dlq *dlq, dead_letters_visit *visit);
bool dlq_is_within_limit(const struct dlq *dlq);
struct dedup_key dlq_key_of(const struct event *event);
/* no, yes, other (another content under its id), too-new; NULL: not known, or it has no id that could be; when the
 * look-up failed dlq->error says why. */
const char *dlq_word_of_claim(struct dlq *dlq, const struct event *event);
/* A line of the table, or an element of the JSON list. */
void dlq_print_row(struct dlq *dlq, const struct dead_letter *letter, const char *claimed);
#endif
