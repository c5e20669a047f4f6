/* What idemctl's commands share.  One thread. */
#ifndef IDEM_MAIN_IDEMCTL_H
#define IDEM_MAIN_IDEMCTL_H
#include "core/base/error.h"
#include "core/config/config.h"
#include "core/db/dedup.h"
#include <stdbool.h>
#include <stddef.h>

enum {
	CTL_OK = 0,
	CTL_NO = 1 /* it went wrong, or the answer is no */,
	CTL_USAGE = 64,
	CTL_SERVICE_MISSING = 69,
	CTL_CONFIGURATION = 78
};

/* idemctl dlq: as given, not looked at; NULL: not given. */
struct ctl_dlq {
	const char *pipeline;
	const char **ids;
	size_t id_count;
	const char *reason, *since, *until, *origin, *at; /* which dead letters */
	const char *limit, *rate;
	bool all, open, raw, dry_run;
};

struct ctl {
	const struct config *config; /* NULL: the command needs none */
	bool json;
	const char *conninfo;     /* instead of the configured one; NULL: not given */
	const char *role;         /* NULL: not given */
	const char *const *words; /* behind the command's own */
	size_t word_count;
	struct ctl_dlq dlq;
	const char *key; /* parked; NULL: not given */
};

/* An error as its exit status, told on stderr. */
int ctl_fail(const struct error *error);
/* Connects as --conninfo says, else as configured, runs the command on it, closes; an exit status. */
int ctl_with_database(const struct ctl *ctl, int (*run)(const struct ctl *ctl, struct pg *pg));

/* Connects the same way, to do more than one command's work; NULL: *error. */
struct pg *ctl_open_database(const struct ctl *ctl, struct error *error);
/* The pipeline of that name; NULL, told on stderr: there is none. */
const struct config_pipeline *ctl_find_pipeline(const struct ctl *ctl, const char *name);
struct dedup_options ctl_dedup_options(const struct ctl *ctl, const struct config_pipeline *pipeline);

int ctl_schema_apply(const struct ctl *ctl);
int ctl_schema_status(const struct ctl *ctl);
int ctl_dedup_status(const struct ctl *ctl);
int ctl_dedup_expire(const struct ctl *ctl);
int ctl_dedup_release(const struct ctl *ctl);
int ctl_dlq_list(const struct ctl *ctl);
int ctl_dlq_show(const struct ctl *ctl);
int ctl_dlq_replay(const struct ctl *ctl);
int ctl_dlq_discard(const struct ctl *ctl);
int ctl_parked_list(const struct ctl *ctl);
int ctl_parked_release(const struct ctl *ctl);
int ctl_dlq_index(const struct ctl *ctl);
int ctl_plugin_inspect(const struct ctl *ctl);
int ctl_plugin_check(const struct ctl *ctl);
int ctl_status(const struct ctl *ctl);
int ctl_lag(const struct ctl *ctl);
#endif
