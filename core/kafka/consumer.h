/* A thin wrapper over librdkafka's consumer: no auto commit, no offset store, rebalances as callbacks.
 * Everything is [poll] (the one thread that calls kafka_consumer_poll) unless it says otherwise. */
#ifndef IDEM_KAFKA_CONSUMER_H
#define IDEM_KAFKA_CONSUMER_H
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/kafka/record.h"
#include <librdkafka/rdkafka.h>

struct kafka_property {
	const char *name, *value;
};
struct kafka_position {
	const char *topic;
	int32_t partition;
	int64_t offset;
};

struct kafka_consumer_options {
	const struct kafka_property *properties;
	size_t property_count; /* in order; a later one wins */
	const char *group;     /* borrowed, as long as the consumer lives */
	bool start_latest;     /* also where an offset that is out of range goes on */
	void *self; /* handed to the callbacks, which run inside kafka_consumer_poll and kafka_consumer_close */
	/* Partitions given; offsets are the committed ones (RD_KAFKA_OFFSET_INVALID: none; _STORED: the coordinator did
	 * not say, librdkafka goes on asking).  Write other offsets into them to start elsewhere. */
	void (*on_assign)(void *self, struct kafka_position *positions, size_t count);
	/* Partitions taken; lost: somebody else may own them already, commits will fail.  May block (revoke_max) and
	 * commit. */
	void (*on_revoke)(void *self, const struct kafka_position *positions, size_t count, bool lost);
	void (*on_statistics)(void *self, const char *json, size_t len); /* NULL: none */
	/* fatal: the client can't go on (fenced instance id, …). */
	void (*on_error)(void *self, rd_kafka_resp_err_t code, const char *text, bool fatal);
	/* The answer to a kafka_consumer_commit. */
	void (*on_committed)(void *self, rd_kafka_resp_err_t code, const struct kafka_position *positions,
	                     size_t count);
	/* The offset to be read is out of range; text says which and where the policy goes on.  Called before any
	 * record from there is given out. */
	void (*on_reset)(void *self, const char *topic, int32_t partition, const char *text);
};

struct kafka_consumer;
struct kafka_consumer *kafka_consumer_create(const struct kafka_consumer_options *options, struct error *error);
/* Names; a name that begins with ^ is a regular expression.  Handles eager and cooperative assignors. */
bool kafka_consumer_subscribe(struct kafka_consumer *consumer, const char *const *topics, size_t count,
                              struct error *error) MUST_CHECK;
/* Waits up to timeout_ms for the first message, then takes what is there.  Messages belong to the caller, who gives
 * each to rd_kafka_message_destroy (any thread) before kafka_consumer_close.  Error messages are handled inside. */
size_t kafka_consumer_poll(struct kafka_consumer *consumer, int timeout_ms, rd_kafka_message_t **out_messages,
                           size_t max);
/* Wakes a waiting poll.  [any thread, async-signal-unsafe] */
void kafka_consumer_wake(struct kafka_consumer *consumer);
bool kafka_consumer_pause(struct kafka_consumer *consumer, const char *topic, int32_t partition,
                          struct error *error) MUST_CHECK;
/* Resume and fetch again from offset: what was fetched and not given out when pausing is dropped by librdkafka.
 * offset < 0: where it stands (nothing was given out yet). */
bool kafka_consumer_resume(struct kafka_consumer *consumer, const char *topic, int32_t partition, int64_t offset,
                           struct error *error) MUST_CHECK;
/* offset is the next one to read (last finished + 1).  Asynchronous: one in flight at a time, answered by on_committed.
 */
bool kafka_consumer_commit(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                           struct error *error) MUST_CHECK;
/* The same and wait for the answer, at most timeout_ms. */
bool kafka_consumer_commit_wait(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                                int timeout_ms, struct error *error) MUST_CHECK;
/* The number of members in the group, for the idle-workers report; blocks up to timeout_ms.  [any thread] */
bool kafka_consumer_group_size(struct kafka_consumer *consumer, int timeout_ms, size_t *out_members,
                               struct error *error) MUST_CHECK;
/* Leaves the group: on_revoke is called; then no callback any more. */
void kafka_consumer_close(struct kafka_consumer *consumer);
/* After close; NULL allowed; librdkafka may hang in it: under the shutdown watchdog. */
void kafka_consumer_destroy(struct kafka_consumer *consumer);
rd_kafka_t *kafka_consumer_handle(struct kafka_consumer *consumer);

/* A view of a message; headers are put into the arena. */
void kafka_record_from_message(const rd_kafka_message_t *message, struct arena *arena, struct kafka_record *out_record);
#endif
