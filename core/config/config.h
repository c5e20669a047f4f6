/* The configuration, typed and checked.  Read once by the supervisor; a child gets its own part printed back as
 * libconfig text (config_print) over an inherited descriptor and reads that with the same parser.  Immutable after
 * config_load. Every setting is one row of settings.def; the parser, the checks, --show-config, the sample and the
 * manual come from it. */
#ifndef IDEM_CONFIG_CONFIG_H
#define IDEM_CONFIG_CONFIG_H
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A librdkafka property, with dots; or a plugin option (a list: several items of one name in a row). */
struct config_property {
	const char *name, *value;
	bool secret;
};
struct config_properties {
	struct config_property *items;
	size_t count;
};
struct config_strings {
	const char **items;
	size_t count;
};
struct config_durations {
	int64_t *ms;
	size_t count;
};

enum config_pooler { CONFIG_POOLER_NONE, CONFIG_POOLER_TRANSACTION };
enum config_ordering { CONFIG_ORDERING_PARTITION, CONFIG_ORDERING_KEY, CONFIG_ORDERING_NONE };
enum config_retry_mode { CONFIG_RETRY_IN_PLACE, CONFIG_RETRY_PARKED, CONFIG_RETRY_TOPICS };
enum config_isolation { CONFIG_ISOLATION_BATCH, CONFIG_ISOLATION_EVENT };
enum config_id_version { CONFIG_ID_V7, CONFIG_ID_ANY };
enum config_tombstone { CONFIG_TOMBSTONE_SKIP, CONFIG_TOMBSTONE_DELIVER, CONFIG_TOMBSTONE_DLQ };
enum config_reuse { CONFIG_REUSE_DLQ, CONFIG_REUSE_LOG };
enum config_start { CONFIG_START_EARLIEST, CONFIG_START_LATEST };
enum config_place { CONFIG_PLACE_PAYLOAD, CONFIG_PLACE_HEADER };

struct config_source {
	enum config_place place;
	const char *name;
}; /* "payload:eventId", "header:eventId"; a bare name: payload */

struct config_database {
	const char *conninfo;
	const char *password; /* given, or read from there; never printed but into the child's descriptor */
	const char *password_file, *password_env;
	const char *schema; /* where the tables of sql/ live, default "public" */
	enum config_pooler pooler;
	bool allow_async_commit; /* accept a server with synchronous_commit=off */
	int64_t connect_timeout_ms, statement_timeout_ms, tcp_user_timeout_ms;
	int64_t max_connections; /* of the server or pooler: pipelines need workers + 2 each */
	int line;
};

struct config_kafka {
	struct config_properties properties;
	int line;
};

struct config_plugin {
	const char *file, *sha256; /* sha256 NULL: not checked */
	struct config_properties options;
	int64_t timeout_ms, grace_ms; /* 30 s, 5 s */
	int line;
};

struct config_event {
	struct config_source *ids;
	size_t id_count;           /* looked at in this order; all that are there must agree */
	struct config_source type; /* default payload:eventType, then header eventType when the payload has none */
	const char *key;          /* payload field (name or JSON pointer) of the ordering key; NULL: the record's key */
	const char *business_key; /* template; NULL: the event id is the dedup key */
	const char *schemas; /* folder; its file names less ".json" are the known types; NULL: the plugin's event types
	                        are */
	enum config_id_version id_version;
	enum config_tombstone tombstone;
	enum config_reuse on_reuse;
	int64_t max_future_ms; /* 1 h */
	int64_t max_bytes;     /* payload, 1 MiB */
	int64_t max_depth;     /* JSON nesting, 64 */
};

struct config_batch {
	int64_t max, max_ms;
};
struct config_retry {
	enum config_retry_mode mode;
	struct config_durations delays;
	int64_t max_parked_per_key, max_parked;
};
struct config_dedup {
	int64_t retention_ms, day_ms;
};
struct config_queue {
	int64_t max_bytes, max_ahead, max_ahead_ms, depth;
};

struct config_pipeline {
	const char *name; /* the consumer group and the scope of the dedup */
	struct config_strings topics;
	struct config_plugin plugin;
	struct config_event event;
	enum config_ordering ordering;
	int64_t workers;
	struct config_batch batch;
	struct config_retry retry;
	struct config_dedup dedup;
	struct config_queue queue;
	const char *dlq_topic; /* default <name>.dlq */
	enum config_start start;
	enum config_isolation isolation;
	int64_t revoke_max_ms;          /* 5 s */
	int64_t drain_max_ms;           /* 20 s */
	int64_t memory_max;             /* bytes, 0: no limit */
	int64_t max_deaths;             /* of the process for one event */
	bool accept_foreign_offsets;    /* the group's offsets may be ahead of the database */
	struct config_properties kafka; /* properties of this pipeline, over those of `kafka` */
	int line;
};

struct config_admin {
	const char *listen, *token_file;
	int line;
}; /* listen NULL: no admin port */

struct config {
	const char *file;      /* as given, for messages */
	const char *state_dir; /* default /var/lib/idem */
	enum log_level log_level;
	struct config_database database;
	struct config_kafka kafka;
	struct config_admin admin;
	struct config_pipeline *pipelines;
	size_t pipeline_count;
	struct arena arena; /* everything above lives here */
};

/* All mistakes of one file, in order of line. */
struct config_mistake {
	const char *file;
	int line;
	bool warning;
	const char *text;
}; /* file NULL: the one that was loaded */
struct config_report {
	struct config_mistake *items;
	size_t count, error_count, room;
	struct arena arena;
};

/* Reads and checks everything; files named in it (secrets, plugins' existence, schemas) are looked at, Kafka and
 * PostgreSQL are not.  True when there is no error; *out_report is filled either way and must be freed.  [main] */
bool config_load(const char *path, struct config *out_config, struct config_report *out_report) MUST_CHECK;
/* The same, but only the group `database` is looked at: for a tool that needs nothing else, where nothing else need be.
 */
bool config_load_database(const char *path, struct config *out_config, struct config_report *out_report) MUST_CHECK;
/* The same from an open descriptor (a child's own part); files named in it are not looked at.  fd stays open. */
bool config_load_fd(int fd, struct config *out_config, struct config_report *out_report) MUST_CHECK;
void config_done(struct config *config);
/* "file:line: error: text" lines. */
void config_report_print(const struct config_report *report, const char *file, FILE *out);
void config_report_done(struct config_report *report);
/* As libconfig text that config_load reads back.  only: one pipeline's name, or NULL for all.  with_secrets: inline
 * values instead of "(hidden)" / file names; only for a child's descriptor. */
bool config_print(const struct config *config, const char *only, bool with_secrets, FILE *out,
                  struct error *error) MUST_CHECK;
/* The manual's table and the sample file, from settings.def. */
void config_print_reference(FILE *out);
void config_print_sample(FILE *out);
const struct config_pipeline *config_find_pipeline(const struct config *config, const char *name);

/* What librdkafka is to be given: our defaults, then `kafka`, then the pipeline's `kafka`; a later one wins.  Only what
 * a consumer (a producer) understands.  The items are the caller's (config_properties_done), the strings the
 * configuration's. */
void config_consumer_properties(const struct config *config, const struct config_pipeline *pipeline,
                                struct config_properties *out_properties);
void config_producer_properties(const struct config *config, const struct config_pipeline *pipeline,
                                struct config_properties *out_properties);
void config_properties_done(struct config_properties *properties);
/* As a user writes it, in the largest unit that fits: "1500ms", "90s", "1m".  Names of retry topics end with it. */
void config_duration_text(int64_t ms, char *out, size_t size);
#endif
