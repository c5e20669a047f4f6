/* Where an event goes that did not end processed: a retry topic or the dead letter topic.  The record must be
 * acknowledged (acks=all) before the event counts as finished, and a dead letter be indexed; one that can't be written
 * is tried again once a second, for ever, and its offset stays behind.  router_send is [any thread]; reports arrive in
 * router_poll [poll thread]. */
#ifndef IDEM_RETRY_ROUTER_H
#define IDEM_RETRY_ROUTER_H
#include "core/config/config.h"
#include "core/event/event.h"
#include "core/kafka/producer.h"

enum route { ROUTE_RETRY, ROUTE_DEAD };

struct letter;
struct router_options {
	const struct config_pipeline *pipeline;
	const struct kafka_property *properties;
	size_t property_count;
	const char *plugin_name, *plugin_version;
	void *self;
	/* Acknowledged.  letter, during the call: of ROUTE_DEAD, what is to be indexed before the event is finished.
	 * Answered, once it is, by one router_settle.  [thread of router_poll] */
	void (*on_acknowledged)(void *self, void *opaque, enum route route, const struct letter *letter);
	/* Once per failed try, for log and metric.  [any thread] */
	void (*on_trouble)(void *self, void *opaque, const struct error *error);
};
struct router;
/* Makes the retry topics, the one for replays and the DLQ when they are missing. */
struct router *router_create(const struct router_options *options, struct error *error);
/* Copies everything it needs (the event's arena may be reset after).  event->attempt: the one that just failed, for
 * ROUTE_RETRY at most the number of delays.  Never
 * fails and never blocks: what can't be sent now is kept and tried again. */
void router_send(struct router *router, const struct event *event, enum route route, const char *reason,
                 struct bytes error_text, void *opaque);
void router_poll(struct router *router, int timeout_ms);
/* So many events that were acknowledged are finished. [any thread] */
void router_settle(struct router *router, size_t count);
/* Sent or kept, not settled; bounded by the queue limits of the source. */
size_t router_pending(struct router *router);
void router_destroy(struct router *router, int timeout_ms);
/* "<group>.retry.<delay>" of tier i (0-based) into out. */
void router_retry_topic(const struct config_pipeline *pipeline, size_t tier, char *out, size_t size);
/* "<group>.retry.replay": where dead letters are sent again.  A host reads it from its start on, as any retry topic. */
void router_replay_topic(const struct config_pipeline *pipeline, char *out, size_t size);
#endif
