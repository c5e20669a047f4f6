/* Step 6 for plugins with handle_batch: one call for all new events.  Whatever has to be undone goes back to the
 * savepoint before the call, and the call is made again without the event that failed; a failure of the call itself
 * halves the set. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/batch.h"

enum set_result {
	SET_FINE,    /* every DONE stands */
	SET_AGAIN,   /* an event whose statements were sent fell out: call again without it */
	SET_HALVE,   /* the call failed as a whole */
	SET_STOPPED, /* it was told to give up, and did: none of its events was begun */
	SET_BROKEN   /* the transaction can't go on */
};

/* ---- the call ---- */

static void set_enter(struct batch *batch, struct set *set, struct idem_call **out_handle)
{
	int64_t timeout_ms = batch->engine->pipeline->plugin.timeout_ms;
	call_done(set->call); /* of the call before, when it is called again */
	call_init(set->call, &batch->context, NULL);
	*out_handle = call_enter(set->call, timeout_ms);
	for (size_t i = 0; i < set->count; i++) {
		struct entry *entry = set->entries[i];
		entry->outcome = OUTCOME_OPEN;
		entry->call = &batch->calls[entry->index];
		call_done(entry->call);
		call_init(entry->call, &batch->context, &entry->event);
		entry->call->whole = set->call;
		plugin_event_view(batch->engine->plugin, &entry->event, &batch->arena, &entry->view);
		set->items[i] = (struct idem_item){.call = call_enter(entry->call, timeout_ms), .event = &entry->view};
	}
}

static void set_blame(struct batch *batch, const struct set *set)
{
	struct blame_event *blamed = arena_alloc(&batch->arena, set->count * sizeof(*blamed));
	for (size_t i = 0; i < set->count; i++)
		blamed[i] = (struct blame_event){batch_stored_key(set->entries[i]), set->entries[i]->event.round};
	blame_enter(batch->engine->blame, batch->context.worker_index, batch->is_alone, blamed, set->count);
}

static idem_status set_call(struct batch *batch, struct set *set)
{
	struct idem_call *handle;
	set_enter(batch, set, &handle);
	batch->set = set;
	batch->failed = NULL;
	batch->culprit = NULL;
	set_blame(batch, set);
	watch_enter(batch->watch, set->call, set->entries, set->count);
	idem_status status = plugin_descriptor(batch->engine->plugin)
	                             ->handle_batch(plugin_self(batch->engine->plugin), handle, set->items, set->count);
	watch_leave(batch->watch);
	blame_leave(batch->engine->blame, batch->context.worker_index);
	batch->set = NULL;
	batch->reads = false;
	call_leave(set->call);
	for (size_t i = 0; i < set->count; i++)
		call_leave(set->entries[i]->call);
	batch->handled += set->count;
	batch->now_ms = clock_monotonic_ms();
	return status;
}

/* ---- what came of it ---- */

/* The verdicts, in order, so that an event behind a RETRY of its lane is held back although the plugin did it.  What
 * an event without DONE has sent already must be undone with it. */
static enum set_result set_take_verdicts(struct batch *batch, struct set *set)
{
	enum set_result result = SET_FINE;
	for (size_t i = 0; i < set->count; i++) {
		struct entry *entry = set->entries[i];
		if (batch_is_held_back(batch, entry))
			batch_hold_back(batch, entry);
		else
			batch_take_verdict(batch, entry, set->items[i].verdict);
		bool was_done = set->items[i].verdict == IDEM_DONE;
		if (entry->outcome != OUTCOME_DONE && (was_done || entry->call->failed || entry->call->has_queried))
			result = SET_AGAIN;
	}
	return result;
}

static void set_append(struct queued ***tail, struct idem_call *call)
{
	if (!call->queued_first)
		return;
	**tail = call->queued_first;
	*tail = call->queued_tail;
}

static struct queued *set_queued(struct set *set)
{
	struct queued *first = NULL, **tail = &first;
	set_append(&tail, set->call);
	for (size_t i = 0; i < set->count; i++)
		if (set->entries[i]->outcome == OUTCOME_DONE)
			set_append(&tail, set->entries[i]->call);
	return first;
}

static void set_forget_queued(struct idem_call *call)
{
	if (call->queued_first)
		call->has_queried = true;
	call->queued_first = NULL;
	call->queued_tail = &call->queued_first;
}

struct queued *batch_set_take_queued(struct batch *batch)
{
	struct set *set = batch->set;
	struct queued *first = NULL, **tail = &first;
	set_append(&tail, set->call);
	for (size_t i = 0; i < set->count; i++)
		set_append(&tail, set->entries[i]->call);
	*tail = NULL;
	set_forget_queued(set->call);
	for (size_t i = 0; i < set->count; i++)
		set_forget_queued(set->entries[i]->call);
	return first;
}

static struct entry *set_entry_of(struct set *set, const struct idem_call *call)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->entries[i]->call == call)
			return set->entries[i];
	return NULL;
}

static enum set_result set_send(struct batch *batch, struct set *set)
{
	struct queued *culprit;
	struct error error;
	bool is_fine;
	if (!batch_send_now(batch, batch_sort_queued(batch, set_queued(set)), &culprit, &error))
		return SET_BROKEN;
	if (culprit) {
		struct entry *entry = set_entry_of(set, culprit->call);
		if (!entry && set->count > 1)
			return SET_HALVE;
		batch_judge_culprit(batch, entry ? entry : set->entries[0], culprit, &error);
		return SET_AGAIN;
	}
	if (!batch_check_constraints(batch, &is_fine, &error))
		return SET_BROKEN;
	if (is_fine)
		return SET_FINE;
	if (set->count > 1)
		return SET_HALVE;
	batch_judge_error(batch, set->entries[0], &error);
	return SET_AGAIN;
}

/* The call failed for one event alone: its failure. */
static void set_judge_single(struct batch *batch, struct set *set, idem_status status)
{
	struct entry *entry = set->entries[0];
	const struct idem_error *failed = set->call->has_error ? &set->call->error : NULL;
	struct error error;
	if (call_cancel_of(set->call) == CALL_OVERRUN) {
		batch_retry(batch, entry, "handler_timeout", set->call->reason);
	} else if (batch->culprit) {
		batch_judge_culprit(batch, entry, batch->culprit, &batch->culprit_error);
	} else if (failed && failed->sqlstate[0]) {
		error_set(&error, ERROR_DB, "%.*s", (int)failed->message.len, failed->message.ptr);
		memcpy(error.sqlstate, failed->sqlstate, sizeof(error.sqlstate) - 1);
		batch_judge_error(batch, entry, &error);
	} else {
		batch_retry(batch, entry, "handle_batch_failed",
		            bytes_from_string(arena_printf(&batch->arena, "handle_batch answered %d", (int)status)));
	}
}

/* The statement of one event failed while the plugin waited.  What the others say behind it means nothing. */
static enum set_result set_judge_failed(struct batch *batch, struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct entry *entry = set->entries[i];
		if (entry->call == batch->failed)
			batch_take_verdict(batch, entry, set->items[i].verdict);
		else
			entry->outcome = OUTCOME_DONE;
	}
	return SET_AGAIN;
}

static bool set_gave_up(const struct set *set, idem_status status)
{
	if (call_cancel_of(set->call) != CALL_STOPPED)
		return false;
	bool is_done = status >= 0 && !set->call->failed;
	for (size_t i = 0; i < set->count && is_done; i++)
		is_done = set->items[i].verdict == IDEM_DONE && !set->entries[i]->call->failed;
	return !is_done;
}

static enum set_result set_try(struct batch *batch, struct set *set)
{
	idem_status status = set_call(batch, set);
	if (batch->failure != BATCH_FINE)
		return SET_BROKEN;
	if (set_gave_up(set, status))
		return SET_STOPPED;
	bool is_cancelled = call_cancel_of(set->call) == CALL_OVERRUN;
	if (batch->failed && batch->failed != set->call && !is_cancelled)
		return set_judge_failed(batch, set);
	if (status < 0 || set->call->failed || is_cancelled) {
		if (set->count > 1)
			return SET_HALVE;
		set_judge_single(batch, set, status);
		return SET_AGAIN;
	}
	enum set_result result = set_take_verdicts(batch, set);
	return result == SET_FINE ? set_send(batch, set) : result;
}

/* ---- again, without what fell out ---- */

static void set_keep_done(struct batch *batch, struct set *set)
{
	size_t kept = 0;
	for (size_t i = 0; i < set->count; i++) {
		struct entry *entry = set->entries[i];
		if (entry->outcome == OUTCOME_DONE && batch_is_held_back(batch, entry))
			batch_hold_back(batch, entry);
		if (entry->outcome == OUTCOME_DONE)
			set->entries[kept++] = entry;
	}
	set->count = kept;
}

/* The next call begins with none. */
static void set_keep_metrics(struct batch *batch, struct set *set)
{
	struct recorded_metric **tail = &set->call->metrics;
	while (*tail)
		tail = &(*tail)->next;
	*tail = batch->set_metrics;
	batch->set_metrics = set->call->metrics;
	set->call->metrics = NULL;
}

static bool set_run(struct batch *batch, struct set set);

static bool set_halve(struct batch *batch, struct set *set)
{
	size_t half = set->count / 2;
	for (size_t i = 0; i < set->count; i++)
		set->entries[i]->outcome = OUTCOME_OPEN;
	log_write_limited(LOG_batch_redone, "handle_batch failed for %zu events; it is called for halves", set->count);
	return set_run(batch, (struct set){set->entries, half, set->items, set->call}) &&
	       set_run(batch, (struct set){set->entries + half, set->count - half, set->items, set->call});
}

/* An earlier half may have left an event of the same lane to be tried again. */
static void set_leave_held_back(struct batch *batch, struct set *set)
{
	size_t kept = 0;
	for (size_t i = 0; i < set->count; i++) {
		if (batch_is_held_back(batch, set->entries[i]))
			batch_hold_back(batch, set->entries[i]);
		else
			set->entries[kept++] = set->entries[i];
	}
	set->count = kept;
}

static bool set_run(struct batch *batch, struct set set)
{
	set_leave_held_back(batch, &set);
	while (set.count > 0) {
		if (!batch_queue_ahead(batch, "SAVEPOINT r"))
			return false;
		enum set_result result = set_try(batch, &set);
		if (result == SET_BROKEN)
			return false;
		if (result != SET_FINE && !batch_queue_ahead(batch, "ROLLBACK TO SAVEPOINT r"))
			return false;
		if (!batch_queue_ahead(batch, "RELEASE SAVEPOINT r"))
			return false;
		if (result == SET_STOPPED)
			return true;
		if (result == SET_HALVE)
			return set_halve(batch, &set);
		set_keep_done(batch, &set);
		if (result == SET_FINE) {
			set_keep_metrics(batch, &set);
			break;
		}
	}
	for (size_t i = 0; i < set.count; i++)
		set.entries[i]->settled = true;
	return true;
}

bool batch_handle_sets(struct batch *batch)
{
	struct set set = {.call = &batch->calls[batch->calls_count - 1]};
	set.entries = arena_alloc(&batch->arena, batch->count * sizeof(*set.entries));
	set.items = arena_alloc(&batch->arena, batch->count * sizeof(*set.items));
	for (size_t i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entries[i];
		if (entry->claimed && entry->outcome == OUTCOME_OPEN && !batch_should_stop(batch, entry))
			set.entries[set.count++] = entry;
	}
	return set_run(batch, set);
}
