/* What all workers of a pipeline share; made by pipeline.c before they start, read only but for what says otherwise. */
#ifndef IDEM_PIPELINE_ENGINE_H
#define IDEM_PIPELINE_ENGINE_H
#include "core/base/metrics.h"
#include "core/config/config.h"
#include "core/db/attempts.h"
#include "core/db/dedup.h"
#include "core/db/letters.h"
#include "core/db/parked.h"
#include "core/event/event.h"
#include "core/pipeline/blame.h"
#include "core/pipeline/gate.h"
#include "core/pipeline/lanes.h"
#include "core/pipeline/parking.h"
#include "core/pipeline/solo.h"
#include "core/plugin/plugin.h"
#include "core/retry/router.h"
#include <stdatomic.h>

#define ENGINE_MAX_WORKERS 256

struct engine {
	const struct config *config;
	const struct config_pipeline *pipeline;
	struct plugin *plugin;
	struct envelope envelope;
	struct dedup *dedup;
	struct attempts *attempts;
	struct parked_statements *parked;
	struct parking parking;
	struct letters *letters;
	struct router *router;
	struct lanes *lanes;
	struct metrics_page *metrics;
	struct gate gate;
	struct blame *blame;
	struct solo solo;
	bool keeps_order; /* an event to be tried again holds back the later ones of its lane */
	bool has_batch;   /* the plugin has handle_batch */
	/* By number, declared statements that some event ran without error: a 42… of one is the event's own fault. */
	_Atomic bool proved[PLUGIN_MAX_STATEMENTS + 1];
	/* By worker; they live as long as the process, because a plugin may keep a handle of one. */
	struct idem_call *calls[ENGINE_MAX_WORKERS];
	/* Ends the pipeline with an exit status of pipeline.h. [any thread] */
	void (*stop)(void *self, int status);
	void *self;
};

/* Above a handler's time-out and grace, so that the server ends only what nobody works on any more. */
static inline int64_t engine_idle_in_transaction_ms(const struct engine *engine)
{
	return engine->pipeline->plugin.timeout_ms + engine->pipeline->plugin.grace_ms + 30000;
}
#endif
