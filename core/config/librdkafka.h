/* What this librdkafka can be told, asked from the library itself. */
#ifndef IDEM_CONFIG_LIBRDKAFKA_H
#define IDEM_CONFIG_LIBRDKAFKA_H
#include "core/base/arena.h"

struct kafka_name {
	const char *name; /* "bootstrap.servers" */
	char scope;       /* 'C' consumer, 'P' producer, '*' both */
};

struct kafka_names {
	struct kafka_name *items;
	size_t count;
};

void kafka_names_load(struct arena *arena, struct kafka_names *out_names);
/* By its name or as a user writes it, dots as underscores; NULL: there is no such property. */
const struct kafka_name *kafka_names_find(const struct kafka_names *names, const char *written);
/* The property as a user writes it. */
void kafka_name_written(const char *name, char *out, size_t size);
/* NULL: a user may set it; else who does, and what to write instead. */
const char *kafka_name_refusal(const char *name);
bool kafka_name_is_secret(const char *name);
#endif
