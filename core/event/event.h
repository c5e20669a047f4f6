/* A record made an event: id, type, keys, attempt, traceparent, parsed payload; or the reason why it is none. */
#ifndef IDEM_EVENT_EVENT_H
#define IDEM_EVENT_EVENT_H
#include "core/base/arena.h"
#include "core/config/config.h"
#include "core/event/json.h"
#include "core/event/uuid.h"
#include "core/kafka/record.h"

/* Headers of ours; one instance of each on a retry or dead letter record (names also used by retry/). */
#define HEADER_EVENT_ID "eventId"
#define HEADER_EVENT_TYPE "eventType"
#define HEADER_ATTEMPT "x-attempt"
#define HEADER_ROUND "x-round"
#define HEADER_DUE "x-due-ms"
#define HEADER_REASON "x-reason"
#define HEADER_ERROR "x-error"
#define HEADER_ORIGIN_TOPIC "x-origin-topic"
#define HEADER_ORIGIN_PARTITION "x-origin-partition"
#define HEADER_ORIGIN_OFFSET "x-origin-offset"
#define HEADER_ORIGIN_TIMESTAMP "x-origin-timestamp"
#define HEADER_GROUP "x-consumer-group"
#define HEADER_PLUGIN "x-plugin"
#define HEADER_PLUGIN_VERSION "x-plugin-version"
#define HEADER_PAYLOAD "x-dlq-payload" /* "database": the value did not fit and is in dead_letter.payload */
#define HEADER_TRACEPARENT "traceparent"

enum event_state {
	EVENT_READY,   /* goes to the handler if its id is new */
	EVENT_IGNORED, /* a known type this plugin does not handle, or a tombstone by configuration */
	EVENT_BROKEN   /* goes to the DLQ with `reason` unless has_id and the id was processed before */
};

struct event { /* lives in the batch's arena */
	enum event_state state;
	const char *reason; /* EVENT_BROKEN: malformed, duplicate_key, id_missing, id_invalid, id_mismatch,
	                       type_missing, type_unknown, key_incomplete, … */
	const char *detail; /* for people; no payload; NULL: none */
	bool has_id;        /* the dedup key below is set */
	struct uuid id;     /* of the event id, when it has one (also beside a business key) */
	bool has_uuid;
	struct bytes id_text;      /* canonical lower case text of id */
	struct bytes business_key; /* absent: the dedup key is the id */
	int64_t content_hash;      /* first 8 bytes of SHA-256 of the value, as PostgreSQL bigint */
	struct bytes type, key, order_key, payload, traceparent; /* key: the record's; order_key absent: none */
	uint32_t attempt, round; /* from x-attempt, x-round; 1 and 0 when absent or garbage */
	int64_t due_ms;          /* x-due-ms of a retry record, 0: now */
	bool retried, replayed;
	struct kafka_record record; /* as read */
	const char *origin_topic;
	int32_t origin_partition;
	int64_t origin_offset, origin_timestamp_ms; /* of the first publication */
	const struct json_document *document;       /* NULL: tombstone or broken */
};

/* Types: known (schemas folder, or what the plugin lists) and handled (what the plugin lists). */
struct event_types;
/* handled: NULL-terminated; an empty list handles everything known.  known_folder NULL: known = handled, and with an
 * empty list every type is known. */
struct event_types *event_types_create(const char *known_folder, const char *const *handled, struct error *error);
void event_types_destroy(struct event_types *types);

struct envelope { /* the rules, compiled once per pipeline; read only, shared by workers */
	const struct config_event *config;
	const char *group; /* headers of other groups' retries are not ours: x-attempt counts only with our
	                      x-consumer-group */
	const struct event_types *types;
	struct key_template *key_template; /* NULL: no business key */
};
bool envelope_init(struct envelope *envelope, const struct config_event *config, const char *group,
                   const struct event_types *types, struct error *error) MUST_CHECK;
void envelope_done(struct envelope *envelope);
/* Never fails: what is wrong is in out_event->state and ->reason.  [worker] */
void envelope_open(const struct envelope *envelope, const struct kafka_record *record, struct arena *arena,
                   struct event *out_event);

/* Business keys: "{eventType}:{orderId}:{eventVersion}"; parts percent-encoded for ':' and '%', numbers as written.
 * Offset, partition, topic and timestamp can't be named (IDEM-X2). */
struct key_template *key_template_create(const char *text, struct error *error);
void key_template_destroy(struct key_template *template);
/* Absent with *out_reason "key_incomplete" (missing, null, empty, object, array) or "key_too_long" (over 200
 * characters); *out_detail says which part. */
struct bytes key_template_apply(const struct key_template *template, const struct event *event, struct arena *arena,
                                const char **out_reason, const char **out_detail);
#endif
