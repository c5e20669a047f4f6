#include "core/kafka/assignment.h"
#include "core/base/assert.h"
#include <stdlib.h>
#include <string.h>

static int compare(const struct kafka_assigned *item, const char *topic, int32_t partition)
{
	int order = strcmp(item->topic, topic);
	if (order != 0)
		return order;
	return (item->partition > partition) - (item->partition < partition);
}

/* The first item that is not less. */
static size_t lower_bound(const struct kafka_assignment *assignment, const char *topic, int32_t partition)
{
	size_t low = 0, high = assignment->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(&assignment->items[middle], topic, partition) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct kafka_assignment *assignment, size_t i, const char *topic, int32_t partition)
{
	return i < assignment->count && compare(&assignment->items[i], topic, partition) == 0;
}

void kafka_assignment_done(struct kafka_assignment *assignment)
{
	for (size_t i = 0; i < assignment->count; i++)
		free(assignment->items[i].topic);
	free(assignment->items);
	*assignment = (struct kafka_assignment){0};
}

struct kafka_assigned *kafka_assignment_find(struct kafka_assignment *assignment, const char *topic, int32_t partition)
{
	if (is_at(assignment, assignment->last, topic, partition))
		return &assignment->items[assignment->last];
	size_t i = lower_bound(assignment, topic, partition);
	if (!is_at(assignment, i, topic, partition))
		return NULL;
	assignment->last = i;
	return &assignment->items[i];
}

static void make_room(struct kafka_assignment *assignment, size_t at)
{
	if (assignment->count == assignment->capacity) {
		assignment->capacity = assignment->capacity ? assignment->capacity * 2 : 16;
		assignment->items = realloc(assignment->items, assignment->capacity * sizeof(*assignment->items));
		ASSERT(assignment->items);
	}
	memmove(&assignment->items[at + 1], &assignment->items[at],
	        (assignment->count - at) * sizeof(*assignment->items));
	assignment->count++;
}

void kafka_assignment_add(struct kafka_assignment *assignment, const char *topic, int32_t partition,
                          int64_t next_offset)
{
	size_t i = lower_bound(assignment, topic, partition);
	if (is_at(assignment, i, topic, partition)) {
		assignment->items[i].next_offset = next_offset;
		return;
	}
	make_room(assignment, i);
	char *copy = strdup(topic);
	ASSERT(copy);
	assignment->items[i] =
	        (struct kafka_assigned){.topic = copy, .partition = partition, .next_offset = next_offset};
}

void kafka_assignment_remove(struct kafka_assignment *assignment, const char *topic, int32_t partition)
{
	size_t i = lower_bound(assignment, topic, partition);
	if (!is_at(assignment, i, topic, partition))
		return;
	free(assignment->items[i].topic);
	assignment->count--;
	memmove(&assignment->items[i], &assignment->items[i + 1], (assignment->count - i) * sizeof(*assignment->items));
}

rd_kafka_topic_partition_list_t *kafka_assignment_list(const struct kafka_assignment *assignment)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)assignment->count);
	for (size_t i = 0; i < assignment->count; i++)
		rd_kafka_topic_partition_list_add(list, assignment->items[i].topic, assignment->items[i].partition)
		        ->offset = assignment->items[i].next_offset;
	return list;
}
