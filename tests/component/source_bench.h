/* What the tests of the source stand on: a broker inside the process (librdkafka's mock cluster), a producer for it,
 * and a source with fake workers. */
#ifndef IDEM_TESTS_SOURCE_BENCH_H
#define IDEM_TESTS_SOURCE_BENCH_H
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>

#include "core/pipeline/source.h"

#define GROUP "billing"
#define TOPIC "orders"

struct broker {
	rd_kafka_t *client; /* a producer */
	rd_kafka_mock_cluster_t *cluster;
	char bootstrap[100];
};
void broker_start(struct broker *broker);
void broker_stop(struct broker *broker);
void broker_topic(struct broker *broker, const char *name, int partitions);
/* due_ms 0: no header. */
void broker_produce(struct broker *broker, const char *topic, int32_t partition, const char *key, const char *value,
                    int64_t due_ms);
struct broker_record {
	const char *topic;
	int32_t partition;
	const char *key, *value;
	int64_t due_ms, written_ms;
};
void broker_produce_at(struct broker *broker, struct broker_record record);
void broker_produce_many(struct broker *broker, int partitions, int each, size_t value_bytes);
void broker_flush(struct broker *broker);
/* -1: the group committed nothing there. */
int64_t broker_committed(struct broker *broker, const char *topic, int32_t partition);
void broker_wait_committed(struct broker *broker, const char *topic, int32_t partition, int64_t offset);

enum { SEEN_PARTITIONS = 4, SEEN_MAX = 20000, WORKERS_MAX = 4 };

struct host { /* a source, and workers that finish what they get */
	struct config_pipeline pipeline;
	struct metrics_page metrics;
	struct lanes *lanes;
	struct router *router;
	struct source *source;
	pthread_t poll_thread, workers[WORKERS_MAX];
	struct error error;
	bool result;

	pthread_mutex_t lock; /* the rest */
	pthread_cond_t changed;
	struct {
		size_t count;
		int64_t offsets[SEEN_MAX];
	} seen[SEEN_PARTITIONS]; /* of TOPIC, in the order they were worked on */
	size_t total;
	int64_t held_back;     /* of TOPIC/0: from this offset on nothing is finished; workers wait; -1 none */
	bool is_stuck;         /* they wait whatever they are told */
	int64_t retry_seen_ms; /* wall time at which a record of a retry topic was worked on */
	size_t batch_max;

	bool (*answer)(struct host *host);                                         /* to on_progress; NULL: written */
	bool is_refused;                                                           /* on_progress_wait says no */
	int64_t (*went_back)(struct host *host, const struct dedup_progress *row); /* NULL: never */
	int unanswered; /* progress that `answer` left without one */
	size_t progress_rows;
};
/* Defaults for the fields of `pipeline`; change them, then start (create and run in one). */
void host_init(struct host *host);
void host_create(struct host *host, struct broker *broker, const struct kafka_property *extra);
void host_run(struct host *host);
void host_start(struct host *host, struct broker *broker, const struct kafka_property *extra);
/* For half a second nothing was worked on. */
void host_wait_idle(struct host *host);
/* Stops it and waits; what source_run said is in result and error. */
void host_stop(struct host *host);
void host_join(struct host *host); /* of one that stops by itself */
void host_wait_total(struct host *host, size_t total);
void host_wait_seen(struct host *host, int partition, size_t count);
void host_wait_metric(struct host *host, enum metric_id id, int64_t at_least);
void host_hold_back(struct host *host, int64_t offset);
size_t host_seen(struct host *host, int partition);
#endif
