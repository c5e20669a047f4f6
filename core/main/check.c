/* idemd --check --connect: what only the servers can answer.  Everything is looked at, nothing is changed. */
#include "core/db/schema.h"
#include "core/kafka/admin.h"
#include "core/kafka/client.h"
#include "core/main/idemd.h"
#include <stdlib.h>

#define KAFKA_TIMEOUT_MS 10000

struct findings {
	FILE *out;
	int status; /* the worst so far: 0, 69 or 78 */
};

static void find(struct findings *findings, int status, const char *what, const struct error *error)
{
	fprintf(findings->out, "%s: %s\n", what, error->text);
	if (status > findings->status)
		findings->status = status;
}

/* ---- PostgreSQL ---- */

/* Least rights: what the host's role must be able to do, asked from the server. */
static bool check_grants(struct pg *pg, const char *schema, struct error *error)
{
	static const char sql[] =
	        "SELECT string_agg(format('%s on %I.%I', want.privilege, $1::text, want.name), ', ')"
	        " FROM (VALUES ('processed_event_other', 'INSERT'), ('processed_event_other', 'DELETE'),"
	        "  ('processed_message', 'INSERT'), ('processed_message', 'DELETE'), ('partition_state', 'INSERT'),"
	        "  ('partition_state', 'UPDATE'), ('dedup_allowed_old', 'SELECT')) AS want (name, privilege)"
	        " WHERE NOT coalesce(has_table_privilege(to_regclass(format('%I.%I', $1::text, want.name)),"
	        "  want.privilege), false)";
	PGresult *result = pg_run(pg, sql, &schema, 1, error);
	bool granted;

	if (!result)
		return false;
	granted = PQgetisnull(result, 0, 0);
	if (!granted)
		error_set(error, ERROR_DB, "role %s lacks %s; run: idemctl schema apply --role %s",
		          PQuser(pg_handle(pg)), PQgetvalue(result, 0, 0), PQuser(pg_handle(pg)));
	PQclear(result);
	return granted;
}

static void check_postgresql(const struct config *config, struct findings *findings)
{
	struct error error;
	struct pg *pg = pg_open(&config->database, "idemd check", 0, &error);

	if (!pg) {
		find(findings, IDEM_EXIT_SERVICE_MISSING, "postgresql", &error);
		return;
	}
	if (!schema_check(pg, config->database.schema, &error) || !check_grants(pg, config->database.schema, &error))
		find(findings, IDEM_EXIT_CONFIGURATION, "postgresql", &error);
	pg_close(pg);
}

/* ---- Kafka ---- */

static rd_kafka_t *open_client(const struct config *config, const struct config_pipeline *pipeline, struct error *error)
{
	struct config_properties properties;
	struct kafka_property *list;
	rd_kafka_conf_t *conf;

	config_consumer_properties(config, pipeline, &properties);
	list = kafka_properties_create(&properties);
	conf = kafka_conf_create(NULL, list, properties.count, NULL, error);
	free(list);
	config_properties_done(&properties);
	return conf ? kafka_client_create_take(RD_KAFKA_CONSUMER, conf, error) : NULL;
}

static void check_topics(rd_kafka_t *client, const struct config_pipeline *pipeline, struct findings *findings)
{
	struct error error;
	int partitions;

	for (size_t i = 0; i < pipeline->topics.count; i++) {
		const char *topic = pipeline->topics.items[i];

		if (*topic == '^') /* a regular expression may match nothing yet */
			continue;
		if (!kafka_topic_partitions(client, topic, KAFKA_TIMEOUT_MS, &partitions, &error)) {
			find(findings, IDEM_EXIT_SERVICE_MISSING, pipeline->name, &error);
			return; /* the next one would wait as long */
		}
		if (partitions == 0) {
			error_set(&error, ERROR_NOT_FOUND, "topic %s does not exist, or this user may not see it",
			          topic);
			find(findings, IDEM_EXIT_CONFIGURATION, pipeline->name, &error);
		}
	}
}

static void check_kafka(const struct config *config, const struct config_pipeline *pipeline, struct findings *findings)
{
	struct error error;
	rd_kafka_t *client = open_client(config, pipeline, &error);

	if (!client) {
		find(findings, IDEM_EXIT_CONFIGURATION, pipeline->name, &error);
		return;
	}
	check_topics(client, pipeline, findings);
	rd_kafka_destroy(client);
}

int check_services(const struct config *config, FILE *out)
{
	struct findings findings = {.out = out};

	check_postgresql(config, &findings);
	for (size_t i = 0; i < config->pipeline_count; i++)
		check_kafka(config, &config->pipelines[i], &findings);
	return findings.status;
}
