#include "core/pipeline/due_heap.h"

#include <stdlib.h>

#include "core/base/assert.h"

static bool is_before(const struct due *a, const struct due *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void swap(struct due *a, struct due *b)
{
	struct due kept = *a;
	*a = *b;
	*b = kept;
}

static void sift_up(struct due_heap *heap, size_t at)
{
	while (at > 0 && is_before(&heap->items[at], &heap->items[(at - 1) / 2])) {
		swap(&heap->items[at], &heap->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void sift_down(struct due_heap *heap, size_t at)
{
	for (;;) {
		size_t least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
			if (is_before(&heap->items[child], &heap->items[least]))
				least = child;
		if (least == at)
			return;
		swap(&heap->items[at], &heap->items[least]);
		at = least;
	}
}

void due_heap_add(struct due_heap *heap, const struct due *due)
{
	if (heap->count == heap->capacity) {
		heap->capacity = heap->capacity ? heap->capacity * 2 : 16;
		heap->items = realloc(heap->items, heap->capacity * sizeof(*heap->items));
		ASSERT(heap->items);
	}
	heap->items[heap->count] = *due;
	heap->items[heap->count].order = heap->next_order++;
	sift_up(heap, heap->count++);
}

int64_t due_heap_first_ms(const struct due_heap *heap)
{
	return heap->count ? heap->items[0].due_ms : -1;
}

bool due_heap_take(struct due_heap *heap, int64_t now_ms, struct due *out_due)
{
	if (heap->count == 0 || heap->items[0].due_ms > now_ms)
		return false;
	*out_due = heap->items[0];
	heap->items[0] = heap->items[--heap->count];
	sift_down(heap, 0);
	return true;
}

size_t due_heap_remove_partition(struct due_heap *heap, const struct partition *partition, struct record **list)
{
	size_t kept = 0, removed = 0;
	for (size_t i = 0; i < heap->count; i++) {
		struct record *record = heap->items[i].record;
		if (!record || (partition && record->partition != partition)) {
			heap->items[kept++] = heap->items[i];
			continue;
		}
		record->next = *list;
		*list = record;
		removed++;
	}
	heap->count = kept;
	for (size_t i = kept / 2; i-- > 0;)
		sift_down(heap, i);
	return removed;
}

void due_heap_done(struct due_heap *heap)
{
	free(heap->items);
	*heap = (struct due_heap){0};
}
