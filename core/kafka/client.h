/* What consumer, producer and admin have in common: properties, librdkafka's log lines, errors.  [any thread] */
#ifndef IDEM_KAFKA_CLIENT_H
#define IDEM_KAFKA_CLIENT_H
#include "core/base/error.h"
#include "core/config/config.h"
#include "core/kafka/consumer.h"
#include <librdkafka/rdkafka.h>

/* What is configured, as the functions of this room take it.  The strings are those of properties; the caller frees;
 * never NULL. */
struct kafka_property *kafka_properties_create(const struct config_properties *properties);
/* defaults, then the user's, then forced: a later one wins.  defaults and forced end with a NULL name, may be NULL.
 * NULL: a property was refused; its name is in *error, its value is not when it may be a secret. */
rd_kafka_conf_t *kafka_conf_create(const struct kafka_property *defaults, const struct kafka_property *properties,
                                   size_t property_count, const struct kafka_property *forced, struct error *error);
/* Takes conf, also on failure. */
rd_kafka_t *kafka_client_create_take(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct error *error);

/* May the same request succeed later without anybody's help? */
bool kafka_code_is_retriable(rd_kafka_resp_err_t code);
/* "<format>: <what librdkafka says of code>"; false. */
bool kafka_error_set(struct error *error, rd_kafka_resp_err_t code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same of an error object, which is destroyed; NULL: no error, true. */
bool kafka_error_take(struct error *error, rd_kafka_error_t *taken, const char *format, ...) PRINTF_LIKE(3, 4);
#endif
