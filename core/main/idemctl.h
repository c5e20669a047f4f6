/* What idemctl's commands share.  One thread. */
#ifndef IDEM_MAIN_IDEMCTL_H
#define IDEM_MAIN_IDEMCTL_H
#include "core/base/error.h"
#include "core/config/config.h"
#include "core/db/pg.h"
#include <stdbool.h>
#include <stddef.h>

enum {
	CTL_OK = 0,
	CTL_NO = 1 /* it went wrong, or the answer is no */,
	CTL_USAGE = 64,
	CTL_SERVICE_MISSING = 69,
	CTL_CONFIGURATION = 78
};

struct ctl {
	const struct config *config; /* NULL: the command needs none */
	bool json;
	const char *conninfo;     /* instead of the configured one; NULL: not given */
	const char *role;         /* NULL: not given */
	const char *const *words; /* behind the command's own */
	size_t word_count;
};

/* An error as its exit status, told on stderr. */
int ctl_fail(const struct error *error);
/* Connects as --conninfo says, else as configured, runs the command on it, closes; an exit status. */
int ctl_with_database(const struct ctl *ctl, int (*run)(const struct ctl *ctl, struct pg *pg));

int ctl_schema_apply(const struct ctl *ctl);
int ctl_schema_status(const struct ctl *ctl);
int ctl_dedup_status(const struct ctl *ctl);
int ctl_dedup_expire(const struct ctl *ctl);
int ctl_plugin_inspect(const struct ctl *ctl);
int ctl_plugin_check(const struct ctl *ctl);
int ctl_status(const struct ctl *ctl);
int ctl_lag(const struct ctl *ctl);
#endif
