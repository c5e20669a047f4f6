#include "tests/component/batch_bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/log.h"

struct bench bench;
struct pg *owner;
static char app_schema[64], conninfo[256];
static int64_t delays[] = {50, 50};
static struct config_source id_source = {CONFIG_PLACE_PAYLOAD, "eventId"};

/* ---- in place of librdkafka and the router, at link time ---- */

void rd_kafka_message_destroy(rd_kafka_message_t *message)
{
	free(message->payload);
	free(message->key);
	free(message);
}

int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *message, rd_kafka_timestamp_type_t *out_type)
{
	*out_type = RD_KAFKA_TIMESTAMP_CREATE_TIME;
	return 1000 + message->offset;
}

const char *rd_kafka_topic_name(const rd_kafka_topic_t *topic)
{
	(void)topic;
	return "orders";
}

rd_kafka_resp_err_t rd_kafka_message_headers(const rd_kafka_message_t *message, rd_kafka_headers_t **out_headers)
{
	(void)message;
	(void)out_headers;
	return RD_KAFKA_RESP_ERR__NOENT;
}

void router_send(struct router *router, const struct event *event, enum route route, const char *reason,
                 struct bytes error_text, void *opaque)
{
	(void)router;
	(void)error_text;
	PTHREAD_OK(pthread_mutex_lock(&bench.lock));
	ck_assert_uint_lt(bench.routed_count, BENCH_ROUTED);
	bench.routed[bench.routed_count].route = route;
	bench.routed[bench.routed_count].reason = reason;
	bench.routed[bench.routed_count].attempt = event->attempt;
	snprintf(bench.routed[bench.routed_count].id, 37, "%s", event->id_text.ptr);
	bench.routed_count++;
	PTHREAD_OK(pthread_mutex_unlock(&bench.lock));
	struct record *record = opaque;
	if (record->released)
		record_drop(record); /* not buried: as after a crash before the acknowledgement */
	else
		record_finish(record);
}

/* ---- a fresh database and default settings ---- */

static void make_tables(void)
{
	static int number;
	snprintf(app_schema, sizeof(app_schema), "app_%d_%d", (int)getpid(), number++);
	database_run(owner, "CREATE SCHEMA %s", app_schema);
	database_run(owner, "SET search_path = %s", app_schema);
	database_run(owner, "CREATE TABLE note (n bigint GENERATED ALWAYS AS IDENTITY, text text NOT NULL)");
	database_run(owner, "CREATE TABLE balance (key text PRIMARY KEY, amount bigint NOT NULL)");
	database_run(owner, "CREATE TABLE parent (key text PRIMARY KEY)");
	database_run(owner, "CREATE TABLE child (parent text REFERENCES parent (key) DEFERRABLE INITIALLY DEFERRED)");
	database_run(owner, "CREATE FUNCTION raise(state text) RETURNS void LANGUAGE plpgsql AS "
	                    "$$ BEGIN RAISE EXCEPTION USING ERRCODE = state; END $$");
	database_run(owner, "GRANT ALL ON SCHEMA %s TO \"" HOST_ROLE "\"", app_schema);
	database_run(owner, "GRANT ALL ON ALL TABLES IN SCHEMA %s TO \"" HOST_ROLE "\"", app_schema);
	snprintf(conninfo, sizeof(conninfo), "user='" HOST_ROLE "' options='-c search_path=%s'", app_schema);
}

static void set_defaults(void)
{
	bench.config.database = database_config(HOST_ROLE);
	bench.config.database.conninfo = conninfo;
	bench.pipeline = (struct config_pipeline){
	        .name = "billing",
	        .plugin = {.timeout_ms = 30000, .grace_ms = 5000},
	        .event = {.ids = &id_source,
	                  .id_count = 1,
	                  .type = {CONFIG_PLACE_PAYLOAD, "eventType"},
	                  .max_future_ms = 3600000,
	                  .max_bytes = 1 << 20,
	                  .max_depth = 64},
	        .ordering = CONFIG_ORDERING_KEY,
	        .workers = 1,
	        .max_deaths = 3,
	        .batch = {.max = 500, .max_ms = 60000},
	        .retry = {.mode = CONFIG_RETRY_IN_PLACE,
	                  .delays = {delays, 2},
	                  .max_parked_per_key = 1000,
	                  .max_parked = 10000},
	        .dedup = {.retention_ms = 7 * DAY_MS, .day_ms = DAY_MS},
	        .dlq_topic = "billing.dlq",
	};
}

void bench_setup(void)
{
	log_open("test", (enum log_level)0);
	database_setup();
	owner = database_connect("postgres");
	memset(&bench, 0, sizeof(bench));
	PTHREAD_OK(pthread_mutex_init(&bench.lock, NULL));
	bench.stop_status = -1;
	make_tables();
	set_defaults();
}

/* ---- the engine ---- */

static void bench_stopped(void *self, int status)
{
	(void)self;
	bench.stop_status = status;
}

static void open_plugin(const char *file)
{
	struct engine *engine = &bench.engine;
	struct error error;
	char path[200];
	snprintf(path, sizeof(path), STEER "%s.so", file);
	engine->plugin = plugin_open(path, &bench.pipeline.plugin, bench.pipeline.name, &error);
	ck_assert_msg(engine->plugin && plugin_create(engine->plugin, &error), "%s", error.text);
	engine->has_batch = plugin_descriptor(engine->plugin)->handle_batch != NULL;
}

static void open_dedup(void)
{
	struct error error;
	const struct dedup_options options = {.schema = database_schema,
	                                      .group = bench.pipeline.name,
	                                      .retention_ms = bench.pipeline.dedup.retention_ms,
	                                      .day_ms = bench.pipeline.dedup.day_ms,
	                                      .max_future_ms = bench.pipeline.event.max_future_ms};
	bench.pg = pg_open(&bench.config.database, "test side", 60000, &error);
	ck_assert_msg(bench.pg, "%s", error.text);
	bench.engine.dedup = dedup_open(bench.pg, &options, &error);
	ck_assert_msg(bench.engine.dedup, "%s", error.text);
	bench.engine.attempts = attempts_create(bench.pg, database_schema);
	bench.engine.parked = parked_statements_create(bench.pg, database_schema);
}

static void open_blame(void)
{
	bool is_broken;
	snprintf(bench.state_dir, sizeof(bench.state_dir), "/tmp/idem-bench.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(bench.state_dir));
	bench_open_blame(&is_broken);
	ck_assert(!is_broken);
}

void bench_open_blame(bool *out_is_broken)
{
	struct error error;
	const struct blame_options options = {.state_dir = bench.state_dir,
	                                      .pipeline = bench.pipeline.name,
	                                      .workers = BENCH_SIDES,
	                                      .batch_max = (size_t)bench.pipeline.batch.max};
	blame_close(bench.engine.blame);
	bench.engine.blame = blame_open(&options, &error);
	ck_assert_msg(bench.engine.blame &&
	                      blame_begin(bench.engine.blame, bench.pg, database_schema, out_is_broken, &error),
	              "%s", error.text);
}

static void open_envelope(void)
{
	struct error error;
	bench.types = event_types_create(NULL, plugin_descriptor(bench.engine.plugin)->event_types, &error);
	ck_assert_msg(bench.types && envelope_init(&bench.engine.envelope, &bench.pipeline.event, bench.pipeline.name,
	                                           bench.types, &error),
	              "%s", error.text);
}

void bench_start(const char *file)
{
	struct engine *engine = &bench.engine;
	engine->config = &bench.config;
	engine->pipeline = &bench.pipeline;
	engine->metrics = bench.metrics = calloc(1, sizeof(*bench.metrics));
	engine->stop = bench_stopped;
	engine->keeps_order =
	        bench.pipeline.ordering != CONFIG_ORDERING_NONE && bench.pipeline.retry.mode != CONFIG_RETRY_TOPICS;
	engine->parking.is_on = engine->parking.parks = bench.pipeline.retry.mode == CONFIG_RETRY_PARKED;
	atomic_store(&engine->parking.next_due_ms, INT64_MAX);
	engine->lanes = lanes_create(bench.pipeline.ordering);
	gate_init(&engine->gate, NULL, NULL);
	solo_init(&engine->solo);
	open_plugin(file);
	open_dedup();
	open_blame();
	open_envelope();
	bench.partition = partition_create("orders", 0, 0);
	for (size_t i = 0; i < BENCH_SIDES; i++) {
		struct bench_side *side = &bench.sides[i];
		watch_init(&side->watch);
		batch_init(&side->batch, engine, &side->watch, (uint32_t)i);
		bench_reconnect(i);
	}
}

static void remove_state_dir(void)
{
	char path[200];
	if (!bench.state_dir[0])
		return;
	snprintf(path, sizeof(path), "%s/blame/%s", bench.state_dir, bench.pipeline.name);
	ck_assert_int_eq(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/blame", bench.state_dir);
	ck_assert(rmdir(path) == 0 && rmdir(bench.state_dir) == 0);
}

void bench_teardown(void)
{
	for (size_t i = 0; i < BENCH_SIDES && bench.partition; i++) {
		batch_done(&bench.sides[i].batch);
		pg_close(bench.sides[i].batch.pg);
		watch_done(&bench.sides[i].watch);
	}
	for (size_t i = 0; i < bench.count; i++)
		record_drop(bench.records[i]);
	lanes_destroy(bench.engine.lanes);
	partition_unref(bench.partition);
	if (bench.partition)
		envelope_done(&bench.engine.envelope);
	event_types_destroy(bench.types);
	attempts_destroy(bench.engine.attempts);
	parked_statements_destroy(bench.engine.parked);
	blame_close(bench.engine.blame);
	remove_state_dir();
	solo_done(&bench.engine.solo);
	dedup_close(bench.engine.dedup);
	pg_close(bench.pg);
	plugin_destroy(bench.engine.plugin);
	free(bench.metrics);
	database_run(owner, "SET client_min_messages = warning");
	database_run(owner, "DROP SCHEMA %s CASCADE", app_schema);
	pg_close(owner);
	database_teardown();
}

/* ---- records ---- */

static struct record *make_record(char lane, const char *id, const char *script)
{
	rd_kafka_message_t *message = calloc(1, sizeof(*message));
	char *payload;
	ck_assert(message && bench.count < BENCH_RECORDS);
	int length = asprintf(&payload, "{\"eventId\":\"%s\",\"eventType\":\"test.v1\",\"do\":\"%s\"}", id, script);
	ck_assert_int_gt(length, 0);
	message->payload = payload;
	message->len = (size_t)length;
	message->offset = (int64_t)bench.count;
	message->key = strndup(&lane, 1);
	message->key_len = 1;
	struct record *record = record_create(message, bench.partition);
	record_begin(record, 0);
	record->lane = (struct lane *)(uintptr_t)lane; /* an address to compare, until it is pushed */
	bench.records[bench.count++] = record;
	return record;
}

struct record *bench_event(char lane, const char *script)
{
	struct uuid uuid;
	char id[UUID_TEXT_BYTES];
	uuid_make_v7(clock_wall_ms(), &uuid);
	uuid_to_text(&uuid, id);
	return make_record(lane, id, script);
}

struct record *bench_copy(char lane, const struct record *original, const char *script)
{
	char id[UUID_TEXT_BYTES];
	snprintf(id, sizeof(id), "%s", (const char *)original->message->payload + strlen("{\"eventId\":\""));
	return make_record(lane, id, script);
}

/* ---- runs ---- */

struct pg *bench_pg(size_t side)
{
	return bench.sides[side].batch.pg;
}

void bench_reconnect(size_t side)
{
	struct bench_side *it = &bench.sides[side];
	struct error error;
	char name[32];
	snprintf(name, sizeof(name), "test %d", (int)getpid());
	pg_close(it->batch.pg);
	it->batch.pg = pg_open(&bench.config.database, name, engine_idle_in_transaction_ms(&bench.engine), &error);
	ck_assert_msg(it->batch.pg, "%s", error.text);
	watch_set_pg(&it->watch, it->batch.pg);
}

void bench_clean_up(size_t side)
{
	struct batch *batch = &bench.sides[side].batch;
	enum batch_failure failure = batch->failure;
	if (pg_is_broken(batch->pg)) {
		bench_reconnect(side);
	} else if (PQtransactionStatus(pg_handle(batch->pg)) != PQTRANS_IDLE) {
		batch->failure = BATCH_FINE;
		ck_assert_msg(batch_execute(batch, "ROLLBACK"), "%s", batch->error.text);
	}
	batch->failure = failure;
}

bool bench_run_records(size_t side, struct record **records, size_t count)
{
	bool result = batch_run(&bench.sides[side].batch, records, count);
	if (!result)
		bench_clean_up(side);
	return result;
}

bool bench_run(void)
{
	static size_t ran;
	static struct partition *of;
	if (of != bench.partition)
		ran = 0;
	of = bench.partition;
	size_t first = ran;
	ran = bench.count;
	return bench_run_records(0, bench.records + first, bench.count - first);
}

static void *side_main(void *argument)
{
	struct bench_side *side = argument;
	side->result = batch_run(&side->batch, side->records, side->count);
	return NULL;
}

void bench_run_in_thread(size_t side, struct record **records, size_t count)
{
	struct bench_side *it = &bench.sides[side];
	it->records = records;
	it->count = count;
	PTHREAD_OK(pthread_create(&it->thread, NULL, side_main, it));
}

bool bench_join(size_t side)
{
	PTHREAD_OK(pthread_join(bench.sides[side].thread, NULL));
	if (!bench.sides[side].result)
		bench_clean_up(side);
	return bench.sides[side].result;
}

/* ---- what came of it ---- */

const char *bench_outcomes(size_t side)
{
	static const char *const names[] = {"open", "done", "duplicate", "ignored", "retry", "dead", "back", "parked"};
	static char text[8192];
	const struct batch *batch = &bench.sides[side].batch;
	size_t at = 0;
	text[0] = '\0';
	for (size_t i = 0; i < batch->count; i++) {
		const struct entry *entry = &batch->entries[i];
		bool has_reason = entry->outcome == OUTCOME_RETRY || entry->outcome == OUTCOME_DEAD;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s%s%s", i ? ", " : "", names[entry->outcome],
		                       has_reason ? " " : "", has_reason ? entry->reason : "");
		ck_assert_uint_lt(at, sizeof(text));
	}
	return text;
}

const char *bench_notes(void)
{
	return database_ask(owner, "SELECT string_agg(text, ' ' ORDER BY n) FROM note");
}

int64_t bench_claims(void)
{
	return database_number(owner, "SELECT count(*) FROM \"%s\".processed_event", database_schema);
}

int64_t bench_balance(const char *key)
{
	return database_number(owner, "SELECT amount FROM balance WHERE key = '%s'", key);
}

int64_t bench_counter(const char *name)
{
	char *text, line[100];
	size_t len;
	FILE *out = open_memstream(&text, &len);
	ck_assert_ptr_nonnull(out);
	plugin_print_metrics(bench.engine.plugin, out);
	ck_assert_int_eq(fclose(out), 0);
	snprintf(line, sizeof(line), "\nidem_plugin_%s_total{pipeline=\"billing\"} ", name);
	const char *at = strstr(text, line);
	ck_assert_msg(at, "no metric %s in %s", name, text);
	int64_t value = strtoll(at + strlen(line), NULL, 10);
	free(text);
	return value;
}

/* ---- real workers ---- */

void bench_push_all(const char *lanes, struct record *const *records)
{
	struct lanes_item items[8];
	size_t count = strlen(lanes);
	ck_assert_uint_le(count, 8);
	for (size_t i = 0; i < count; i++) {
		records[i]->lane = NULL;
		record_ref(records[i]); /* the bench's own is dropped at the end */
		items[i] = (struct lanes_item){records[i], {lanes + i, 1}};
	}
	lanes_push(bench.engine.lanes, items, count);
}

void bench_push(char lane, struct record *record)
{
	bench_push_all((char[]){lane, '\0'}, &record);
}

void bench_start_worker(void)
{
	if (!bench.worker)
		bench.worker = worker_create(&bench.engine, BENCH_SIDES);
	worker_start(bench.worker);
}

void bench_stop_worker(void)
{
	gate_close(&bench.engine.gate);
	lanes_close(bench.engine.lanes);
	worker_join(bench.worker);
	worker_destroy(bench.worker);
	bench.worker = NULL;
}

void bench_wait_finished(uint64_t count)
{
	while (partition_load(bench.partition).finished < count)
		database_run(owner, "SELECT pg_sleep(0.005)");
}
