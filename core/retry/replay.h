/* Sends dead letters again, to the topic of their own group: no other group sees them.  What was applied meanwhile ends
 * as a duplicate there.  Only what the brokers acknowledged counts.  [main] */
#ifndef IDEM_RETRY_REPLAY_H
#define IDEM_RETRY_REPLAY_H
#include "core/retry/dead_letters.h"

struct replay_options {
	const struct config_pipeline *pipeline;
	const struct kafka_property *properties; /* a producer's */
	size_t property_count;
	int64_t per_second; /* 0: as fast as the brokers take them */
	void *self;
	/* The dead letter at this place of the DLQ was acknowledged. */
	void (*on_done)(void *self, int32_t partition, int64_t offset);
	/* The dead letter at this place of the DLQ was not sent; inside replay_send and replay_finish. */
	void (*on_failed)(void *self, int32_t partition, int64_t offset, const struct error *error);
};
struct replay_count {
	size_t done, failed;
};

struct replay;
/* The topic must be there: a host makes it when it starts (ERROR_NOT_FOUND). */
struct replay *replay_create(const struct replay_options *options, struct error *error);
/* Copies everything.  Blocks while too much is in flight, and for the rate. */
void replay_send(struct replay *replay, const struct dead_letter *letter);
/* Waits for the answers to what is in flight, and frees. */
struct replay_count replay_finish(struct replay *replay);
#endif
