#include "core/pipeline/settle.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/released.h"
#include "core/pipeline/tracker.h"

static void settle_finished(struct batch *batch, struct entry *entry, enum metric_id counter)
{
	metrics_add(batch->engine->metrics, counter, 1);
	record_finish(entry->record);
}

/* A released event was counted when it was parked, and its offset is finished since. */
static void settle_counted(struct batch *batch, struct entry *entry, enum metric_id counter)
{
	if (!entry->record->released) {
		settle_finished(batch, entry, counter);
		return;
	}
	if (counter == METRIC_events_processed)
		metrics_add(batch->engine->metrics, METRIC_parked_applied, 1);
	record_drop(entry->record);
}

static void settle_processed(struct batch *batch, struct entry *entry)
{
	if (entry->call)
		call_apply_metrics(entry->call);
	if (!entry->record->released)
		metrics_observe_latency(batch->engine->metrics, clock_monotonic_us() - entry->record->fetched_us);
	settle_counted(batch, entry, METRIC_events_processed);
}

static void settle_routed(struct batch *batch, struct entry *entry, enum route route)
{
	log_write_limited(route == ROUTE_DEAD ? LOG_event_dead : LOG_event_retried,
	                  "event %s of %s/%d offset %lld: %s (attempt %u)", batch_event_name(entry),
	                  entry->event.record.topic, entry->event.record.partition,
	                  (long long)entry->event.record.offset, entry->reason, entry->attempt);
	entry->event.attempt = entry->attempt;
	router_send(batch->engine->router, &entry->event, route, entry->reason, entry->error_text, entry->record);
}

static void settle_back(struct settlement *settlement, struct record *record, int64_t hold_ms)
{
	settlement->back[settlement->back_count++] = (struct lanes_return){record, hold_ms};
}

static void settle_retry(struct batch *batch, struct entry *entry, struct settlement *settlement)
{
	const struct config_retry *retry = &batch->engine->pipeline->retry;
	if (retry->mode == CONFIG_RETRY_TOPICS) {
		settle_routed(batch, entry, ROUTE_RETRY);
		return;
	}
	metrics_add(batch->engine->metrics, METRIC_in_place_retries, 1);
	log_write_limited(LOG_event_retried, "event %s: %s (attempt %u), again in place", batch_event_name(entry),
	                  entry->reason, entry->attempt);
	entry->record->attempt = entry->attempt + 1;
	settle_back(settlement, entry->record, retry->delays.ms[entry->attempt - 1]);
}

/* A released event stays in the database, where it is taken from again. */
static void settle_held_back(struct entry *entry, struct settlement *settlement)
{
	if (entry->record->released)
		record_drop(entry->record);
	else
		settle_back(settlement, entry->record, entry->hold_ms);
}

static void settle_parked(struct batch *batch, struct entry *entry)
{
	struct parking *parking = &batch->engine->parking;
	if (entry->parked && entry->parked->wait_ms >= 0)
		parking_note_due(parking, clock_monotonic_ms() + entry->parked->wait_ms);
	if (!entry->is_behind)
		log_write_limited(LOG_event_retried, "event %s: %s (attempt %u), parked", batch_event_name(entry),
		                  entry->reason ? entry->reason : "", entry->attempt);
	if (entry->record->released) {
		metrics_add(batch->engine->metrics, METRIC_parked_retries, 1);
		record_drop(entry->record);
		return;
	}
	atomic_fetch_add_explicit(&parking->events, 1, memory_order_relaxed);
	settle_finished(batch, entry, METRIC_events_parked);
}

/* What handle_batch recorded on the call of the whole batch. */
static void settle_set_metrics(struct batch *batch)
{
	if (!batch->set_metrics)
		return;
	struct idem_call *call = &batch->calls[batch->calls_count - 1];
	call->metrics = batch->set_metrics;
	batch->set_metrics = NULL;
	call_apply_metrics(call);
}

void settle_batch(struct batch *batch, struct settlement *settlement)
{
	settle_set_metrics(batch);
	for (size_t i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entries[i];
		switch (entry->outcome) {
		case OUTCOME_OPEN:
			settlement->open[settlement->open_count++] = entry->record;
			break;
		case OUTCOME_DONE:
			settle_processed(batch, entry);
			break;
		case OUTCOME_DUPLICATE:
			settle_counted(batch, entry, METRIC_events_duplicate);
			break;
		case OUTCOME_IGNORED:
			settle_counted(batch, entry, METRIC_events_ignored);
			break;
		case OUTCOME_DEAD:
			settle_routed(batch, entry, ROUTE_DEAD);
			break;
		case OUTCOME_RETRY:
			settle_retry(batch, entry, settlement);
			break;
		case OUTCOME_BACK:
			settle_held_back(entry, settlement);
			break;
		case OUTCOME_PARKED:
			settle_parked(batch, entry);
			break;
		}
	}
}
