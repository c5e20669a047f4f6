#include "core/kafka/rebalance.h"
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/kafka/client.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMITTED_TIMEOUT_MS 30000 /* of a new assignment, for the coordinator to say where the group stands */
#define WATERMARK_TIMEOUT_MS 3000
#define RESTART_INTERVAL_MS 1000

struct kafka_position *kafka_positions_create(const rd_kafka_topic_partition_list_t *list)
{
	size_t count = list ? (size_t)list->cnt : 0;
	struct kafka_position *positions = calloc(count + 1, sizeof(*positions));
	ASSERT(positions);
	for (size_t i = 0; i < count; i++)
		positions[i] =
		        (struct kafka_position){list->elems[i].topic, list->elems[i].partition, list->elems[i].offset};
	return positions;
}

rd_kafka_topic_partition_list_t *kafka_positions_list(const struct kafka_position *positions, size_t count)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
	for (size_t i = 0; i < count; i++)
		rd_kafka_topic_partition_list_add(list, positions[i].topic, positions[i].partition)->offset =
		        positions[i].offset;
	return list;
}

rd_kafka_resp_err_t kafka_list_code(const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; list && i < list->cnt; i++)
		if (list->elems[i].err)
			return list->elems[i].err;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool is_cooperative(const struct kafka_consumer *consumer)
{
	return strcmp(rd_kafka_rebalance_protocol(consumer->client), "COOPERATIVE") == 0;
}

static void report(struct kafka_consumer *consumer, rd_kafka_resp_err_t code, const char *what)
{
	char text[512];
	snprintf(text, sizeof(text), "%s: %s", what, rd_kafka_err2str(code));
	consumer->options.on_error(consumer->options.self, code, text, false);
}

/* Where the group stands, INVALID where it never committed.  If the coordinator doesn't say, STORED: librdkafka goes on
 * asking it.  "Never committed" must not be guessed: with start_latest it would lose events. */
static void ask_committed(struct kafka_consumer *consumer, rd_kafka_topic_partition_list_t *list)
{
	if (list->cnt == 0)
		return;
	rd_kafka_resp_err_t code = rd_kafka_committed(consumer->client, list, COMMITTED_TIMEOUT_MS);
	if (code || kafka_list_code(list))
		report(consumer, code ? code : kafka_list_code(list), "the group's offsets could not be read yet");
	for (int i = 0; i < list->cnt; i++)
		if (code || list->elems[i].err)
			list->elems[i].offset = RD_KAFKA_OFFSET_STORED;
}

/* The offset at which the policy starts, a logical one when the broker doesn't answer. */
static int64_t policy_offset(struct kafka_consumer *consumer, const char *topic, int32_t partition)
{
	int64_t low, high;
	bool latest = consumer->options.start_latest;
	if (rd_kafka_query_watermark_offsets(consumer->client, topic, partition, &low, &high, WATERMARK_TIMEOUT_MS))
		return latest ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING;
	return latest ? high : low;
}

/* A group that starts at the end commits that end at once: else what comes before its first commit would be skipped by
 * the next member, which would start at a later end. */
static void commit_start(struct kafka_consumer *consumer, const struct kafka_position *starts, size_t count)
{
	struct error error;
	if (count > 0 && !kafka_consumer_commit_wait(consumer, starts, count, COMMITTED_TIMEOUT_MS, &error))
		consumer->options.on_error(consumer->options.self, RD_KAFKA_RESP_ERR__FAIL, error.text, false);
}

/* Replaces "none" by the policy's start. */
static void choose_starts(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count)
{
	struct kafka_position *starts = calloc(count + 1, sizeof(*starts));
	ASSERT(starts);
	size_t start_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (positions[i].offset != RD_KAFKA_OFFSET_INVALID)
			continue;
		positions[i].offset = consumer->options.start_latest
		                              ? policy_offset(consumer, positions[i].topic, positions[i].partition)
		                              : RD_KAFKA_OFFSET_BEGINNING;
		if (positions[i].offset >= 0)
			starts[start_count++] = positions[i];
	}
	commit_start(consumer, starts, start_count);
	free(starts);
}

static bool give_to_client(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *list)
{
	struct error error;
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (is_cooperative(consumer)) {
		if (!kafka_error_take(&error, rd_kafka_incremental_assign(consumer->client, list), "assignment")) {
			consumer->options.on_error(consumer->options.self, RD_KAFKA_RESP_ERR__STATE, error.text, false);
			return false;
		}
	} else if ((code = rd_kafka_assign(consumer->client, list))) {
		report(consumer, code, "the assignment was refused");
		return false;
	}
	return true;
}

static void take_from_client(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *list)
{
	struct error error;
	rd_kafka_resp_err_t code;
	if (is_cooperative(consumer)) {
		if (!kafka_error_take(&error, rd_kafka_incremental_unassign(consumer->client, list), "revocation"))
			consumer->options.on_error(consumer->options.self, RD_KAFKA_RESP_ERR__STATE, error.text, false);
	} else if ((code = rd_kafka_assign(consumer->client, NULL))) {
		report(consumer, code, "the revocation was refused");
	}
}

static void assign(struct kafka_consumer *consumer, rd_kafka_topic_partition_list_t *list)
{
	ask_committed(consumer, list);
	size_t count = (size_t)list->cnt;
	struct kafka_position *positions = kafka_positions_create(list);
	consumer->options.on_assign(consumer->options.self, positions, count);
	choose_starts(consumer, positions, count);
	for (size_t i = 0; i < count; i++) {
		list->elems[i].offset = positions[i].offset;
		kafka_assignment_add(&consumer->assignment, positions[i].topic, positions[i].partition,
		                     positions[i].offset);
	}
	if (!give_to_client(consumer, list)) {
		consumer->options.on_revoke(consumer->options.self, positions, count, true);
		for (size_t i = 0; i < count; i++)
			kafka_assignment_remove(&consumer->assignment, positions[i].topic, positions[i].partition);
	}
	free(positions);
}

/* Messages of the poll that runs now were not given out yet: the next owner reads them. */
static void drop_from_batch(struct kafka_consumer *consumer, const struct kafka_position *position)
{
	size_t kept = 0;
	for (size_t i = 0; i < consumer->batch_count; i++) {
		rd_kafka_message_t *message = consumer->batch[i];
		if (message->partition == position->partition &&
		    strcmp(rd_kafka_topic_name(message->rkt), position->topic) == 0)
			rd_kafka_message_destroy(message);
		else
			consumer->batch[kept++] = message;
	}
	consumer->batch_count = kept;
}

/* librdkafka remembers a pause beyond the assignment: without this the partition would come back paused. */
static void unpause(struct kafka_consumer *consumer, const struct kafka_assigned *assigned)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, assigned->topic, assigned->partition);
	rd_kafka_resp_err_t code = rd_kafka_resume_partitions(consumer->client, list);
	if (code || (code = kafka_list_code(list)))
		report(consumer, code, "a paused partition could not be resumed for its next owner");
	rd_kafka_topic_partition_list_destroy(list);
}

static void forget(struct kafka_consumer *consumer, const struct kafka_position *position)
{
	drop_from_batch(consumer, position);
	struct kafka_assigned *assigned =
	        kafka_assignment_find(&consumer->assignment, position->topic, position->partition);
	if (!assigned)
		return;
	if (assigned->paused)
		unpause(consumer, assigned);
	consumer->stopped -= assigned->stopped;
	kafka_assignment_remove(&consumer->assignment, position->topic, position->partition);
}

static void revoke(struct kafka_consumer *consumer, rd_kafka_topic_partition_list_t *list)
{
	struct kafka_position *positions = kafka_positions_create(list);
	bool lost = rd_kafka_assignment_lost(consumer->client) != 0;
	consumer->options.on_revoke(consumer->options.self, positions, (size_t)list->cnt, lost);
	for (int i = 0; i < list->cnt; i++)
		forget(consumer, &positions[i]);
	take_from_client(consumer, list);
	free(positions);
}

void kafka_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t *list, void *opaque)
{
	(void)client;
	struct kafka_consumer *consumer = opaque;
	if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
		assign(consumer, list);
		return;
	}
	if (code != RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS)
		report(consumer, code, "the group could not be joined as it should");
	revoke(consumer, list);
}

void kafka_rebalance_stopped(struct kafka_consumer *consumer, const char *topic, int32_t partition)
{
	struct kafka_assigned *assigned = kafka_assignment_find(&consumer->assignment, topic, partition);
	if (!assigned || assigned->stopped)
		return;
	assigned->stopped = true;
	consumer->stopped++;
}

static void start_again(struct kafka_consumer *consumer, struct kafka_assigned *assigned, int64_t offset)
{
	assigned->next_offset = offset;
	assigned->restart_ms = clock_monotonic_ms() + RESTART_INTERVAL_MS;
	assigned->stopped = false;
	consumer->stopped--;
}

static void report_reset(struct kafka_consumer *consumer, const struct kafka_assigned *assigned, int64_t to)
{
	char text[200], number[32] = "";
	if (to >= 0)
		snprintf(number, sizeof(number), ", %" PRId64, to);
	snprintf(text, sizeof(text), "offset %" PRId64 " is out of range, reading goes on at the %s record%s",
	         assigned->next_offset, consumer->options.start_latest ? "latest" : "earliest", number);
	consumer->options.on_reset(consumer->options.self, assigned->topic, assigned->partition, text);
}

/* librdkafka can't seek a partition that it stopped.  A cooperative one is taken out and put back alone; with an eager
 * assignor only the whole assignment can be set again, each partition where it stands. */
static void set_again(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *moved)
{
	if (is_cooperative(consumer)) {
		take_from_client(consumer, moved);
		(void)give_to_client(consumer, moved);
		return;
	}
	rd_kafka_topic_partition_list_t *all = kafka_assignment_list(&consumer->assignment);
	(void)give_to_client(consumer, all);
	rd_kafka_topic_partition_list_destroy(all);
}

void kafka_rebalance_start_at(struct kafka_consumer *consumer, struct kafka_assigned *assigned, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	start_again(consumer, assigned, offset);
	rd_kafka_topic_partition_list_add(list, assigned->topic, assigned->partition)->offset = offset;
	set_again(consumer, list);
	rd_kafka_topic_partition_list_destroy(list);
}

void kafka_rebalance_restart(struct kafka_consumer *consumer)
{
	if (consumer->stopped == 0)
		return;
	int64_t now_ms = clock_monotonic_ms();
	rd_kafka_topic_partition_list_t *moved = rd_kafka_topic_partition_list_new(1);
	for (size_t i = 0; i < consumer->assignment.count; i++) {
		struct kafka_assigned *assigned = &consumer->assignment.items[i];
		if (!assigned->stopped || assigned->restart_ms > now_ms)
			continue;
		int64_t to = policy_offset(consumer, assigned->topic, assigned->partition);
		if (assigned->next_offset >= 0)
			report_reset(consumer, assigned, to);
		start_again(consumer, assigned, to);
		rd_kafka_topic_partition_list_add(moved, assigned->topic, assigned->partition)->offset = to;
	}
	if (moved->cnt > 0)
		set_again(consumer, moved);
	rd_kafka_topic_partition_list_destroy(moved);
}
