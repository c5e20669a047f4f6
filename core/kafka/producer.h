/* An idempotent acks=all producer.  kafka_producer_send is [any thread]; delivery reports arrive in
 * kafka_producer_poll. */
#ifndef IDEM_KAFKA_PRODUCER_H
#define IDEM_KAFKA_PRODUCER_H
#include "core/base/error.h"
#include "core/kafka/consumer.h"
#include "core/kafka/record.h"

struct kafka_producer_options {
	const struct kafka_property *properties;
	size_t property_count;
	void *self;
	/* Exactly once per accepted send.  place: where it stands, acknowledged by all in-sync replicas; NULL: it
	 * failed.  error->retriable says whether another send may help; ERROR_LIMIT: the record is too large. */
	void (*on_delivered)(void *self, void *opaque, const struct kafka_place *place, const struct error *error);
};
struct kafka_producer;
struct kafka_producer *kafka_producer_create(const struct kafka_producer_options *options, struct error *error);
/* Copies everything.  Never blocks: a full queue is false with error->retriable.  record->offset is not read; partition
 * -1: by key. */
bool kafka_producer_send(struct kafka_producer *producer, const struct kafka_record *record, void *opaque,
                         struct error *error) MUST_CHECK;
void kafka_producer_poll(struct kafka_producer *producer, int timeout_ms); /* one thread at a time */
size_t kafka_producer_in_flight(struct kafka_producer *producer);
/* Waits at most timeout_ms for what is in flight (its reports are delivered), drops the rest (reported as failed),
 * destroys. */
void kafka_producer_destroy(struct kafka_producer *producer, int timeout_ms);
#endif
