/* What became of an event before (ENGINE section 7): the rows of event_attempt are read behind the claims, and written
 * in the transaction that releases them.  A record that comes again after a crash goes where it went before, instead of
 * being handled twice and perhaps ending in two places. */
#include <endian.h>

#include "core/base/assert.h"
#include "core/base/log.h"
#include "core/db/array.h"
#include "core/pipeline/batch.h"
#include "core/pipeline/released.h"

struct stored_attempt { /* a row */
	int64_t round, attempt;
	enum attempt_route route;
	const char *reason, *error;
	int64_t deaths;
	struct bytes dead_letters; /* the hashes of those that are indexed, with a blank between */
};

/* ---- reading ---- */

bool batch_attempts_ask(struct batch *batch, struct claim_group *group)
{
	const struct attempts *attempts = batch->engine->attempts;
	struct bytes keys = batch_claim_keys(batch, group);
	const char *values[] = {keys.ptr, batch->engine->pipeline->name};
	const int lengths[] = {(int)keys.len, 0};
	const int formats[] = {1, 0};
	struct pg_params params = {values, lengths, formats, 2};
	struct error error;
	return pg_queue(batch->pg, group->table->is_text ? &attempts->look_up_text : &attempts->look_up_id, &params,
	                &error) ||
	       batch_fail_host(batch, &error);
}

static int64_t attempts_number(const PGresult *result, int row, int column)
{
	uint64_t number;
	ASSERT(PQgetlength(result, row, column) == sizeof(number));
	memcpy(&number, PQgetvalue(result, row, column), sizeof(number));
	return (int64_t)be64toh(number);
}

/* A dead letter of the same content: of another one somebody still has to be told. */
static bool attempts_is_indexed(const struct entry *entry, const struct stored_attempt *stored)
{
	char hash[32];
	size_t len = (size_t)snprintf(hash, sizeof(hash), "%lld", (long long)entry->event.content_hash);
	struct bytes left = stored->dead_letters;
	while (left.len > 0) {
		const char *blank = memchr(left.ptr, ' ', left.len);
		size_t part = blank ? (size_t)(blank - left.ptr) : left.len;
		if (part == len && memcmp(left.ptr, hash, len) == 0)
			return true;
		part += blank != NULL;
		left = (struct bytes){left.ptr + part, left.len - part};
	}
	return false;
}

/* It was dead before, and that is known: nothing is left to be done, but to take it from what is parked. */
static void attempts_is_dead(struct entry *entry)
{
	entry->outcome = OUTCOME_DUPLICATE;
	if (entry->record->released)
		entry->record->released->is_buried = true;
}

/* Its own record in the retry topic may not have been acknowledged: it goes there again, and so does a dead letter
 * that is not in the index; what is there is finished. */
static void attempts_route_again(struct batch *batch, struct entry *entry, const struct stored_attempt *stored)
{
	struct bytes text = BYTES_LITERAL("decided before this record came again");
	entry->attempt = (uint32_t)stored->attempt;
	if (stored->route == ATTEMPT_DEAD && attempts_is_indexed(entry, stored))
		attempts_is_dead(entry);
	else if (stored->route == ATTEMPT_DEAD)
		batch_reject(batch, entry, stored->reason, text);
	else
		batch_retry(batch, entry, stored->reason, text);
	entry->as_stored = (entry->outcome == OUTCOME_DEAD) == (stored->route == ATTEMPT_DEAD);
}

/* It was in the handler when the process died: alone it is found out whether it was its fault (ENGINE section 6). */
static void attempts_suspect(struct batch *batch, struct entry *entry, const struct stored_attempt *stored)
{
	struct error error;
	if (!batch->is_alone) {
		entry->record->is_suspect = true;
		error_set(&error, ERROR_PLUGIN, "event %s is to run alone", batch_event_name(entry));
		batch_fail(batch, BATCH_SUSPECT, &error);
	} else if (stored->deaths >= batch->engine->pipeline->max_deaths) {
		batch_reject(batch, entry, stored->reason, bytes_from_string(stored->error));
	}
}

/* It waits in the database, so this is a copy of it; or the COMMIT that parked it went through, and its answer was
 * lost. */
static void attempts_is_parked(struct entry *entry)
{
	if (entry->outcome != OUTCOME_OPEN)
		return;
	entry->outcome = entry->record->park_sent ? OUTCOME_PARKED : OUTCOME_DUPLICATE;
	entry->as_stored = true;
}

static void attempts_judge(struct batch *batch, struct entry *entry, const struct stored_attempt *stored)
{
	bool is_in_place =
	        stored->route == ATTEMPT_IN_PLACE || stored->route == ATTEMPT_PARKED ||
	        (stored->route == ATTEMPT_RETRY && batch->engine->pipeline->retry.mode != CONFIG_RETRY_TOPICS);
	entry->has_attempt = true;
	if (stored->route == ATTEMPT_PARKED && !entry->record->released) {
		attempts_is_parked(entry);
		return;
	}
	if (entry->outcome == OUTCOME_DEAD && stored->route == ATTEMPT_DEAD &&
	    stored->round == (int64_t)entry->event.round && attempts_is_indexed(entry, stored)) {
		attempts_is_dead(entry); /* what is no event dies of the same again */
		return;
	}
	if (entry->outcome != OUTCOME_OPEN || stored->round < (int64_t)entry->event.round)
		return; /* decided already; or an operator's replay, which starts anew */
	if (stored->round > (int64_t)entry->event.round) {
		entry->outcome = OUTCOME_DUPLICATE; /* its dead letter was replayed since */
		return;
	}
	if (stored->attempt >= (int64_t)entry->attempt && !is_in_place) {
		attempts_route_again(batch, entry, stored);
		return;
	}
	if (stored->attempt >= (int64_t)entry->attempt) {
		entry->attempt = (uint32_t)stored->attempt + 1;
		entry->event.attempt = entry->attempt;
		entry->event.retried = true;
	}
	if (stored->deaths > 0)
		attempts_suspect(batch, entry, stored);
}

void batch_attempts_take(struct batch *batch, const struct claim_group *group, const PGresult *result)
{
	enum { KEY, ROUND, ATTEMPT, ROUTE, REASON, DEATHS, ERROR, DEAD_LETTERS };
	for (int row = 0; row < PQntuples(result); row++) {
		struct bytes key = {PQgetvalue(result, row, KEY), (size_t)PQgetlength(result, row, KEY)};
		struct entry *entry = batch_claim_find(group, key);
		struct stored_attempt stored = {
		        .round = attempts_number(result, row, ROUND),
		        .attempt = attempts_number(result, row, ATTEMPT),
		        .reason = arena_string(&batch->arena, bytes_from_string(PQgetvalue(result, row, REASON))),
		        .error = arena_string(&batch->arena, bytes_from_string(PQgetvalue(result, row, ERROR))),
		        .deaths = attempts_number(result, row, DEATHS),
		        .dead_letters = {PQgetvalue(result, row, DEAD_LETTERS),
		                         (size_t)PQgetlength(result, row, DEAD_LETTERS)},
		};
		ASSERT(entry);
		if (entry->claimed && attempt_route_from_name(PQgetvalue(result, row, ROUTE), &stored.route))
			attempts_judge(batch, entry, &stored);
	}
}

/* ---- writing ---- */

static bool attempts_is_new(const struct entry *entry)
{
	return entry->claimed && !entry->as_stored &&
	       (entry->outcome == OUTCOME_RETRY || entry->outcome == OUTCOME_DEAD || entry->outcome == OUTCOME_PARKED);
}

/* A parked event that turned out to be a duplicate, or is not this plugin's any more, leaves no row either. */
static bool attempts_is_over(const struct entry *entry)
{
	if (entry->record->released && (entry->outcome == OUTCOME_DUPLICATE || entry->outcome == OUTCOME_IGNORED))
		return !entry->record->released->is_buried;
	return entry->has_attempt && entry->outcome == OUTCOME_DONE;
}

bool batch_attempts_to_write(const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (attempts_is_new(&batch->entries[i]) || attempts_is_over(&batch->entries[i]))
			return true;
	return false;
}

static enum attempt_route attempts_route(const struct batch *batch, const struct entry *entry)
{
	if (entry->outcome == OUTCOME_DEAD)
		return ATTEMPT_DEAD;
	if (entry->outcome == OUTCOME_PARKED)
		return ATTEMPT_PARKED;
	return batch->engine->pipeline->retry.mode == CONFIG_RETRY_TOPICS ? ATTEMPT_RETRY : ATTEMPT_IN_PLACE;
}

struct bytes batch_stored_key(const struct entry *entry)
{
	return entry->table->is_text ? entry->key : entry->event.id_text;
}

struct attempt_columns {
	struct bytes *keys, *routes, *reasons;
	int64_t *rounds, *attempts;
	size_t count;
};

static struct attempt_columns attempts_collect(struct batch *batch)
{
	struct arena *arena = &batch->arena;
	struct attempt_columns columns = {
	        .keys = arena_alloc(arena, batch->count * sizeof(*columns.keys)),
	        .routes = arena_alloc(arena, batch->count * sizeof(*columns.routes)),
	        .reasons = arena_alloc(arena, batch->count * sizeof(*columns.reasons)),
	        .rounds = arena_alloc(arena, batch->count * sizeof(*columns.rounds)),
	        .attempts = arena_alloc(arena, batch->count * sizeof(*columns.attempts)),
	};
	for (size_t i = 0; i < batch->count; i++) {
		const struct entry *entry = &batch->entries[i];
		size_t at = columns.count;
		if (!attempts_is_new(entry))
			continue;
		columns.keys[at] = batch_stored_key(entry);
		columns.routes[at] = bytes_from_string(attempt_route_name(attempts_route(batch, entry)));
		columns.reasons[at] = bytes_from_string(batch_park_reason(entry));
		columns.rounds[at] = entry->event.round;
		columns.attempts[at] = batch_park_attempt(entry);
		columns.count++;
	}
	return columns;
}

static bool attempts_queue_store(struct batch *batch)
{
	struct arena *arena = &batch->arena;
	struct attempt_columns columns = attempts_collect(batch);
	if (columns.count == 0)
		return true;
	struct bytes arrays[] = {
	        array_from_bytes(arena, ARRAY_TEXT, columns.keys, columns.count),
	        array_from_int8(arena, columns.rounds, columns.count),
	        array_from_int8(arena, columns.attempts, columns.count),
	        array_from_bytes(arena, ARRAY_TEXT, columns.routes, columns.count),
	        array_from_bytes(arena, ARRAY_TEXT, columns.reasons, columns.count),
	};
	enum { ARRAYS = sizeof(arrays) / sizeof(arrays[0]) };
	const char *values[ARRAYS + 1] = {batch->engine->pipeline->name};
	int lengths[ARRAYS + 1] = {0}, formats[ARRAYS + 1] = {0};
	for (size_t i = 0; i < ARRAYS; i++) {
		values[i + 1] = arrays[i].ptr;
		lengths[i + 1] = (int)arrays[i].len;
		formats[i + 1] = 1;
	}
	struct pg_params params = {values, lengths, formats, ARRAYS + 1};
	struct error error;
	return pg_queue(batch->pg, &batch->engine->attempts->store, &params, &error) || batch_fail_host(batch, &error);
}

/* Of one that may have no place any more. */
static struct bytes attempts_key(const struct entry *entry)
{
	return entry->record->released ? bytes_from_string(entry->record->released->event_id) : batch_stored_key(entry);
}

static bool attempts_queue_forget(struct batch *batch)
{
	struct bytes *keys = arena_alloc(&batch->arena, batch->count * sizeof(*keys));
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++)
		if (attempts_is_over(&batch->entries[i]))
			keys[count++] = attempts_key(&batch->entries[i]);
	if (count == 0)
		return true;
	struct bytes array = array_from_bytes(&batch->arena, ARRAY_TEXT, keys, count);
	const char *values[] = {array.ptr, batch->engine->pipeline->name};
	const int lengths[] = {(int)array.len, 0};
	const int formats[] = {1, 0};
	struct pg_params params = {values, lengths, formats, 2};
	struct error error;
	return pg_queue(batch->pg, &batch->engine->attempts->forget, &params, &error) || batch_fail_host(batch, &error);
}

bool batch_attempts_queue(struct batch *batch)
{
	return attempts_queue_store(batch) && attempts_queue_forget(batch);
}
