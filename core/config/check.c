#include "core/config/check.h"
#include "core/config/conninfo.h"
#include "core/config/names.h"
#include "core/config/properties.h"
#include "core/config/secret.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONNECTIONS_BESIDE_WORKERS 2 /* the side connection, and one more while a worker reconnects */
#define DEDUP_TABLES_MOST 1000
#define TOPIC_LONGEST 249

struct checked { /* one pipeline */
	struct reader *reader;
	const struct config *config;
	struct config_pipeline *pipeline;
	const config_setting_t *group;
};

static void mistake(const struct checked *checked, const char *path, const char *format, ...) PRINTF_LIKE(3, 4);

static void mistake(const struct checked *checked, const char *path, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report_add(checked->reader->report, reader_member_place(checked->group, path), false, format, arguments);
	va_end(arguments);
}

#define RETRY_PART ".retry." /* "<name>.retry.<delay>", and the host reads whatever begins with "<name>.retry." */

static void check_name(const struct checked *checked)
{
	const char *name = checked->pipeline->name;

	if (name && strstr(name, RETRY_PART))
		mistake(checked, "name",
		        "name: \"%s\" contains " RETRY_PART
		        ", so that its topics would be read as the retry topics of %.*s; "
		        "use another name",
		        name, (int)(strstr(name, RETRY_PART) - name), name);
	for (const struct config_pipeline *other = checked->config->pipelines; name && other < checked->pipeline;
	     other++)
		if (other->name && strcmp(other->name, name) == 0)
			mistake(checked, "name", "name: \"%s\" is already the name of the pipeline at line %d", name,
			        other->line);
}

static struct report_place topic_place(const struct checked *checked, size_t i)
{
	const config_setting_t *topics = config_setting_get_member(checked->group, "topics");

	return reader_place(reader_is_scalar(topics) ? topics : config_setting_get_elem(topics, (unsigned)i));
}

static void check_topics(const struct checked *checked)
{
	const struct config_strings *topics = &checked->pipeline->topics;

	for (size_t i = 0; i < topics->count; i++)
		for (size_t j = 0; topics->items[i] && j < i; j++)
			if (topics->items[j] && strcmp(topics->items[i], topics->items[j]) == 0)
				report_error(checked->reader->report, topic_place(checked, i),
				             "topics: \"%s\" is listed twice", topics->items[i]);
}

static bool is_source(const struct config_pipeline *pipeline, const char *topic)
{
	for (size_t i = 0; i < pipeline->topics.count; i++)
		if (pipeline->topics.items[i] && strcmp(pipeline->topics.items[i], topic) == 0)
			return true;
	return false;
}

static void check_dead_letter_topic(const struct checked *checked)
{
	const char *topic = checked->pipeline->dlq_topic;

	if (!topic || !checked->pipeline->name)
		return;
	if (is_source(checked->pipeline, topic))
		mistake(checked, "dlq.topic",
		        "dlq.topic: \"%s\" is also one of topics, so that dead letters would be handled again and "
		        "again",
		        topic);
	if (strstr(topic, RETRY_PART) && !strstr(checked->pipeline->name, RETRY_PART))
		mistake(checked, "dlq.topic",
		        "dlq.topic: \"%s\" contains " RETRY_PART
		        ", so that dead letters would be read as retries; use another "
		        "name",
		        topic);
	if (strlen(topic) > TOPIC_LONGEST)
		mistake(checked, "name", "dlq.topic: \"%s\" is longer than the %d characters of a topic", topic,
		        TOPIC_LONGEST);
}

/* What one pipeline writes for itself or for people must not be read by another as events of its own. */
static void check_source(const struct checked *checked, const struct config_pipeline *other, size_t i)
{
	const char *topic = checked->pipeline->topics.items[i], *dead = other->dlq_topic;
	size_t length = strlen(other->name);

	if (!topic)
		return;
	if (dead && strcmp(topic, dead) == 0)
		report_error(checked->reader->report, topic_place(checked, i),
		             "topics: \"%s\" is where pipeline %s puts its dead letters; leave it out, and send them "
		             "again with idemctl dlq replay",
		             topic, other->name);
	if (strncmp(topic, other->name, length) == 0 && strncmp(topic + length, RETRY_PART, strlen(RETRY_PART)) == 0)
		report_error(checked->reader->report, topic_place(checked, i),
		             "topics: \"%s\" is a retry topic of pipeline %s; leave it out", topic, other->name);
}

/* When all are complete: a pipeline may read what a later one writes. */
static void check_sources(const struct checked *checked)
{
	for (size_t i = 0; i < checked->config->pipeline_count; i++) {
		const struct config_pipeline *other = &checked->config->pipelines[i];

		for (size_t j = 0; other->name && other != checked->pipeline && j < checked->pipeline->topics.count;
		     j++)
			check_source(checked, other, j);
	}
}

static void check_retry_topic(const struct checked *checked, size_t tier)
{
	const struct config_durations *delays = &checked->pipeline->retry.delays;
	char delay[32], topic[2 * TOPIC_LONGEST];

	config_duration_text(delays->ms[tier], delay, sizeof(delay));
	snprintf(topic, sizeof(topic), "%s.retry.%s", checked->pipeline->name, delay);
	if (is_source(checked->pipeline, topic))
		mistake(checked, "topics", "topics: \"%s\" is the retry topic of the delay %s; leave it out", topic,
		        delay);
	for (size_t i = 0; i < tier; i++)
		if (delays->ms[i] == delays->ms[tier])
			mistake(checked, "retry.delays",
			        "retry.delays: %s is there twice, and each delay has its own topic", delay);
	if (tier > 0 && delays->ms[tier] < delays->ms[tier - 1])
		mistake(checked, "retry.delays",
		        "retry.delays: %s comes after a longer one; write the delays in ascending order", delay);
}

static void check_retry(const struct checked *checked)
{
	const struct config_pipeline *pipeline = checked->pipeline;

	if (pipeline->retry.mode == CONFIG_RETRY_PARKED && pipeline->ordering == CONFIG_ORDERING_NONE)
		mistake(checked, "retry.mode",
		        "retry.mode: parked keeps an order, and ordering is none; use topics, or ordering = \"key\"");
	if (pipeline->retry.max_parked_per_key > pipeline->retry.max_parked)
		mistake(checked, "retry.max_parked_per_key",
		        "retry.max_parked_per_key: must not be above retry.max_parked (%" PRId64 ")",
		        pipeline->retry.max_parked);
	if (pipeline->retry.mode != CONFIG_RETRY_TOPICS)
		return;
	for (size_t tier = 0; pipeline->name && tier < pipeline->retry.delays.count; tier++)
		if (pipeline->retry.delays.ms[tier] > 0)
			check_retry_topic(checked, tier);
	if (pipeline->ordering != CONFIG_ORDERING_NONE)
		report_warning(checked->reader->report, reader_member_place(checked->group, "retry.mode"),
		               "retry.mode: topics gives up the order of a %s when an event is retried; use parked "
		               "to keep it",
		               pipeline->ordering == CONFIG_ORDERING_KEY ? "key" : "partition");
}

static void check_event(const struct checked *checked)
{
	const struct config_event *event = &checked->pipeline->event;

	for (size_t i = 0; i < event->id_count; i++)
		if (event->ids[i].name && names_is_position(event->ids[i].name))
			mistake(checked, "event.id",
			        "event.id: %s: where a record lies in kafka is no identity; name the field that holds "
			        "the event's uuid",
			        event->ids[i].name);
	if (checked->pipeline->ordering == CONFIG_ORDERING_KEY && event->key &&
	    event->tombstone == CONFIG_TOMBSTONE_DELIVER)
		report_warning(
		        checked->reader->report, reader_member_place(checked->group, "event.tombstone"),
		        "event.tombstone: a tombstone has no payload to take event.key from, so its order among its "
		        "key's events is not kept; leave event.key out to order by the record's key");
}

/* What one event leaves in its session is wiped with DISCARD ALL, which a pooler may send to another session. */
static void check_isolation(const struct checked *checked)
{
	if (checked->pipeline->isolation == CONFIG_ISOLATION_EVENT &&
	    checked->config->database.pooler == CONFIG_POOLER_TRANSACTION)
		mistake(checked, "isolation",
		        "isolation: event needs a database session of its own, which database.pooler = \"transaction\" "
		        "does not give; connect without the pooler or use isolation = \"batch\"");
}

static int64_t kafka_number(const struct checked *checked, const char *name)
{
	struct config_properties properties;
	const char *value;
	int64_t number;

	config_consumer_properties(checked->config, checked->pipeline, &properties);
	value = properties_find(&properties, name);
	number = value ? strtoll(value, NULL, 10) : 0;
	config_properties_done(&properties);
	return number;
}

static void check_brokers(const struct checked *checked)
{
	static const char *const names[] = {"bootstrap.servers", "metadata.broker.list"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (properties_find(&checked->config->kafka.properties, names[i]) ||
		    properties_find(&checked->pipeline->kafka, names[i]))
			return;
	mistake(checked, "kafka",
	        "kafka: bootstrap_servers is missing; write kafka = { bootstrap_servers = \"host:9092\"; };");
}

static void check_times(const struct checked *checked)
{
	int64_t session_ms = kafka_number(checked, "session.timeout.ms");
	int64_t rebalance_ms = kafka_number(checked, "max.poll.interval.ms");

	if (session_ms > rebalance_ms)
		mistake(checked, "kafka",
		        "kafka: session_timeout_ms (%" PRId64 ") must not be above max_poll_interval_ms (%" PRId64 ")",
		        session_ms, rebalance_ms);
	if (checked->pipeline->revoke_max_ms >= rebalance_ms)
		mistake(checked, "revoke_max",
		        "revoke_max: must be under max_poll_interval_ms (%" PRId64
		        "), after which the group goes on without us",
		        rebalance_ms);
}

static void check_limits(const struct checked *checked)
{
	const struct config_pipeline *pipeline = checked->pipeline;
	int64_t tables = pipeline->dedup.retention_ms / pipeline->dedup.day_ms;

	if (tables > DEDUP_TABLES_MOST)
		mistake(checked, "dedup",
		        "dedup: retention holds %" PRId64 " days, more than %d tables are too many; make day longer",
		        tables, DEDUP_TABLES_MOST);
	if (pipeline->memory_max > 0 && pipeline->memory_max < 2 * pipeline->queue.max_bytes)
		mistake(checked, "memory_max", "memory_max: must be at least twice queue.max_bytes (%" PRId64 ")",
		        pipeline->queue.max_bytes);
	if (pipeline->event.max_bytes > pipeline->queue.max_bytes)
		mistake(checked, "event.max_bytes", "event.max_bytes: must not be above queue.max_bytes (%" PRId64 ")",
		        pipeline->queue.max_bytes);
}

/* Up to and with this pipeline, so that the one that is too much is named. */
static void check_connections(const struct checked *checked)
{
	int64_t before = 0, with_it, most = checked->config->database.max_connections;

	for (const struct config_pipeline *other = checked->config->pipelines; other < checked->pipeline; other++)
		before += other->workers + CONNECTIONS_BESIDE_WORKERS;
	with_it = before + checked->pipeline->workers + CONNECTIONS_BESIDE_WORKERS;
	if (before <= most && with_it > most)
		mistake(checked, "workers",
		        "workers: the pipelines up to here need %" PRId64
		        " database connections (workers + %d each), but "
		        "database.max_connections is %" PRId64 "; lower workers or raise it",
		        with_it, CONNECTIONS_BESIDE_WORKERS, most);
}

/* A partition that is parked would be copied from Kafka into the database; it waits as well where it is. */
static enum config_retry_mode default_retry_mode(enum config_ordering ordering)
{
	switch (ordering) {
	case CONFIG_ORDERING_KEY:
		return CONFIG_RETRY_PARKED;
	case CONFIG_ORDERING_PARTITION:
		return CONFIG_RETRY_IN_PLACE;
	default:
		return CONFIG_RETRY_TOPICS;
	}
}

static void complete_pipeline(const struct checked *checked)
{
	struct config_pipeline *pipeline = checked->pipeline;
	const config_setting_t *retry = config_setting_get_member(checked->group, "retry");
	bool written = retry && config_setting_is_group(retry) && config_setting_get_member(retry, "mode");

	if (!written)
		pipeline->retry.mode = default_retry_mode(pipeline->ordering);
	if (!pipeline->dlq_topic && pipeline->name)
		pipeline->dlq_topic = arena_printf(&checked->reader->config->arena, "%s.dlq", pipeline->name);
}

static void check_pipeline(const struct checked *checked)
{
	complete_pipeline(checked);
	check_name(checked);
	check_topics(checked);
	check_dead_letter_topic(checked);
	check_retry(checked);
	check_event(checked);
	check_isolation(checked);
	check_brokers(checked);
	check_times(checked);
	check_limits(checked);
	check_connections(checked);
}

static void warn_of_readers(struct reader *reader, struct report_place place, const char *path)
{
	struct stat status;

	if (path && reader->looks_at_files && stat(path, &status) == 0 && status.st_mode & S_IROTH)
		report_warning(reader->report, place, "%s holds a secret and everybody can read it; chmod o-r", path);
}

static void check_database(struct reader *reader, const config_setting_t *root)
{
	struct config_database *database = &reader->config->database;
	struct report_place place =
	        reader_member_place(root, database->password_file ? "database.password_file" : "database.password_env");
	int ways = !!database->password + !!database->password_file + !!database->password_env;
	struct error error;

	if (database->conninfo && reader->looks_at_files && !conninfo_check_files(database->conninfo, &error))
		report_error(reader->report, reader_member_place(root, "database.conninfo"), "database.conninfo: %s",
		             error.text);
	if (ways > 1)
		report_error(reader->report, place, "database: give one of password, password_file and password_env");
	if (ways != 1 || database->password || !reader->looks_at_files)
		return;
	error_clear(&error);
	if (database->password_file)
		database->password = secret_read_file(database->password_file, &reader->config->arena, &error);
	else
		database->password = secret_read_environment(database->password_env, &reader->config->arena, &error);
	if (!database->password)
		report_error(reader->report, place, "database: the password can't be read: %s", error.text);
	else
		warn_of_readers(reader, place, database->password_file);
}

static void check_admin(struct reader *reader, const config_setting_t *root)
{
	const struct config_admin *admin = &reader->config->admin;

	if (admin->listen && !admin->token_file && strncmp(admin->listen, "127.", 4) != 0 &&
	    strncmp(admin->listen, "localhost:", 10) != 0 && strncmp(admin->listen, "[::1]:", 6) != 0)
		report_warning(reader->report, reader_member_place(root, "admin.listen"),
		               "admin.listen: %s can be reached from elsewhere, and without token_file by everybody",
		               admin->listen);
	warn_of_readers(reader, reader_member_place(root, "admin.token_file"), admin->token_file);
}

static void check_state_dir(struct reader *reader, const config_setting_t *root)
{
	const char *path = reader->config->state_dir;
	struct stat status;

	if (path && reader->looks_at_files && stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
		report_error(reader->report, reader_member_place(root, "state_dir"), "state_dir: %s is no folder",
		             path);
}

static void each_pipeline(struct reader *reader, const config_setting_t *list, void (*check)(const struct checked *))
{
	for (size_t i = 0; i < reader->config->pipeline_count; i++) {
		struct checked checked = {
		        .reader = reader,
		        .config = reader->config,
		        .pipeline = &reader->config->pipelines[i],
		        .group = config_setting_get_elem(list, (unsigned)i),
		};

		if (config_setting_is_group(checked.group))
			check(&checked);
	}
}

void check_config(struct reader *reader, const config_setting_t *root)
{
	const config_setting_t *list = config_setting_get_member(root, "pipelines");

	check_state_dir(reader, root);
	check_database(reader, root);
	check_admin(reader, root);
	each_pipeline(reader, list, check_pipeline);
	each_pipeline(reader, list, check_sources);
}
