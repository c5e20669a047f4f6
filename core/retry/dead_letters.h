/* The dead letters of one pipeline, read from its DLQ as they stand there.  An event may have several (after a crash,
 * or dead again after a replay): it is shown once, by its newest, with their number.  Records of other groups, where
 * pipelines share a DLQ, are left out.  Memory: about 40 bytes for each dead letter, and one record.  [main] */
#ifndef IDEM_RETRY_DEAD_LETTERS_H
#define IDEM_RETRY_DEAD_LETTERS_H
#include "core/config/config.h"
#include "core/event/event.h"
#include "core/kafka/consumer.h"

#define DEAD_LETTERS_MAX 2000000 /* at once */

struct dead_letter {
	const struct event *event;       /* as the pipeline reads it; ->record is the dead letter */
	struct bytes reason, error_text; /* absent: none */
	size_t copies;                   /* dead letters of this event */
	const char *state;               /* open, replayed, discarded; NULL: only the index knows */
};

struct dead_letter_filter {     /* all that is given must hold */
	const char *const *ids; /* event ids or business keys: one of them; NULL: any */
	size_t id_count;
	const char *reason;       /* NULL: any */
	const char *origin_topic; /* NULL: any */
	int32_t origin_partition; /* -1: any */
	int64_t origin_offset;    /* -1: any */
	/* These decide what is read at all; those above look at each event's newest dead letter among it. */
	int64_t since_ms, until_ms; /* when it was written to the DLQ, the latter not included; -1: any */
	int32_t partition;          /* its place in the DLQ; -1: any */
	int64_t offset;             /* with partition */
};

/* A record of the DLQ whose payload is in the index: fills it in, absent when it is not there any more. */
typedef bool dead_letters_payload(void *self, const struct kafka_record *record, struct arena *arena,
                                  struct bytes *out_payload, struct error *error);

struct dead_letters_options {
	const struct config_pipeline *pipeline;
	const struct kafka_property *properties; /* a consumer's */
	size_t property_count;
	const struct dead_letter_filter *filter; /* borrowed; NULL: none, for dead_letters_pick and _all */
	dead_letters_payload *find_payload;      /* NULL: not at hand */
	void *self;
};
struct dead_letters;
/* With a filter it reads the DLQ once, to find each event's newest. */
struct dead_letters *dead_letters_open(const struct dead_letters_options *options, struct error *error);
/* The letter is valid during the call; false: enough. */
typedef bool dead_letters_visit(void *self, const struct dead_letter *letter);
/* Each event whose newest dead letter passes the filter, in order of its place in the DLQ; reads the DLQ again. */
bool dead_letters_each(struct dead_letters *letters, dead_letters_visit *visit, void *self,
                       struct error *error) MUST_CHECK;
/* The dead letters at these places, sorted by partition and offset; those that are gone are left out.  Nothing else is
 * looked at. */
bool dead_letters_pick(struct dead_letters *letters, const struct kafka_place *places, size_t count,
                       dead_letters_visit *visit, void *self, struct error *error) MUST_CHECK;
/* Every record of this group, copies one by one. */
bool dead_letters_all(struct dead_letters *letters, dead_letters_visit *visit, void *self,
                      struct error *error) MUST_CHECK;
size_t dead_letters_of_others(const struct dead_letters *letters); /* records of other groups, left out */
void dead_letters_close(struct dead_letters *letters);             /* NULL allowed */
#endif
