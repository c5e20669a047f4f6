/* A plugin loaded from the build tree, an event, and a backend that answers what a test has told it. */
#ifndef TESTS_PLUGIN_FIXTURE_H
#define TESTS_PLUGIN_FIXTURE_H
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/plugin/plugin.h"
#include "tests/unit/run_suite.h"

#define PLUGIN_DIR "tests/plugins/"
#define EVENT_ID "01890a5d-ac96-774b-bcce-b302099a8057"

static inline struct plugin *fixture_open(const char *file, const struct config_properties *options,
                                          struct error *error)
{
	struct config_plugin config = {.file = file};

	if (options)
		config.options = *options;
	return plugin_open(file, &config, "pipeline-of-a-test", error);
}

static inline struct plugin *fixture_create(const char *file)
{
	struct error error = {0};
	struct plugin *plugin = fixture_open(file, NULL, &error);

	ck_assert_msg(plugin, "%s", error.text);
	ck_assert_msg(plugin_create(plugin, &error), "%s", error.text);
	return plugin;
}

static inline struct event fixture_event(struct arena *arena, const char *json)
{
	static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
	const char *reason, *text;
	struct event event = {.id_text = BYTES_LITERAL(EVENT_ID),
	                      .has_uuid = true,
	                      .type = BYTES_LITERAL("test.v1"),
	                      .key = BYTES_LITERAL("k1"),
	                      .payload = bytes_from_string(json),
	                      .attempt = 1,
	                      .origin_topic = "t.orders",
	                      .origin_offset = 7};

	if (json) {
		event.document = json_parse(arena, event.payload, &limits, &reason, &text);
		ck_assert_msg(event.document, "%s", text);
	}
	return event;
}

struct backend { /* what it was asked last, and what it answers */
	idem_status answer;
	const char *value; /* of the one row and column; NULL: SQL NULL */
	const struct pg_statement *statement;
	struct pg_params params;
	int queries, moved;
};

static inline PGresult *backend_result(const char *value)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc column = {.name = (char *)(uintptr_t) "amount", .typid = 20, .typlen = 8, .atttypmod = -1};

	ck_assert_ptr_nonnull(result);
	ck_assert(PQsetResultAttrs(result, 1, &column) &&
	          PQsetvalue(result, 0, 0, (char *)(uintptr_t)value, value ? (int)strlen(value) : -1));
	return result;
}

static inline idem_status backend_query(void *self, struct idem_call *call, const struct pg_statement *statement,
                                        const struct pg_params *params, PGresult **out_result)
{
	struct backend *backend = self;

	backend->queries++;
	backend->statement = statement;
	backend->params = *params;
	if (backend->answer == IDEM_OK)
		*out_result = backend_result(backend->value);
	else
		call_set_error(call, backend->answer, "23505", false, "told to fail");
	return backend->answer;
}

static inline int64_t backend_deadline_moved(void *self, struct idem_call *call)
{
	((struct backend *)self)->moved++;
	return call->deadline_ms;
}

static const struct call_backend fixture_backend = {.query = backend_query, .deadline_moved = backend_deadline_moved};

static inline int fixture_run(Suite *suite)
{
	log_open("test", LOG_LEVEL_ERROR);
	return run_suite(suite);
}
#endif
