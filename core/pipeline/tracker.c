#include "core/pipeline/tracker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/pipeline/released.h"

enum { FIRST_CAPACITY = 64 };

struct slot {
	int64_t offset, came_ms, timestamp_ms;
	bool finished;
};

struct partition {
	_Atomic uint32_t references;
	_Atomic bool revoked, given_up;
	_Atomic long taken;
	_Atomic size_t record_count, record_bytes;
	char *topic;
	int32_t number;

	pthread_mutex_t lock; /* the rest */
	struct slot *slots;   /* a ring: slot n stands at n & (capacity - 1) */
	size_t capacity;      /* a power of two */
	uint64_t head, tail;  /* head: the first unfinished slot, or tail */
	size_t unfinished;
	uint64_t finished;
	int64_t next_offset, committed; /* -1: unknown */
	int64_t finished_timestamp_ms;  /* of the last record before head; -1: none */
};

static void *must(void *allocated)
{
	ASSERT(allocated);
	return allocated;
}

struct partition *partition_create(const char *topic, int32_t number, int64_t first_offset)
{
	struct partition *partition = must(calloc(1, sizeof(*partition)));
	*partition = (struct partition){
	        .references = 1,
	        .topic = must(strdup(topic)),
	        .number = number,
	        .slots = must(calloc(FIRST_CAPACITY, sizeof(struct slot))),
	        .capacity = FIRST_CAPACITY,
	        .next_offset = first_offset < 0 ? -1 : first_offset,
	        .committed = first_offset < 0 ? -1 : first_offset,
	        .finished_timestamp_ms = -1,
	};
	PTHREAD_OK(pthread_mutex_init(&partition->lock, NULL));
	return partition;
}

void partition_ref(struct partition *partition)
{
	atomic_fetch_add_explicit(&partition->references, 1, memory_order_relaxed);
}

void partition_unref(struct partition *partition)
{
	if (!partition || atomic_fetch_sub_explicit(&partition->references, 1, memory_order_acq_rel) != 1)
		return;
	PTHREAD_OK(pthread_mutex_destroy(&partition->lock));
	free(partition->slots);
	free(partition->topic);
	free(partition);
}

const char *partition_topic(const struct partition *partition)
{
	return partition->topic;
}

int32_t partition_number(const struct partition *partition)
{
	return partition->number;
}

static struct slot *slot_at(const struct partition *partition, uint64_t number)
{
	return &partition->slots[number & (partition->capacity - 1)];
}

static void grow(struct partition *partition)
{
	struct slot *old = partition->slots;
	size_t old_capacity = partition->capacity;
	partition->capacity *= 2;
	partition->slots = must(calloc(partition->capacity, sizeof(struct slot)));
	for (uint64_t n = partition->head; n < partition->tail; n++)
		*slot_at(partition, n) = old[n & (old_capacity - 1)];
	free(old);
}

/* Only ever forward: a record that was read again after a seek backwards must not pull the group back. */
static void raise_next_offset(struct partition *partition, int64_t offset)
{
	if (offset > partition->next_offset)
		partition->next_offset = offset;
}

static void mark_finished(struct partition *partition, uint64_t number)
{
	ASSERT(number >= partition->head && number < partition->tail);
	struct slot *slot = slot_at(partition, number);
	ASSERT(!slot->finished);
	slot->finished = true;
	partition->unfinished--;
	partition->finished++;
}

static void advance(struct partition *partition)
{
	struct slot *slot;
	for (; partition->head < partition->tail; partition->head++) {
		slot = slot_at(partition, partition->head);
		if (!slot->finished) {
			raise_next_offset(partition, slot->offset);
			return;
		}
		raise_next_offset(partition, slot->offset + 1);
		partition->finished_timestamp_ms = slot->timestamp_ms;
	}
}

int64_t partition_committable(struct partition *partition)
{
	PTHREAD_OK(pthread_mutex_lock(&partition->lock));
	int64_t next_offset = partition->next_offset > partition->committed ? partition->next_offset : -1;
	PTHREAD_OK(pthread_mutex_unlock(&partition->lock));
	return next_offset;
}

void partition_committed(struct partition *partition, int64_t next_offset)
{
	PTHREAD_OK(pthread_mutex_lock(&partition->lock));
	if (next_offset > partition->committed)
		partition->committed = next_offset;
	PTHREAD_OK(pthread_mutex_unlock(&partition->lock));
}

int64_t partition_next_offset(struct partition *partition)
{
	PTHREAD_OK(pthread_mutex_lock(&partition->lock));
	int64_t next_offset = partition->next_offset;
	PTHREAD_OK(pthread_mutex_unlock(&partition->lock));
	return next_offset;
}

struct partition_load partition_load(struct partition *partition)
{
	PTHREAD_OK(pthread_mutex_lock(&partition->lock));
	const struct slot *first = partition->head < partition->tail ? slot_at(partition, partition->head) : NULL;
	struct partition_load load = {
	        .ahead = partition->tail - partition->head,
	        .oldest_ms = first ? first->came_ms : 0,
	        .timestamp_ms = first ? first->timestamp_ms : partition->finished_timestamp_ms,
	        .unfinished = partition->unfinished,
	        .finished = partition->finished,
	};
	PTHREAD_OK(pthread_mutex_unlock(&partition->lock));
	return load;
}

size_t partition_record_count(const struct partition *partition)
{
	return atomic_load_explicit(&partition->record_count, memory_order_acquire);
}

size_t partition_record_bytes(const struct partition *partition)
{
	return atomic_load_explicit(&partition->record_bytes, memory_order_relaxed);
}

void partition_add_taken(struct partition *partition, long count)
{
	atomic_fetch_add_explicit(&partition->taken, count, memory_order_acq_rel);
}

long partition_taken(const struct partition *partition)
{
	return atomic_load_explicit(&partition->taken, memory_order_acquire);
}

void partition_revoke(struct partition *partition)
{
	atomic_store_explicit(&partition->revoked, true, memory_order_release);
}

bool partition_is_revoked(const struct partition *partition)
{
	return atomic_load_explicit(&partition->revoked, memory_order_acquire);
}

void partition_give_up(struct partition *partition)
{
	atomic_store_explicit(&partition->given_up, true, memory_order_release);
}

bool partition_is_given_up(const struct partition *partition)
{
	return atomic_load_explicit(&partition->given_up, memory_order_acquire);
}

static struct record *create(const struct record *what, size_t bytes)
{
	struct record *record = must(calloc(1, sizeof(*record)));
	*record = *what;
	record->fetched_us = clock_monotonic_us();
	record->bytes = sizeof(*record) + bytes;
	record->references = 1;
	partition_ref(record->partition);
	atomic_fetch_add_explicit(&record->partition->record_count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&record->partition->record_bytes, record->bytes, memory_order_relaxed);
	return record;
}

struct record *record_create(rd_kafka_message_t *message, struct partition *partition)
{
	return create(&(struct record){.message = message, .partition = partition},
	              sizeof(*message) + sizeof(struct slot) + message->len + message->key_len);
}

struct record *record_create_released(struct released *released, struct partition *partition)
{
	return create(&(struct record){.released = released, .partition = partition}, released->bytes);
}

void record_begin(struct record *record, int64_t now_ms)
{
	struct partition *partition = record->partition;
	int64_t offset = record->message->offset;
	rd_kafka_timestamp_type_t type;
	int64_t timestamp_ms = rd_kafka_message_timestamp(record->message, &type);
	if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE)
		timestamp_ms = -1;
	PTHREAD_OK(pthread_mutex_lock(&partition->lock));
	if (partition->tail - partition->head == partition->capacity)
		grow(partition);
	if (partition->head == partition->tail)
		raise_next_offset(partition, offset); /* what lies between is a hole */
	record->slot = partition->tail++;
	*slot_at(partition, record->slot) =
	        (struct slot){.offset = offset, .came_ms = now_ms, .timestamp_ms = timestamp_ms};
	partition->unfinished++;
	PTHREAD_OK(pthread_mutex_unlock(&partition->lock));
}

void record_ref(struct record *record)
{
	atomic_fetch_add_explicit(&record->references, 1, memory_order_relaxed);
}

void record_unref(struct record *record)
{
	if (atomic_fetch_sub_explicit(&record->references, 1, memory_order_acq_rel) != 1)
		return;
	struct partition *partition = record->partition;
	if (record->message)
		rd_kafka_message_destroy(record->message);
	released_destroy(record->released);
	atomic_fetch_sub_explicit(&partition->record_bytes, record->bytes, memory_order_relaxed);
	/* Last: who waits for the count to be zero may close the consumer, which the message must not outlive. */
	atomic_fetch_sub_explicit(&partition->record_count, 1, memory_order_release);
	free(record);
	partition_unref(partition);
}

void record_finish_many(struct record *const *records, size_t count)
{
	for (size_t i = 0; i < count;) {
		struct partition *partition = records[i]->partition;
		size_t end = i;
		PTHREAD_OK(pthread_mutex_lock(&partition->lock));
		for (; end < count && records[end]->partition == partition; end++)
			mark_finished(partition, records[end]->slot);
		advance(partition);
		PTHREAD_OK(pthread_mutex_unlock(&partition->lock));
		for (; i < end; i++)
			record_unref(records[i]);
	}
}

void record_finish(struct record *record)
{
	record_finish_many(&record, 1);
}

void record_drop(struct record *record)
{
	record_unref(record);
}
