/* Step 8 and the end of the path: after COMMIT every entry of the batch goes where its outcome says. */
#ifndef IDEM_PIPELINE_SETTLE_H
#define IDEM_PIPELINE_SETTLE_H
#include "core/pipeline/batch.h"

struct settlement { /* what stays with the worker */
	struct record **open;
	size_t open_count; /* not begun: the next batch */
	struct lanes_return *back;
	size_t back_count; /* for lanes_give_back, in order */
};
/* Appends to *settlement; records finished or routed are not the worker's any more.  The batch may be reset after. */
void settle_batch(struct batch *batch, struct settlement *settlement);
#endif
