#include "core/base/assert.h"

/* uthash: out of memory ends the process, as everywhere. */
#define uthash_fatal(text) assert_failed(text, __FILE__, __LINE__)
#include "core/pipeline/lane_table.h"

#include <stdlib.h>
#include <string.h>

/* previous NULL: to the front. */
static void insert(struct lane *lane, struct record *previous, struct record *record)
{
	struct record **place = previous ? &previous->next : &lane->first;
	record->lane = lane;
	record->next = *place;
	*place = record;
	if (!record->next)
		lane->last = record;
	lane->count++;
}

/* The last of those in front that were parked: they are older than whatever came from Kafka.  NULL: none. */
static struct record *last_released(const struct lane *lane)
{
	struct record *last = NULL;
	for (struct record *each = lane->first; each && each->released; each = each->next)
		last = each;
	return last;
}

void lane_push_tail(struct lane *lane, struct record *record)
{
	insert(lane, record->released ? last_released(lane) : lane->last, record);
}

void lane_push_head(struct lane *lane, struct record *record)
{
	insert(lane, record->released ? NULL : last_released(lane), record);
}

struct record *lane_pop_head(struct lane *lane)
{
	struct record *record = lane->first;
	lane->first = record->next;
	if (!lane->first)
		lane->last = NULL;
	lane->count--;
	record->next = NULL;
	return record;
}

void lane_remove_partition(struct lane *lane, const struct partition *partition, struct record **list)
{
	struct record *rest = lane->first;
	lane->first = lane->last = NULL;
	lane->count = 0;
	while (rest) {
		struct record *record = rest;
		rest = record->next;
		if (partition && record->partition != partition) {
			lane_push_tail(lane, record);
		} else {
			record->next = *list;
			*list = record;
		}
	}
}

void lane_list_append(struct lane_list *list, struct lane *lane)
{
	lane->next = NULL;
	lane->previous = list->last;
	if (list->last)
		list->last->next = lane;
	else
		list->first = lane;
	list->last = lane;
}

void lane_list_remove(struct lane_list *list, struct lane *lane)
{
	if (lane->previous)
		lane->previous->next = lane->next;
	else
		list->first = lane->next;
	if (lane->next)
		lane->next->previous = lane->previous;
	else
		list->last = lane->previous;
	lane->previous = lane->next = NULL;
}

static void set_key(struct lane *lane, const char *name, size_t len)
{
	lane->key = len <= sizeof(lane->own_key) ? lane->own_key : malloc(len);
	ASSERT(lane->key);
	memcpy(lane->key, name, len);
}

static struct lane *take_free(struct lane_table *table)
{
	struct lane *lane = table->free;
	if (lane) {
		table->free = lane->next;
		lane->next = NULL;
		return lane;
	}
	lane = calloc(1, sizeof(*lane));
	ASSERT(lane);
	return lane;
}

static struct lane *get_by_name(struct lane_table *table, const char *name, size_t len)
{
	struct lane *lane = NULL;
	unsigned hash;
	HASH_VALUE(name, len, hash);
	HASH_FIND_BYHASHVALUE(hh, table->lanes, name, len, hash, lane);
	if (lane)
		return lane;
	lane = take_free(table);
	set_key(lane, name, len);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, table->lanes, lane->key, len, hash, lane);
	return lane;
}

struct lane *lane_table_get(struct lane_table *table, enum lane_kind kind, struct bytes key)
{
	char space[512];
	size_t len = key.len + 1;
	char *name = len <= sizeof(space) ? space : malloc(len);
	ASSERT(name);
	name[0] = (char)kind;
	memcpy(name + 1, key.ptr, key.len);
	struct lane *lane = get_by_name(table, name, len);
	if (name != space)
		free(name);
	return lane;
}

void lane_table_free(struct lane_table *table, struct lane *lane)
{
	HASH_DELETE(hh, table->lanes, lane);
	if (lane->key != lane->own_key)
		free(lane->key);
	memset(lane, 0, sizeof(*lane));
	lane->next = table->free;
	table->free = lane;
}

void lane_table_each(struct lane_table *table, void (*visit)(struct lane *lane, void *self), void *self)
{
	struct lane *lane, *next;
	HASH_ITER(hh, table->lanes, lane, next)
	{
		visit(lane, self);
	}
}

void lane_table_done(struct lane_table *table, struct record **list)
{
	struct lane *lane, *next;
	HASH_ITER(hh, table->lanes, lane, next)
	{
		lane_remove_partition(lane, NULL, list);
		lane_table_free(table, lane);
	}
	while ((lane = table->free)) {
		table->free = lane->next;
		free(lane);
	}
}
