#include "core/config/librdkafka.h"
#include "core/base/assert.h"
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line of the library's own manual: "name | C/P | range | …". */
static bool parse_line(const char *line, struct arena *arena, struct kafka_name *out_name)
{
	char name[96], scope;
	int end = 0;

	if (sscanf(line, "%95s | %c |%n", name, &scope, &end) != 2 || end == 0 || !strchr("*CP", scope))
		return false;
	*out_name = (struct kafka_name){arena_string(arena, bytes_from_string(name)), scope};
	return true;
}

void kafka_names_load(struct arena *arena, struct kafka_names *out_names)
{
	char *manual = NULL, *rest, *line;
	size_t size = 0, lines = 1;
	FILE *memory = open_memstream(&manual, &size);

	ASSERT(memory);
	rd_kafka_conf_properties_show(memory);
	ASSERT(fclose(memory) == 0);
	for (const char *end = manual; (end = strchr(end, '\n')) != NULL; end++)
		lines++;
	*out_names = (struct kafka_names){.items = arena_alloc(arena, lines * sizeof(struct kafka_name))};
	rest = manual;
	while ((line = strsep(&rest, "\n")) != NULL)
		if (parse_line(line, arena, &out_names->items[out_names->count]))
			out_names->count++;
	free(manual);
}

void kafka_name_written(const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s", name);
	for (; *out; out++)
		if (*out == '.')
			*out = '_';
}

static bool same_name(const char *name, const char *written)
{
	for (; *name && *written; name++, written++)
		if (*name != *written && !(*name == '.' && *written == '_'))
			return false;
	return *name == *written;
}

const struct kafka_name *kafka_names_find(const struct kafka_names *names, const char *written)
{
	for (size_t i = 0; i < names->count; i++)
		if (same_name(names->items[i].name, written))
			return &names->items[i];
	return NULL;
}

const char *kafka_name_refusal(const char *name)
{
	static const char offsets[] =
	        "the host commits an offset itself, after the transaction of its event; leave it out";
	static const char start[] = "write start = \"earliest\" or \"latest\" in the pipeline";
	static const char acks[] =
	        "what the host writes must be acknowledged by all in-sync replicas, in order; leave it out";
	static const char isolation[] = "the host reads committed records only; leave it out";
	static const char group[] = "the pipeline's name is its consumer group; write name = \"…\"";
	static const char code[] = "the supervisor runs no foreign code; leave it out";
	static const struct {
		const char *name, *why;
	} refused[] = {
	        {"enable.auto.commit", offsets},
	        {"auto.commit.enable", offsets},
	        {"enable.auto.offset.store", offsets},
	        {"auto.commit.interval.ms", offsets},
	        {"offset.store.method", offsets},
	        {"offset.store.path", offsets},
	        {"offset.store.sync.interval.ms", offsets},
	        {"auto.offset.reset", start},
	        {"group.id", group},
	        {"isolation.level", isolation},
	        {"enable.idempotence", acks},
	        {"acks", acks},
	        {"request.required.acks", acks},
	        {"delivery.report.only.error", acks},
	        {"transactional.id", acks},
	        {"plugin.library.paths", code},
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strcmp(refused[i].name, name) == 0)
			return refused[i].why;
	return NULL;
}

bool kafka_name_is_secret(const char *name)
{
	return strstr(name, "password") || strstr(name, "secret") || strcmp(name, "ssl.key.pem") == 0 ||
	       strcmp(name, "sasl.oauthbearer.config") == 0;
}
