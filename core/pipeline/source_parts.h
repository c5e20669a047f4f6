/* Private to the source: its insides, and the steps of its loop.  Everything is [poll], but for what says otherwise. */
#ifndef IDEM_PIPELINE_SOURCE_PARTS_H
#define IDEM_PIPELINE_SOURCE_PARTS_H
#include <pthread.h>

#include "core/base/arena.h"
#include "core/db/dedup.h"
#include "core/pipeline/source.h"

enum {
	SOURCE_POLL_MAX = 1000,           /* records of one poll */
	SOURCE_POLL_MS = 100,             /* the longest wait for one */
	SOURCE_POLL_BUSY_MS = 10,         /* the same while acknowledgements or a half-empty queue are waited for */
	SOURCE_COMMIT_INTERVAL_MS = 1000, /* an offset commit costs the coordinator 6 ms */
	SOURCE_IDLE_REPORT_MS = 30000,    /* progress of a partition whose offset does not move */
	SOURCE_PROGRESS_WAIT_MS = 2000,   /* of a revoke */
	SOURCE_COMMIT_WAIT_MS = 3000,     /* of a revoke */
};

/* Why a partition is paused; it is resumed when no reason is left. */
enum source_pause {
	PAUSE_FULL = 1 << 0,    /* its queue, or too far past its first unfinished record */
	PAUSE_BYTES = 1 << 1,   /* queue.max_bytes is near and it holds more than its share */
	PAUSE_NOT_DUE = 1 << 2, /* of a retry topic, until due_ms */
	PAUSE_ALL = 1 << 3      /* the database is away, or the source is leaving */
};

struct source_partition {
	struct partition *tracker; /* a reference */
	bool is_retry;
	unsigned wanted;     /* enum source_pause */
	bool paused;         /* librdkafka was told so */
	bool discarded;      /* records from next_offset on came while it was to be paused, and were thrown away */
	int64_t next_offset; /* of the first record not pushed: where it is resumed; -1: none came yet */
	int64_t due_ms;      /* wall time */
	struct dedup_progress reported; /* handed over last; topic NULL: nothing yet */
	int64_t reported_at_ms;         /* monotonic */
	int64_t known_offset;           /* what the database must have stored at least, -1 not known */
	bool known_by_group;            /* … says the group's offset alone */
	int64_t at_end_ms;       /* wall time when it was seen read to its end with nothing unfinished; -1: it is not */
	uint64_t counted;        /* of the tracker's finished records, those in the metric */
	struct metrics_lag *lag; /* its row on the metrics page; NULL: none left */
};

/* Progress on its way: handed to the database, then to the coordinator. */
struct source_commit {
	struct partition *tracker; /* a reference */
	int64_t next_offset;
	int64_t went_back_to; /* the database's answer, -1: it did not */
};
enum source_commit_state {
	COMMIT_IDLE,
	COMMIT_REPORTED, /* on_progress has the rows; source_progress_written comes */
	COMMIT_SENT      /* the coordinator has the offsets; on_committed comes */
};
enum source_answer { ANSWER_NONE, ANSWER_WRITTEN, ANSWER_FAILED };

/* Asks how many members the group has, off the poll thread. */
struct source_group_check {
	pthread_t thread;
	bool started;
	_Atomic bool running;
	_Atomic bool cancelled;
};

struct source {
	struct source_options options; /* without the properties */
	struct kafka_consumer *consumer;
	char *retry_prefix; /* "<group>.retry." */
	char *retry_topics; /* the regular expression "^<group>\.retry\." */
	char *instance_id;  /* group.instance.id; NULL: none */

	struct source_partition *partitions; /* sorted by topic and number */
	size_t count, capacity;
	size_t last;                       /* found last: records come in runs of one partition */
	struct source_partition *departed; /* forgotten ones whose records are not all freed yet */
	size_t departed_count, departed_capacity;

	rd_kafka_message_t *messages[SOURCE_POLL_MAX];
	struct lanes_item items[SOURCE_POLL_MAX];
	size_t item_count;
	struct arena scratch; /* ordering keys of one poll; progress rows; statistics */
	size_t average_bytes; /* of a record, for how many to take at once */
	int64_t next_due_ms;  /* the earliest due_ms, 0 none */

	enum source_commit_state commit_state;
	struct source_commit *commits; /* of the commit under way */
	size_t commit_count;
	size_t total_bytes;   /* of the records held, kept while a poll's messages are pushed */
	int64_t rejoining_ms; /* since when a part of the assignment is given up and the group not joined anew, 0: it is
	                       */
	int64_t next_commit_ms;
	_Atomic int progress_answer; /* enum source_answer; [any] */

	struct release *releases;                  /* keys of which records are in the lanes */
	bool asked_for_parked;                     /* the answer is still to come */
	int64_t next_parked_ms;                    /* monotonic: then it is asked again */
	struct parked_take *_Atomic parked_answer; /* [any] */
	struct record *_Atomic to_bury;            /* linked by next [any] */

	int64_t last_progress_ms;      /* when a record was finished last, or none was at hand */
	_Atomic bool stopping, paused; /* [any] */
	bool leaving;
	int64_t leave_by_ms; /* while leaving */
	bool left_behind;    /* leaving: something finished could not be committed */
	bool failed;
	struct error error; /* when failed */
	struct source_group_check group_check;
};

/* source_records.c: makes records of messages and pushes them into the lanes.  Takes the messages. */
void source_push(struct source *source, size_t message_count);

/* What a record's lane is named after; absent: its partition. */
struct bytes source_ordering_key(struct source *source, struct bytes key, struct bytes payload);

/* source_parked.c: takes what is parked and due into the lanes. */
void source_parked_step(struct source *source);
bool source_is_releasing(const struct source *source);
void source_parked_done(struct source *source); /* the lanes are gone */

/* source_pause.c: pauses what is too full, too far ahead or not due, resumes what is not any more. */
void source_pause_step(struct source *source);
size_t source_total_bytes(const struct source *source); /* of all records that are not freed */
/* May the partition hold that much more?  One poll can bring far more than the average says. */
bool source_has_room(const struct source *source, const struct source_partition *partition, size_t bytes);
/* How many records may come at once without going far over queue.max_bytes. */
size_t source_poll_room(const struct source *source);

/* source_offsets.c: about once a second one commit. */
void source_commit_step(struct source *source);
void source_rejoined(struct source *source); /* an assignment came */
void source_committed(void *self, rd_kafka_resp_err_t code, const struct kafka_position *positions, size_t count);
/* What is finished in these partitions, and wait. */
void source_commit_now(struct source *source, struct source_partition *const *partitions, size_t count);
void source_commit_done(struct source *source);

/* source_rebalance.c: the assignment. */
struct source_partition *source_find(struct source *source, const char *topic, int32_t number);
void source_assigned(void *self, struct kafka_position *positions, size_t count);
void source_revoked(void *self, const struct kafka_position *positions, size_t count, bool lost);
/* Its offsets went backwards (a recreated topic): trackers never do, so it gets a new one, at first_offset (-1
 * unknown).
 */
void source_replace_tracker(struct source *source, struct source_partition *partition, int64_t first_offset);
/* The database went back: what it lost is read again. */
void source_go_back(struct source *source, struct source_partition *partition, int64_t offset);
void source_forget_departed(struct source *source); /* those whose last record was freed */
void source_partitions_done(struct source *source);

/* source_statistics.c: gauges of each turn, lag about once a second. */
void source_measure(struct source *source);
void source_count_finished(struct source *source, struct source_partition *partition);
void source_lag_open(struct source *source, struct source_partition *partition);
void source_lag_close(struct source_partition *partition);
void source_statistics(void *self, const char *json, size_t len);

/* source_group.c: workers x members against partitions. */
void source_group_check_start(struct source *source);
void source_group_check_done(struct source *source);
#endif
