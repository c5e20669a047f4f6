#include "tests/component/source_bench.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/db/dedup.h"

/* ---- the broker ---- */

static void quiet(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
	(void)client, (void)level, (void)facility, (void)text;
}

void broker_start(struct broker *broker)
{
	char text[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_log_cb(conf, quiet);
	ck_assert_int_eq(rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", text, sizeof(text)), RD_KAFKA_CONF_OK);
	broker->client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	ck_assert_ptr_nonnull(broker->client);
	broker->cluster = rd_kafka_handle_mock_cluster(broker->client);
	snprintf(broker->bootstrap, sizeof(broker->bootstrap), "%s", rd_kafka_mock_cluster_bootstraps(broker->cluster));
}

void broker_stop(struct broker *broker)
{
	rd_kafka_destroy(broker->client);
}

void broker_topic(struct broker *broker, const char *name, int partitions)
{
	ck_assert_int_eq(rd_kafka_mock_topic_create(broker->cluster, name, partitions, 1), 0);
}

void broker_produce(struct broker *broker, const char *topic, int32_t partition, const char *key, const char *value,
                    int64_t due_ms)
{
	broker_produce_at(broker, (struct broker_record){topic, partition, key, value, due_ms, clock_wall_ms()});
}

void broker_produce_at(struct broker *broker, struct broker_record record)
{
	char due[32];
	rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
	snprintf(due, sizeof(due), "%lld", (long long)record.due_ms);
	if (record.due_ms)
		ck_assert_int_eq(rd_kafka_header_add(headers, "x-due-ms", -1, due, -1), 0);
	rd_kafka_resp_err_t code = rd_kafka_producev(
	        broker->client, RD_KAFKA_V_TOPIC(record.topic), RD_KAFKA_V_PARTITION(record.partition),
	        RD_KAFKA_V_KEY(record.key, record.key ? strlen(record.key) : 0),
	        RD_KAFKA_V_VALUE((void *)(uintptr_t)record.value, strlen(record.value)),
	        RD_KAFKA_V_TIMESTAMP(record.written_ms), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
	        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
	ck_assert_int_eq(code, 0);
}

void broker_flush(struct broker *broker)
{
	ck_assert_int_eq(rd_kafka_flush(broker->client, 10000), 0);
}

void broker_produce_many(struct broker *broker, int partitions, int each, size_t value_bytes)
{
	char *value = malloc(value_bytes + 1);
	ck_assert_ptr_nonnull(value);
	memset(value, 'v', value_bytes);
	value[value_bytes] = '\0';
	for (int i = 0; i < each; i++)
		for (int partition = 0; partition < partitions; partition++)
			broker_produce(broker, TOPIC, partition, "k", value, 0);
	free(value);
	broker_flush(broker);
}

int64_t broker_committed(struct broker *broker, const char *topic, int32_t partition)
{
	char text[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_log_cb(conf, quiet);
	rd_kafka_conf_set(conf, "bootstrap.servers", broker->bootstrap, text, sizeof(text));
	rd_kafka_conf_set(conf, "group.id", GROUP, text, sizeof(text));
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	ck_assert_ptr_nonnull(client);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, topic, partition);
	ck_assert_int_eq(rd_kafka_committed(client, list, 10000), 0);
	int64_t offset = list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy(client);
	return offset < 0 ? -1 : offset;
}

void broker_wait_committed(struct broker *broker, const char *topic, int32_t partition, int64_t offset)
{
	while (broker_committed(broker, topic, partition) < offset)
		;
}

/* ---- the host ---- */

static const char *topics[] = {TOPIC};

void host_init(struct host *host)
{
	memset(host, 0, sizeof(*host));
	host->pipeline = (struct config_pipeline){
	        .name = GROUP,
	        .topics = {topics, 1},
	        .event = {.max_depth = 64, .max_bytes = 1 << 20},
	        .ordering = CONFIG_ORDERING_PARTITION,
	        .workers = 2,
	        .batch = {100, 100},
	        .retry = {.mode = CONFIG_RETRY_IN_PLACE},
	        .queue = {.max_bytes = 64 << 20, .max_ahead = 10000, .max_ahead_ms = 300000, .depth = 4000},
	        .dlq_topic = GROUP ".dlq",
	        .revoke_max_ms = 5000,
	        .drain_max_ms = 10000,
	};
	host->held_back = -1;
	host->retry_seen_ms = -1;
	host->batch_max = 100;
	ck_assert_int_eq(pthread_mutex_init(&host->lock, NULL), 0);
	ck_assert_int_eq(pthread_cond_init(&host->changed, NULL), 0);
}

static bool is_held_back(const struct host *host, const struct record *record)
{
	return host->held_back >= 0 && partition_number(record->partition) == 0 &&
	       record->message->offset >= host->held_back;
}

static void note(struct host *host, const struct record *record)
{
	int partition = partition_number(record->partition);
	if (strcmp(partition_topic(record->partition), TOPIC) != 0) {
		host->retry_seen_ms = clock_wall_ms();
	} else {
		ck_assert_uint_lt(host->seen[partition].count, SEEN_MAX);
		host->seen[partition].offsets[host->seen[partition].count++] = record->message->offset;
	}
	host->total++;
}

static void wait_a_moment(void)
{
	(void)poll(NULL, 0, 2);
}

/* Finishes what may be finished; the rest comes back. */
static void work(struct host *host, struct record **records, size_t count)
{
	struct lanes_return back[256];
	size_t back_count = 0;
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	for (size_t i = 0; i < count; i++) {
		while (is_held_back(host, records[i]) &&
		       (host->is_stuck || !lanes_should_stop(host->lanes, records[i]))) {
			ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
			wait_a_moment(); /* lanes_should_stop tells nobody */
			ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
		}
		if (is_held_back(host, records[i]) || lanes_should_stop(host->lanes, records[i])) {
			back[back_count++] = (struct lanes_return){records[i], 0};
			continue;
		}
		note(host, records[i]);
		record_finish(records[i]);
	}
	ck_assert_int_eq(pthread_cond_broadcast(&host->changed), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
	lanes_give_back(host->lanes, records, count, back, back_count);
}

static void *worker_main(void *self)
{
	struct host *host = self;
	struct record *records[256];
	size_t count;
	while ((count = lanes_take(host->lanes, host->batch_max, -1, records)) > 0)
		work(host, records, count);
	return NULL;
}

static void *poll_main(void *self)
{
	struct host *host = self;
	host->result = source_run(host->source, &host->error);
	return NULL;
}

static void on_progress(void *self, const struct dedup_progress *rows, size_t count)
{
	struct host *host = self;
	bool answered = true;
	struct dedup_progress *answers = calloc(count + 1, sizeof(*answers));
	ck_assert_ptr_nonnull(answers);
	for (size_t i = 0; i < count; i++) {
		answers[i] = rows[i];
		answers[i].went_back_to = host->went_back ? host->went_back(host, &rows[i]) : -1;
	}
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	host->progress_rows += count;
	if (host->answer && !host->answer(host)) {
		host->unanswered++;
		answered = false;
	}
	ck_assert_int_eq(pthread_cond_broadcast(&host->changed), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
	if (answered)
		source_progress_written(host->source, true, answers, count);
	free(answers);
}

static bool on_progress_wait(void *self, const struct dedup_progress *rows, size_t count, int timeout_ms)
{
	struct host *host = self;
	(void)rows, (void)timeout_ms;
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	host->progress_rows += count;
	bool is_refused = host->is_refused;
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
	return !is_refused;
}

static void acknowledged(void *self, void *opaque, enum route route, const struct letter *letter)
{
	(void)route, (void)letter;
	record_finish(opaque);
	router_settle(((struct host *)self)->router, 1);
}

static void trouble(void *self, void *opaque, const struct error *error)
{
	(void)self, (void)opaque, (void)error;
}

static void create_source(struct host *host, const struct kafka_property *properties, size_t count)
{
	const struct router_options router = {
	        .pipeline = &host->pipeline,
	        .properties = properties,
	        .property_count = 1, /* the rest is the consumer's */
	        .plugin_name = "test",
	        .plugin_version = "1",
	        .self = host,
	        .on_acknowledged = acknowledged,
	        .on_trouble = trouble,
	};
	const struct source_options source = {
	        .pipeline = &host->pipeline,
	        .properties = properties,
	        .property_count = count,
	        .lanes = host->lanes,
	        .metrics = &host->metrics,
	        .on_progress = on_progress,
	        .on_progress_wait = on_progress_wait,
	        .self = host,
	};
	struct source_options options = source;
	host->router = router_create(&router, &host->error);
	ck_assert_msg(host->router != NULL, "%s", host->error.text);
	options.router = host->router;
	host->source = source_create(&options, &host->error);
	ck_assert_msg(host->source != NULL, "%s", host->error.text);
}

void host_create(struct host *host, struct broker *broker, const struct kafka_property *extra)
{
	struct kafka_property properties[8] = {{"bootstrap.servers", broker->bootstrap},
	                                       {"session.timeout.ms", "6000"},
	                                       {"heartbeat.interval.ms", "200"}};
	size_t count = 3;
	for (; extra && extra->name; extra++)
		properties[count++] = *extra;
	host->lanes = lanes_create(host->pipeline.ordering);
	create_source(host, properties, count);
}

void host_run(struct host *host)
{
	for (int64_t i = 0; i < host->pipeline.workers; i++)
		ck_assert_int_eq(pthread_create(&host->workers[i], NULL, worker_main, host), 0);
	ck_assert_int_eq(pthread_create(&host->poll_thread, NULL, poll_main, host), 0);
}

void host_start(struct host *host, struct broker *broker, const struct kafka_property *extra)
{
	host_create(host, broker, extra);
	host_run(host);
}

void host_wait_idle(struct host *host)
{
	size_t before;
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	do {
		struct timespec until = clock_deadline(500);
		before = host->total;
		while (host->total == before && clock_wait_until(&host->changed, &host->lock, &until))
			;
	} while (host->total != before);
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
}

void host_stop(struct host *host)
{
	source_stop(host->source);
	host_join(host);
}

void host_join(struct host *host)
{
	ck_assert_int_eq(pthread_join(host->poll_thread, NULL), 0);
	lanes_close(host->lanes);
	for (int64_t i = 0; i < host->pipeline.workers; i++)
		ck_assert_int_eq(pthread_join(host->workers[i], NULL), 0);
	lanes_destroy(host->lanes);
	source_destroy(host->source);
	router_destroy(host->router, 1000);
	ck_assert_int_eq(pthread_mutex_destroy(&host->lock), 0);
	ck_assert_int_eq(pthread_cond_destroy(&host->changed), 0);
}

void host_wait_total(struct host *host, size_t total)
{
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	while (host->total < total)
		ck_assert_int_eq(pthread_cond_wait(&host->changed, &host->lock), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
}

void host_wait_seen(struct host *host, int partition, size_t count)
{
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	while (host->seen[partition].count < count)
		ck_assert_int_eq(pthread_cond_wait(&host->changed, &host->lock), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
}

size_t host_seen(struct host *host, int partition)
{
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	size_t count = host->seen[partition].count;
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
	return count;
}

void host_hold_back(struct host *host, int64_t offset)
{
	ck_assert_int_eq(pthread_mutex_lock(&host->lock), 0);
	host->held_back = offset;
	ck_assert_int_eq(pthread_cond_broadcast(&host->changed), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&host->lock), 0);
}

/* Metrics tell nobody when they change. */
void host_wait_metric(struct host *host, enum metric_id id, int64_t at_least)
{
	while (metrics_get(&host->metrics, id) < at_least)
		wait_a_moment();
}
