/* What a child is started from: everything of the configuration that concerns it, fixed.  Two equal plans need no
 * restart. */
#ifndef IDEM_SUPERVISOR_PLAN_H
#define IDEM_SUPERVISOR_PLAN_H
#include "core/config/config.h"

struct child_plan {
	char *name;
	char *text;                         /* config_print with secrets: what the child reads */
	char *plugin_path;                  /* the staged copy, named after its digest */
	char *plugin_name, *plugin_version; /* as the file says; "" when it can't be run */
	char *schemas;                      /* what lies in the folder of schemas: names, sizes, times */
	int64_t memory_max_bytes;           /* 0: no limit */
	char *refusal;                      /* why its plugin can't be run; NULL: it can */
};
struct child_plans {
	struct child_plan *items;
	size_t count;
};

/* One plan per pipeline; stages the plugins.  A plugin that does not fit is that plan's refusal, not a failure. */
bool child_plans_make(const struct config *config, struct child_plans *out_plans, struct error *error) MUST_CHECK;
bool child_plan_equal(const struct child_plan *a, const struct child_plan *b);
struct child_plan *child_plans_find(const struct child_plans *plans, const char *name);
/* Moves the plan out; the item is left empty. */
struct child_plan child_plan_take(struct child_plan *plan);
/* The first refusal among them, or NULL. */
const char *child_plans_refusal(const struct child_plans *plans);
void child_plan_done(struct child_plan *plan); /* the secrets in it are wiped */
void child_plans_done(struct child_plans *plans);
#endif
