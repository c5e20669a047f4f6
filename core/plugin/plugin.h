/* A loaded handler plugin.  plugin_open … plugin_create are [main], before threads; never dlclosed. */
#ifndef IDEM_PLUGIN_PLUGIN_H
#define IDEM_PLUGIN_PLUGIN_H
#include "core/config/config.h"
#include "core/db/pg.h"
#include "core/plugin/call.h"
#include <idem/plugin.h>

#define PLUGIN_MAX_STATEMENTS 256 /* declared by one plugin; their numbers count from 1 */

struct plugin_statement {
	struct pg_statement pg;
	uint32_t lock_param;
};

struct plugin;
struct plugin_metadata { /* what the file says of itself in its section .idem_plugin */
	char name[64], version[32], vendor[64], build_id[64];
	uint16_t abi_major, abi_minor, min_host_minor;
};
/* Without running code: machine, ABI, entry, and the digest when sha256 is given (NULL: not checked). */
bool plugin_inspect(const char *file, const char *sha256, struct plugin_metadata *out_metadata,
                    struct error *error) MUST_CHECK;
/* Copies file to directory/<sha256>.so, whose path goes to out_path; a copy that is there is verified first. */
bool plugin_stage(const char *file, const char *directory, char *out_path, size_t size, struct error *error) MUST_CHECK;

/* dlopen(RTLD_NOW | RTLD_LOCAL), idem_plugin_v1, copy in by size, every check; options checked against the table. */
struct plugin *plugin_open(const char *path, const struct config_plugin *config, const char *pipeline,
                           struct error *error);
/* Whether the pipeline's workers and isolation are what it can work with. */
bool plugin_fits(const struct plugin *plugin, const struct config_pipeline *pipeline, struct error *error) MUST_CHECK;
/* create(): declares statements, registers metrics. */
bool plugin_create(struct plugin *plugin, struct error *error) MUST_CHECK;
bool plugin_start(struct plugin *plugin, struct error *error) MUST_CHECK;
void plugin_stop(struct plugin *plugin);    /* nothing in flight any more */
void plugin_destroy(struct plugin *plugin); /* calls destroy(); NULL allowed */

const struct idem_plugin *plugin_descriptor(const struct plugin *plugin); /* the host's own zero-filled copy */
void *plugin_self(const struct plugin *plugin);
bool plugin_is_concurrent(const struct plugin *plugin);
bool plugin_is_isolated(const struct plugin *plugin);
bool plugin_has_lock_params(const struct plugin *plugin);
const struct plugin_statement *plugin_statement(const struct plugin *plugin, uint32_t number); /* NULL: unknown */
/* Its number when it was declared in create(), so that its address lasts and it may be prepared; 0: of query_sql. */
uint32_t plugin_statement_number(const struct plugin *plugin, const struct pg_statement *statement);
/* The declared statement's text is refused: first keyword (comments skipped) is transaction control, SET, COPY, …, or
 * it names set_config / a session advisory lock and the pipeline is not isolated. */
bool plugin_check_sql(const char *sql, bool isolated, struct error *error) MUST_CHECK;
/* Fills the view a handler gets; points into event and arena. */
void plugin_event_view(const struct plugin *plugin, const struct event *event, struct arena *arena,
                       struct idem_event *out_view);
/* Prometheus text of the plugin's own metrics.  [any thread] */
void plugin_print_metrics(const struct plugin *plugin, FILE *out);
/* idemctl plugin inspect FILE: what the file says of itself, without running its code. */
bool plugin_print_inspect(const char *file, bool json, FILE *out, struct error *error) MUST_CHECK;
/* idemd --check: loads and creates the pipeline's plugin in a child process of the caller's (which has one thread),
 * which has 10 s; what its code alone knows is found here, its options above all.  *error has no secret. */
bool plugin_try(const struct config_pipeline *pipeline, struct error *error) MUST_CHECK;
/* idemctl plugin check FILE: that, then loads and creates it in a child process of the caller's (which has one thread).
 */
bool plugin_print_check(const char *file, FILE *out, struct error *error) MUST_CHECK;
#endif
