/* The order in which queued statements go out: those that name the row they lock go first, by statement and value, so
 * that two batches lock rows in one order and never wait for each other crosswise. */
#include <stdlib.h>

#include "core/pipeline/batch.h"

static uint32_t lock_param_of(const struct queued *queued)
{
	return plugin_statement(queued->call->plugin, queued->statement)->lock_param;
}

static struct bytes locked_value(const struct queued *queued)
{
	uint32_t at = lock_param_of(queued) - 1;
	return (struct bytes){queued->params.values[at], (size_t)queued->params.lengths[at]};
}

int batch_compare_locks(const struct queued *left, const struct queued *right)
{
	bool left_locks = lock_param_of(left) > 0, right_locks = lock_param_of(right) > 0;
	if (left_locks != right_locks)
		return left_locks ? -1 : 1;
	if (!left_locks)
		return 0;
	if (left->statement != right->statement)
		return left->statement < right->statement ? -1 : 1;
	struct bytes a = locked_value(left), b = locked_value(right);
	if (!a.ptr || !b.ptr)
		return (a.ptr != NULL) - (b.ptr != NULL);
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

struct place {
	struct queued *queued;
	size_t sequence;
};

static int place_compare(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	int order = batch_compare_locks(left->queued, right->queued);
	return order ? order : (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

struct queued *batch_sort_queued(struct batch *batch, struct queued *first)
{
	size_t count = 0;
	if (!first || !plugin_has_lock_params(batch->engine->plugin))
		return first;
	for (const struct queued *each = first; each; each = each->next)
		count++;
	struct place *places = arena_alloc(&batch->arena, count * sizeof(*places));
	for (size_t i = 0; i < count; i++, first = first->next)
		places[i] = (struct place){first, i};
	qsort(places, count, sizeof(*places), place_compare);
	for (size_t i = 0; i < count; i++)
		places[i].queued->next = i + 1 < count ? places[i + 1].queued : NULL;
	return places[0].queued;
}
