#include "core/config/properties.h"
#include "core/base/assert.h"
#include "core/config/names.h"
#include "core/config/nearest.h"
#include "core/config/secret.h"
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum origin { ORIGIN_HERE, ORIGIN_FILE, ORIGIN_ENVIRONMENT };

/* The value, or NULL and *error; NULL with ERROR_NONE when files are not looked at. */
static const char *read_value(struct reader *reader, enum origin origin, const config_setting_t *written,
                              struct error *error)
{
	struct arena *arena = &reader->config->arena;
	char buffer[64];
	const char *text;

	error_clear(error);
	if (!reader_is_scalar(written)) {
		error_set(error, ERROR_CONFIG, "must be text, a number, or true or false");
		return NULL;
	}
	text = reader_scalar_text(written, buffer, sizeof(buffer));
	if (origin == ORIGIN_HERE)
		return arena_string(arena, bytes_from_string(text));
	if (!reader->looks_at_files)
		return NULL;
	return origin == ORIGIN_FILE ? secret_read_file(reader_path(reader, text), arena, error)
	                             : secret_read_environment(text, arena, error);
}

static void add(struct reader *reader, struct config_properties *properties, struct config_property property,
                enum origin origin)
{
	if (property.secret && origin == ORIGIN_HERE)
		reader->has_inline_secrets = true;
	properties->items[properties->count++] = property;
}

/* "sasl_password_file": the property and where its value is. */
static const struct kafka_name *find_property(const struct kafka_names *names, const char *written,
                                              enum origin *out_origin)
{
	static const struct {
		const char *suffix;
		enum origin origin;
	} forms[] = {{"", ORIGIN_HERE}, {"_file", ORIGIN_FILE}, {"_env", ORIGIN_ENVIRONMENT}};
	size_t length = strlen(written);
	char stem[128];

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t suffix = strlen(forms[i].suffix);
		const struct kafka_name *found;

		if (length <= suffix || strcmp(written + length - suffix, forms[i].suffix) != 0)
			continue;
		snprintf(stem, sizeof(stem), "%.*s", (int)(length - suffix), written);
		found = kafka_names_find(names, stem);
		if (found) {
			*out_origin = forms[i].origin;
			return found;
		}
	}
	return NULL;
}

static void report_unknown_property(struct reader *reader, const config_setting_t *written)
{
	const char *name = config_setting_name(written);
	struct nearest nearest = {.distance = 0};
	char candidate[96], hint[160];

	for (size_t i = 0; i < reader->kafka_names.count; i++) {
		kafka_name_written(reader->kafka_names.items[i].name, candidate, sizeof(candidate));
		nearest_offer(&nearest, name, candidate);
	}
	report_error(reader->report, reader_place(written), "kafka.%s: librdkafka has no such property%s", name,
	             nearest_hint(&nearest, hint, sizeof(hint)));
}

/* librdkafka looks at its files when a client is made, which is after the start. */
static bool check_file(const struct reader *reader, const struct config_property *property, struct error *error)
{
	const char *suffix = ".location", *value = property->value;
	size_t length = strlen(property->name), suffix_length = strlen(suffix);

	if (!reader->looks_at_files || length < suffix_length || !*value || strcmp(value, "probe") == 0 ||
	    strcmp(property->name + length - suffix_length, suffix) != 0 || access(value, R_OK) == 0)
		return true;
	return error_set(error, ERROR_CONFIG, "%s: %s", value, strerror(errno));
}

/* Of "host:9092" and "[::1]:9092", each perhaps with "scheme://" in front; NULL: it names none. */
static const char *port_of_broker(const char *broker)
{
	const char *scheme = strstr(broker, "://"), *host = scheme ? scheme + 3 : broker;
	const char *colon = *host == '[' ? strstr(host, "]:") : strchr(host, ':');

	if (!colon || (*host != '[' && strchr(colon + 1, ':')))
		return NULL;
	return colon + (*host == '[' ? 2 : 1);
}

/* librdkafka takes any number for a port. */
static bool check_broker(const char *broker, struct error *error)
{
	const char *port = port_of_broker(broker);

	return !port || names_is_port(bytes_from_string(port)) ||
	       error_set(error, ERROR_CONFIG, "\"%s\" has no valid port; 1 to 65535 are allowed", broker);
}

static bool check_brokers(const struct config_property *property, struct error *error)
{
	if (strcmp(property->name, "bootstrap.servers") != 0 && strcmp(property->name, "metadata.broker.list") != 0)
		return true;
	if (!*property->value)
		return error_set(error, ERROR_CONFIG, "must not be empty; write \"host:9092\"");
	for (const char *at = property->value; *at; at += *at == ',') {
		size_t length = strcspn(at, ",");
		char broker[280]; /* a name of DNS has 255 at most; what is longer is librdkafka's to refuse */

		snprintf(broker, sizeof(broker), "%.*s", (int)length, at);
		if (length < sizeof(broker) && !check_broker(broker, error))
			return false;
		at += length;
	}
	return true;
}

static bool try_value(rd_kafka_conf_t *scratch, const struct config_property *property, struct error *error)
{
	char why[256];

	if (!check_brokers(property, error))
		return false;
	if (rd_kafka_conf_set(scratch, property->name, property->value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
		return true;
	return error_set(error, ERROR_CONFIG, "%s", property->secret ? "librdkafka does not accept the value" : why);
}

static void read_property(struct reader *reader, rd_kafka_conf_t *scratch, const config_setting_t *written,
                          struct config_properties *properties)
{
	enum origin origin = ORIGIN_HERE;
	const struct kafka_name *known = find_property(&reader->kafka_names, config_setting_name(written), &origin);
	struct config_property property;
	struct error error;

	if (!known) {
		report_unknown_property(reader, written);
		return;
	}
	if (kafka_name_refusal(known->name)) {
		report_error(reader->report, reader_place(written), "kafka.%s: can't be set: %s",
		             config_setting_name(written), kafka_name_refusal(known->name));
		return;
	}
	property = (struct config_property){
	        .name = known->name,
	        .value = read_value(reader, origin, written, &error),
	        .secret = origin != ORIGIN_HERE || kafka_name_is_secret(known->name),
	};
	if (property.value && try_value(scratch, &property, &error) && check_file(reader, &property, &error))
		add(reader, properties, property, origin);
	else if (error.code)
		report_error(reader->report, reader_place(written), "kafka.%s: %s", config_setting_name(written),
		             error.text);
}

void properties_read_kafka(struct reader *reader, const config_setting_t *group, struct config_properties *properties)
{
	rd_kafka_conf_t *scratch = rd_kafka_conf_new();
	size_t count = (size_t)config_setting_length(group);

	ASSERT(scratch);
	properties->items = arena_zalloc(&reader->config->arena, count * sizeof(properties->items[0]));
	for (size_t i = 0; i < count; i++)
		read_property(reader, scratch, config_setting_get_elem(group, (unsigned)i), properties);
	rd_kafka_conf_destroy(scratch);
}

/* { file = "…" } or { env = "…" } */
static const char *read_option_secret(struct reader *reader, const config_setting_t *group, struct error *error)
{
	const config_setting_t *file = config_setting_get_member(group, "file"),
	                       *env = config_setting_get_member(group, "env");

	if (config_setting_length(group) != 1 || (!file && !env)) {
		error_set(error, ERROR_CONFIG, "a group must be { file = \"…\" } or { env = \"…\" }");
		return NULL;
	}
	return read_value(reader, file ? ORIGIN_FILE : ORIGIN_ENVIRONMENT, file ? file : env, error);
}

static void read_option(struct reader *reader, const config_setting_t *option, struct config_properties *properties)
{
	bool secret = config_setting_is_group(option), list = config_setting_is_aggregate(option) && !secret;
	size_t count = list ? (size_t)config_setting_length(option) : 1;
	struct error error = {.code = ERROR_NONE};
	const char *value;

	for (size_t i = 0; i < count; i++) {
		const config_setting_t *written = list ? config_setting_get_elem(option, (unsigned)i) : option;

		value = secret ? read_option_secret(reader, written, &error)
		               : read_value(reader, ORIGIN_HERE, written, &error);
		if (value)
			add(reader, properties,
			    (struct config_property){
			            arena_printf(&reader->config->arena, "%s", config_setting_name(option)), value,
			            secret},
			    secret ? ORIGIN_FILE : ORIGIN_HERE);
		else if (error.code)
			report_error(reader->report, reader_place(written), "plugin.options.%s: %s",
			             config_setting_name(option), error.text);
	}
}

void properties_read_options(struct reader *reader, const config_setting_t *group, struct config_properties *properties)
{
	size_t room = 0;

	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *option = config_setting_get_elem(group, (unsigned)i);

		room += config_setting_is_aggregate(option) ? (size_t)config_setting_length(option) : 1;
	}
	properties->items = arena_zalloc(&reader->config->arena, room * sizeof(properties->items[0]));
	for (int i = 0; i < config_setting_length(group); i++)
		read_option(reader, config_setting_get_elem(group, (unsigned)i), properties);
}

const char *properties_find(const struct config_properties *properties, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < properties->count; i++)
		if (strcmp(properties->items[i].name, name) == 0)
			value = properties->items[i].value;
	return value;
}

/* What a long handler and a slow broker need, unless the user says otherwise. */
static const struct config_property presets[] = {
        {"client.id", "idem", false},
        {"session.timeout.ms", "30000", false},
        {"max.poll.interval.ms", "60000", false},
        {"message.timeout.ms", "30000", false},
};

static void append(struct config_properties *out, const struct kafka_names *names, char other_scope,
                   const struct config_property *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct kafka_name *known = kafka_names_find(names, items[i].name);

		if (known && known->scope != other_scope)
			out->items[out->count++] = items[i];
	}
}

static void effective(const struct config *config, const struct config_pipeline *pipeline, char other_scope,
                      struct config_properties *out)
{
	size_t preset_count = sizeof(presets) / sizeof(presets[0]);
	size_t most = preset_count + config->kafka.properties.count + (pipeline ? pipeline->kafka.count : 0);
	struct kafka_names names;
	struct arena arena;

	arena_init(&arena, 16384);
	kafka_names_load(&arena, &names);
	*out = (struct config_properties){.items = calloc(most, sizeof(out->items[0]))};
	ASSERT(out->items);
	append(out, &names, other_scope, presets, preset_count);
	append(out, &names, other_scope, config->kafka.properties.items, config->kafka.properties.count);
	if (pipeline)
		append(out, &names, other_scope, pipeline->kafka.items, pipeline->kafka.count);
	arena_done(&arena);
}

void config_consumer_properties(const struct config *config, const struct config_pipeline *pipeline,
                                struct config_properties *out_properties)
{
	effective(config, pipeline, 'P', out_properties);
}

void config_producer_properties(const struct config *config, const struct config_pipeline *pipeline,
                                struct config_properties *out_properties)
{
	effective(config, pipeline, 'C', out_properties);
}

void config_properties_done(struct config_properties *properties)
{
	free(properties->items);
	*properties = (struct config_properties){.count = 0};
}
