#include "core/kafka/reader.h"
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/kafka/admin.h"
#include "core/kafka/client.h"
#include <stdlib.h>

#define TIMEOUT_MS 10000 /* without a sign of life of a partition's leader */
#define SKIP_RECORDS 10000

struct kafka_reader {
	rd_kafka_t *client;
	rd_kafka_topic_t *topic;
	int partitions;
	struct arena arena; /* of one record's headers */
};

static const struct kafka_property defaults[] = {{"client.id", "idem"}, {"fetch.wait.max.ms", "100"}, {NULL, NULL}};

static const struct kafka_property forced[] = {
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"enable.partition.eof", "true"},
        {"auto.offset.reset", "earliest"}, /* the beginning moved on since the watermark was asked for */
        {"isolation.level", "read_committed"},
        {"allow.auto.create.topics", "false"},
        {"queued.max.messages.kbytes", "65536"},
        {NULL, NULL},
};

/* Asking for the partitions is also what finds out whether there is a broker. */
static bool open_topic(struct kafka_reader *reader, const char *topic, struct error *error)
{
	if (!kafka_topic_partitions(reader->client, topic, TIMEOUT_MS, &reader->partitions, error))
		return false;
	if (reader->partitions == 0)
		return error_set(error, ERROR_NOT_FOUND, "topic %s does not exist, or this user may not see it", topic);
	reader->topic = rd_kafka_topic_new(reader->client, topic, NULL);
	return reader->topic || kafka_error_set(error, rd_kafka_last_error(), "topic %s", topic);
}

struct kafka_reader *kafka_reader_create(const struct kafka_property *properties, size_t property_count,
                                         const char *topic, struct error *error)
{
	struct kafka_reader *reader = calloc(1, sizeof(*reader));
	ASSERT(reader);
	arena_init(&reader->arena, 4096);
	rd_kafka_conf_t *conf = kafka_conf_create(defaults, properties, property_count, forced, error);
	if (conf)
		reader->client = kafka_client_create_take(RD_KAFKA_CONSUMER, conf, error);
	if (!reader->client || !open_topic(reader, topic, error)) {
		kafka_reader_destroy(reader);
		return NULL;
	}
	return reader;
}

/* One partition on its way from low to high. */
struct run {
	struct kafka_reader *reader;
	int32_t partition;
	int64_t high;
	const struct kafka_place *wanted; /* NULL: all; else those of this partition not come to yet */
	size_t wanted_count;
	kafka_reader_visit *visit;
	void *self;
	bool ended; /* the partition; also when the visitor has enough */
	bool enough;
};

static void next_wanted(struct run *run)
{
	run->wanted++;
	run->wanted_count--;
}

static bool is_wanted(struct run *run, int64_t offset)
{
	if (!run->wanted)
		return true;
	while (run->wanted_count > 0 && run->wanted->offset < offset)
		next_wanted(run); /* not there any more */
	bool is_it = run->wanted_count > 0 && run->wanted->offset == offset;
	if (is_it)
		next_wanted(run);
	return is_it;
}

/* Over a long stretch of what nobody asked for. */
static bool skip(struct run *run, int64_t offset, struct error *error)
{
	if (!run->wanted || run->wanted->offset - offset < SKIP_RECORDS)
		return true;
	rd_kafka_resp_err_t code = rd_kafka_seek(run->reader->topic, run->partition, run->wanted->offset, TIMEOUT_MS);
	return !code || kafka_error_set(error, code, "reading topic %s, partition %d",
	                                rd_kafka_topic_name(run->reader->topic), run->partition);
}

/* An error that the client gets over by itself counts as silence. */
static bool take(struct run *run, const rd_kafka_message_t *message, struct error *error)
{
	if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		run->ended = true; /* also in front of a transaction that is open */
		return true;
	}
	if (message->err)
		return kafka_code_is_retriable(message->err) ||
		       kafka_error_set(error, message->err, "reading topic %s, partition %d",
		                       rd_kafka_topic_name(run->reader->topic), run->partition);
	if (message->offset < run->high && is_wanted(run, message->offset)) {
		struct kafka_record record;
		arena_reset(&run->reader->arena);
		kafka_record_from_message(message, &run->reader->arena, &record);
		run->enough = !run->visit(run->self, &record);
	}
	run->ended = run->enough || message->offset + 1 >= run->high || (run->wanted && run->wanted_count == 0);
	return run->ended || skip(run, message->offset, error);
}

static bool consume(struct run *run, struct error *error)
{
	int64_t heard_ms = clock_monotonic_ms();
	bool ok = true;
	while (ok && !run->ended) {
		rd_kafka_message_t *message = rd_kafka_consume(run->reader->topic, run->partition, 100);
		rd_kafka_poll(run->reader->client, 0);
		if (message) {
			ok = take(run, message, error);
			if (!message->err) /* and the visitor may have taken his time */
				heard_ms = clock_monotonic_ms();
			rd_kafka_message_destroy(message);
		}
		if (ok && clock_monotonic_ms() - heard_ms > TIMEOUT_MS)
			ok = error_set(error, ERROR_TIMEOUT, "topic %s, partition %d: nothing came for %d s",
			               rd_kafka_topic_name(run->reader->topic), run->partition, TIMEOUT_MS / 1000);
	}
	return ok;
}

static bool read_partition(struct run *run, struct error *error)
{
	struct kafka_reader *reader = run->reader;
	const char *topic = rd_kafka_topic_name(reader->topic);
	int64_t low;
	rd_kafka_resp_err_t code =
	        rd_kafka_query_watermark_offsets(reader->client, topic, run->partition, &low, &run->high, TIMEOUT_MS);
	if (code)
		return kafka_error_set(error, code, "topic %s, partition %d", topic, run->partition);
	while (run->wanted_count > 0 && run->wanted->offset < low)
		next_wanted(run);
	if (low >= run->high || (run->wanted && (run->wanted_count == 0 || run->wanted->offset >= run->high)))
		return true;
	if (run->wanted)
		low = run->wanted->offset;
	if (rd_kafka_consume_start(reader->topic, run->partition, low) != 0)
		return kafka_error_set(error, rd_kafka_last_error(), "reading topic %s, partition %d", topic,
		                       run->partition);
	bool ok = consume(run, error);
	if (rd_kafka_consume_stop(reader->topic, run->partition) != 0 && ok)
		ok = kafka_error_set(error, rd_kafka_last_error(), "reading topic %s, partition %d", topic,
		                     run->partition);
	return ok;
}

bool kafka_reader_run(struct kafka_reader *reader, kafka_reader_visit *visit, void *self, struct error *error)
{
	bool enough = false;
	for (int partition = 0; partition < reader->partitions && !enough; partition++) {
		struct run run = {.reader = reader, .partition = partition, .visit = visit, .self = self};
		if (!read_partition(&run, error))
			return false;
		enough = run.enough;
	}
	return true;
}

bool kafka_reader_pick(struct kafka_reader *reader, const struct kafka_place *places, size_t count,
                       kafka_reader_visit *visit, void *self, struct error *error)
{
	bool enough = false;
	for (size_t at = 0, end; at < count && !enough; at = end) {
		for (end = at + 1; end < count && places[end].partition == places[at].partition;)
			end++;
		struct run run = {.reader = reader,
		                  .partition = places[at].partition,
		                  .wanted = &places[at],
		                  .wanted_count = end - at,
		                  .visit = visit,
		                  .self = self};
		if (run.partition < reader->partitions && !read_partition(&run, error))
			return false;
		enough = run.enough;
	}
	return true;
}

void kafka_reader_destroy(struct kafka_reader *reader)
{
	if (!reader)
		return;
	if (reader->topic)
		rd_kafka_topic_destroy(reader->topic);
	if (reader->client)
		rd_kafka_destroy(reader->client);
	arena_done(&reader->arena);
	free(reader);
}
