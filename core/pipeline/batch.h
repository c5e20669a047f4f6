/* One batch: records in, one transaction, outcomes out.  The path of an event from step 5 (claim) to step 7 (COMMIT);
 * the rules are ENGINE sections 1 to 3 (doc/design/engine.md).  A batch belongs to its worker's thread.
 *
 *   batch_open         records become entries: envelope, place of the id  batch_open.c
 *   batch_claim        BEGIN, claim all ids, tell duplicates              batch_claim.c
 *                      and what was decided before a crash           batch_attempts.c
 *                      and whose key is parked                           batch_park.c
 *   batch_handle       call the handler for each new event                batch_handle.c, batch_query.c
 *   batch_handle_sets  the same in one call, with handle_batch            batch_set.c
 *   batch_flush        send queued statements in chunks, find culprits    batch_flush.c, batch_order.c
 *   batch_commit       release what is not done, check, COMMIT            batch_commit.c
 *                      behind what is to be parked                 batch_park_write.c
 *
 * Each step returns false when the transaction can't go on; batch->failure says why and what the worker must do. */
#ifndef IDEM_PIPELINE_BATCH_H
#define IDEM_PIPELINE_BATCH_H
#include "core/base/arena.h"
#include "core/db/triage.h"
#include "core/pipeline/engine.h"
#include "core/pipeline/record.h"
#include "core/pipeline/watch.h"

enum outcome {
	OUTCOME_OPEN, /* nothing decided yet; at the end of a batch: not begun, stays with the worker */
	OUTCOME_DONE, /* the handler said DONE and its statements went through: processed once COMMIT answers */
	OUTCOME_DUPLICATE,
	OUTCOME_IGNORED,
	OUTCOME_RETRY, /* undone; its delay, then again: in place or by a retry topic */
	OUTCOME_DEAD,  /* undone; dead letter with entry->reason */
	OUTCOME_BACK,  /* undone through no fault of its own: an earlier event of its lane has to go first */
	OUTCOME_PARKED /* undone; in the database, to be tried again or behind its key */
};

struct entry {        /* one record of the batch */
	size_t index; /* in batch->entries: the order it came in */
	struct record *record;
	struct event event;
	struct idem_event view;
	struct idem_call *call;
	const struct dedup_table *table; /* where its id is claimed; NULL: it has none */
	struct bytes key;                /* what is claimed there */
	struct entry *original;          /* the first one in the batch with the same key */
	bool claimed;                    /* our row is there */
	bool was_sent;                   /* a COMMIT of unknown outcome held it: a row found now means processed */
	bool settled;                    /* its statements were sent and answered well */
	bool has_attempt;                /* a row of event_attempt is there */
	bool as_stored;                  /* goes where that row says: there is nothing new to write */
	bool is_conflict;                /* same id, other content than what was processed */
	struct bytes lane_key;           /* in parked_key; absent: has no order */
	struct parked *parked;           /* its key is parked; NULL: it is not */
	bool is_behind;                  /* BACK or PARKED: for the key, it was not tried */
	int64_t hold_ms;                 /* BACK: its lane waits so long */
	uint32_t attempt;
	enum outcome outcome;
	const char *reason;      /* of RETRY and DEAD */
	struct bytes error_text; /* for the retry or DLQ header */
};

enum batch_failure {
	BATCH_FINE,
	BATCH_AGAIN,     /* dead-lock, lock time-out: the same records in smaller batches */
	BATCH_SUSPECT,   /* an event of it may end the process: without it, and it alone */
	BATCH_BUSY,      /* alone, and a copy of its id is in an open transaction: others first */
	BATCH_CANCELLED, /* a statement of the host's was cancelled: nothing is wrong with it, at once again */
	BATCH_CATALOGUE, /* a day of the dedup table is missing: read the catalogue, then again */
	BATCH_UNDECIDED, /* a declared statement that never worked fails: wait, then again */
	BATCH_HOST,      /* a statement of the host's failed: wait, alarm, then again */
	BATCH_DATABASE,  /* PostgreSQL is away: reconnect, then again */
	BATCH_STOLEN     /* somebody else ended the transaction: stop the pipeline */
};

struct claim_group {
	const struct dedup_table *table;
	struct entry **entries;
	size_t count;
	struct bytes keys; /* as an array, once it was sent; absent: not yet */
};                         /* sorted by key, no copies */

struct parked { /* a key of the batch that is parked, or is to be */
	struct bytes key;
	int64_t events;    /* in the database, with those that this batch parks */
	size_t released;   /* entries of this batch that are among them */
	size_t valid;      /* … and the first ones there, in order */
	bool is_exhausted; /* all that is parked is in this batch */
	bool is_new;       /* not in the database yet */
	int64_t wait_ms;   /* to the next try; -1: does not change */
};

struct set { /* the events of one call of handle_batch */
	struct entry **entries;
	size_t count;
	struct idem_item *items;
	struct idem_call *call; /* the batch call: the worker's last one */
};

struct batch {
	struct engine *engine;
	struct pg *pg;
	struct watch *watch;
	struct idem_call *calls; /* the worker's pool: one per entry, the last one for handle_batch */
	size_t calls_count;
	struct call_context context; /* of these */
	bool is_alone;               /* nothing else runs: a suspect may */
	struct arena arena;          /* everything of this batch; reset by batch_reset */
	struct entry *entries;
	size_t count;
	struct claim_group *claims;
	size_t claim_count;
	struct entry **pending;
	size_t pending_count;                /* DONE, not flushed yet */
	int64_t begun_ms;                    /* monotonic, of BEGIN */
	char transaction_id[24];             /* as text; "" outside a transaction */
	size_t savepoints;                   /* chunk savepoints standing: c0 … */
	bool checks_each_chunk;              /* deferred constraints are checked per chunk, not per flush */
	bool had_miss;                       /* an expectation missed: chunks are verified before the next is sent */
	struct recorded_metric *set_metrics; /* of the calls of handle_batch that stand */
	int64_t idle_until_ms;               /* monotonic: the server ends a transaction that is idle longer */
	size_t handled; /* events whose handler was called: one at least before time is looked at */
	int64_t now_ms; /* monotonic: behind the last handler and what it waited for */
	size_t slow;    /* of these, in lanes: PACE_SLOW, and the time they took */
	int64_t slow_ms;
	struct set *set;          /* of handle_batch while it runs, else NULL */
	struct entry *current;    /* whose handler runs now, NULL in handle_batch */
	struct idem_call *failed; /* of this run: the call whose statement failed first, while the plugin waited */
	struct queued *culprit;   /* that statement, when it was a queued one */
	struct error culprit_error;
	bool reads;            /* the run made a query: its savepoint r stands, its statements are sent at once */
	size_t ahead;          /* answers of batch_queue_ahead still to come */
	bool holds;            /* some entry is RETRY or BACK: its lane is held back */
	bool has_released;     /* some record was parked */
	struct parked *parked; /* room for one per entry */
	size_t parked_count;
	enum batch_failure failure;
	struct error error;
};

void batch_init(struct batch *batch, struct engine *engine, struct watch *watch, uint32_t worker_index);
void batch_done(struct batch *batch);
void batch_reset(struct batch *batch);

/* Runs everything up to and including COMMIT, for the first batch->count of the records.  False: batch->failure; the
 * transaction is rolled back or lost. */
bool batch_run(struct batch *batch, struct record *const *records, size_t count) MUST_CHECK;

/* ---- between the files of the batch ---- */
void batch_open(struct batch *batch, struct record *const *records, size_t count);
bool batch_claim(struct batch *batch) MUST_CHECK;
bool batch_handle(struct batch *batch) MUST_CHECK;
bool batch_handle_sets(struct batch *batch) MUST_CHECK;
bool batch_flush(struct batch *batch) MUST_CHECK;
bool batch_commit(struct batch *batch) MUST_CHECK;
/* Asks for the stored attempts of a group's events, whose claims travel in front. */
bool batch_attempts_ask(struct batch *batch, struct claim_group *group) MUST_CHECK;
/* The answer, once the claims are known. */
void batch_attempts_take(struct batch *batch, const struct claim_group *group, const PGresult *result);
/* What is claimed, as text. */
struct bytes batch_stored_key(const struct entry *entry);
/* Is there anything to be written about events that are not done, or deleted about those that are? */
bool batch_attempts_to_write(const struct batch *batch);
bool batch_attempts_queue(struct batch *batch) MUST_CHECK;
/* The same for what was decided after its transaction was gone, in one of its own. */
bool batch_write_alone(struct batch *batch) MUST_CHECK;
/* Parked keys (ENGINE section 7).  Asks which keys of the batch are parked, and locks them; nothing is asked where
 * nothing can be. */
bool batch_park_asks(const struct batch *batch);
bool batch_park_ask(struct batch *batch) MUST_CHECK;
void batch_park_take(struct batch *batch, const PGresult *result);
/* With the claims known: which released events are the first of their key, and what has to be parked behind others. */
bool batch_park_judge(struct batch *batch) MUST_CHECK;
/* At the end: what is to be tried again, and what follows it in its lane, is parked, as far as the limits allow. */
void batch_park_decide(struct batch *batch);
bool batch_park_to_write(const struct batch *batch);
/* An event that is there already becomes a duplicate. */
bool batch_park_write(struct batch *batch) MUST_CHECK;
/* How often it was tried so far, and why it is parked. */
uint32_t batch_park_attempt(const struct entry *entry);
const char *batch_park_reason(const struct entry *entry);
struct parked *batch_park_find(struct batch *batch, struct bytes key);
extern const char batch_begin[]; /* BEGIN as every transaction of a batch has it */
extern const struct call_backend batch_backend;

/* Notes why the transaction can't go on; returns false. */
bool batch_fail(struct batch *batch, enum batch_failure failure, const struct error *error);
/* The connection broke, or a statement of the host's was answered with an error. */
bool batch_fail_host(struct batch *batch, const struct error *error);
/* A plugin's statement was answered with an error that is not the event's: true when batch->failure was set.
 * statement: its number, 0: not a declared one. */
bool batch_fail_if_not_events(struct batch *batch, uint32_t statement, const struct error *error);
/* Decides an entry.  RETRY turns into DEAD attempts_exhausted after the last attempt. */
void batch_retry(struct batch *batch, struct entry *entry, const char *reason, struct bytes text);
void batch_reject(struct batch *batch, struct entry *entry, const char *reason, struct bytes text);
void batch_hold_back(struct batch *batch, struct entry *entry); /* BACK */
/* By the SQLSTATE of its own statement. */
void batch_judge_error(struct batch *batch, struct entry *entry, const struct error *error);
/* An earlier entry of the same lane has to be tried again first. */
bool batch_is_held_back(const struct batch *batch, const struct entry *entry);
/* What the handler said. */
void batch_take_verdict(struct batch *batch, struct entry *entry, idem_verdict verdict);
/* Is there no time left to begin another event? */
bool batch_should_stop(struct batch *batch, const struct entry *entry);
/* Send one statement without an answer of interest and wait for it. */
bool batch_execute(struct batch *batch, const char *sql) MUST_CHECK;
/* Reads up to the next sync point; the first error among the answers is the host's failure. */
bool batch_read_to_sync(struct batch *batch) MUST_CHECK;
bool batch_sync(struct batch *batch) MUST_CHECK;
bool batch_queue_sql(struct batch *batch, const char *sql) MUST_CHECK;
/* A statement of the host's that travels in front of whatever is sent next; its answer is looked at by batch_next. */
bool batch_queue_ahead(struct batch *batch, const char *sql) MUST_CHECK;
/* The next answer, or NULL for the sync point. */
bool batch_next(struct batch *batch, PGresult **out_result) MUST_CHECK;
bool batch_queue_release(struct batch *batch, struct claim_group *group) MUST_CHECK;
/* The keys of a group, as an array of the type its table has. */
struct bytes batch_claim_keys(struct batch *batch, struct claim_group *group);
/* NULL: the key is not of this group. */
struct entry *batch_claim_find(const struct claim_group *group, struct bytes key);
/* After BATCH_STOLEN and a ROLLBACK: a COMMIT of the plugin's kept the claims of events that have no effect, and they
 * would be lost as duplicates.  Releases them in a transaction of their own. */
bool batch_release_stolen(struct batch *batch) MUST_CHECK;
/* The order of locks; 0: as queued. */
int batch_compare_locks(const struct queued *left, const struct queued *right);
struct queued *batch_sort_queued(struct batch *batch, struct queued *first);
/* handle_batch: everything queued so far, taken out, so that a query of one item sees it. */
struct queued *batch_set_take_queued(struct batch *batch);
/* A statement of the plugin's that ended the transaction: true when batch->failure was set. */
bool batch_is_stolen(struct batch *batch, PGresult *result);
/* One event's or one set's own statements, each answer looked at, behind savepoint r.  *out_culprit: the statement that
 * failed or missed (then *out_error says how; a miss has no sqlstate and code ERROR_LIMIT), or NULL. */
bool batch_send_now(struct batch *batch, struct queued *first, struct queued **out_culprit,
                    struct error *out_error) MUST_CHECK;
/* Deferred violations so far, keeping the deferral; *out_fine false: *out_error. */
bool batch_check_constraints(struct batch *batch, bool *out_fine, struct error *out_error) MUST_CHECK;
void batch_judge_culprit(struct batch *batch, struct entry *entry, const struct queued *culprit,
                         const struct error *error);
/* Looks at the answer to a plugin's statement; false: *out_error, as above. */
bool batch_check_answer(struct batch *batch, const struct queued *queued, PGresult *result,
                        struct error *out_error) MUST_CHECK;
bool batch_queue_statement(struct batch *batch, const struct queued *queued) MUST_CHECK;
const char *batch_event_name(const struct entry *entry); /* for logs: its id, or topic/partition/offset */
#endif
