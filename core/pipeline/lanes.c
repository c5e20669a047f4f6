#include "core/pipeline/lanes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/pipeline/due_heap.h"
#include "core/pipeline/lane_table.h"
#include "core/pipeline/tracker.h"

struct lanes {
	enum config_ordering ordering;
	_Atomic bool closed;
	pthread_mutex_t lock; /* the rest */
	pthread_cond_t work;  /* something became ready, or closed */
	pthread_cond_t rest;  /* a worker gave back */
	struct lane_table table;
	struct lane shared; /* ordering none: never held, never in the table */
	struct lane_list ready;
	struct due_heap due; /* lanes, or for ordering none single records, that wait for their time */
	size_t ready_records, ready_lanes, queued, taken;
	size_t waiting; /* workers inside lanes_take */
};

static bool is_shared(const struct lanes *lanes)
{
	return lanes->ordering == CONFIG_ORDERING_NONE;
}

struct lanes *lanes_create(enum config_ordering ordering)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));
	ASSERT(lanes);
	lanes->ordering = ordering;
	PTHREAD_OK(pthread_mutex_init(&lanes->lock, NULL));
	PTHREAD_OK(pthread_cond_init(&lanes->work, NULL));
	PTHREAD_OK(pthread_cond_init(&lanes->rest, NULL));
	return lanes;
}

/* ---- from one state of a lane to the next; the lock is held ---- */

/* How many of its records a worker can take at once. */
static size_t takeable(const struct lane *lane)
{
	return lane->is_slow && lane->count > 0 ? 1 : lane->count;
}

/* Where a lane belongs by what is in it: nowhere (freed), with its worker, waiting for its time, or ready. */
static void settle_lane(struct lanes *lanes, struct lane *lane)
{
	bool ready = lane->count > 0 && lane->taken == 0 && !lane->waits;
	if (ready && !lane->is_ready) {
		lane_list_append(&lanes->ready, lane);
		lanes->ready_lanes++;
		lanes->ready_records += takeable(lane);
	} else if (!ready && lane->is_ready) {
		lane_list_remove(&lanes->ready, lane);
		lanes->ready_lanes--;
		lanes->ready_records -= takeable(lane);
	}
	lane->is_ready = ready;
	if (lane->count == 0 && lane->taken == 0 && !lane->waits && lane != &lanes->shared)
		lane_table_free(&lanes->table, lane);
}

/* Changes of a lane's records go between these two, so that the counts of ready records stay right. */
static void begin_change(struct lanes *lanes, struct lane *lane)
{
	if (lane->is_ready)
		lanes->ready_records -= takeable(lane);
	lanes->queued -= lane->count;
}

static void end_change(struct lanes *lanes, struct lane *lane)
{
	if (lane->is_ready)
		lanes->ready_records += takeable(lane);
	lanes->queued += lane->count;
}

static void release_due(struct lanes *lanes, int64_t now_ms)
{
	struct due due;
	while (due_heap_take(&lanes->due, now_ms, &due)) {
		if (due.record) {
			lanes->queued--;
			begin_change(lanes, due.lane);
			lane_push_head(due.lane, due.record);
			end_change(lanes, due.lane);
		} else {
			due.lane->waits = false;
		}
		settle_lane(lanes, due.lane);
	}
}

/* One signal per worker that finds something. */
static void wake_workers(struct lanes *lanes)
{
	size_t units = is_shared(lanes) ? lanes->ready_records : lanes->ready_lanes;
	size_t wanted = units < lanes->waiting ? units : lanes->waiting;
	for (size_t i = 0; i < wanted; i++)
		PTHREAD_OK(pthread_cond_signal(&lanes->work));
}

/* ---- push ---- */

static struct lane *lane_of(struct lanes *lanes, const struct lanes_item *item)
{
	if (is_shared(lanes))
		return &lanes->shared;
	if (lanes->ordering == CONFIG_ORDERING_KEY && item->key.ptr)
		return lane_table_get(&lanes->table, LANE_OF_KEY, item->key);
	struct bytes partition = {(const char *)&item->record->partition, sizeof(item->record->partition)};
	return lane_table_get(&lanes->table, LANE_OF_PARTITION, partition);
}

void lanes_push(struct lanes *lanes, const struct lanes_item *items, size_t count)
{
	PTHREAD_OK(pthread_mutex_lock(&lanes->lock));
	for (size_t i = 0; i < count; i++) {
		struct lane *lane = lane_of(lanes, &items[i]);
		begin_change(lanes, lane);
		lane_push_tail(lane, items[i].record);
		end_change(lanes, lane);
		settle_lane(lanes, lane);
	}
	wake_workers(lanes);
	PTHREAD_OK(pthread_mutex_unlock(&lanes->lock));
}

/* ---- take ---- */

/* Until something may be ready; until_ms -1: no end.  False: the time is up. */
static bool wait_for_work(struct lanes *lanes, int64_t until_ms)
{
	int64_t now_ms = clock_monotonic_ms();
	if (until_ms >= 0 && until_ms <= now_ms)
		return false;
	int64_t due_ms = due_heap_first_ms(&lanes->due);
	if (due_ms >= 0 && (until_ms < 0 || due_ms < until_ms))
		until_ms = due_ms;
	lanes->waiting++;
	if (until_ms >= 0) {
		struct timespec deadline = clock_deadline(until_ms - now_ms);
		(void)clock_wait_until(&lanes->work, &lanes->lock, &deadline);
	} else {
		PTHREAD_OK(pthread_cond_wait(&lanes->work, &lanes->lock));
	}
	lanes->waiting--;
	return true;
}

/* This worker's part when those that wait are to get as much; no more workers than lanes can share. */
static size_t fair_share(const struct lanes *lanes, size_t max)
{
	size_t workers = lanes->waiting + 1;
	size_t units = is_shared(lanes) ? lanes->ready_records : lanes->ready_lanes;
	if (workers > units)
		workers = units;
	size_t share = (lanes->ready_records + workers - 1) / workers;
	return share < max ? share : max;
}

/* How many records of the first ready lane to take; 0: enough.  What is left of a lane nobody else can have, so the
 * first one is taken up to max, and a part of a further one only when nobody waits for it.  A slow lane travels alone.
 */
static size_t room_for_lane(const struct lanes *lanes, size_t share, size_t max, size_t count)
{
	const struct lane *lane = lanes->ready.first;
	if (!lane || count >= share || (count > 0 && lane->is_slow))
		return 0;
	if (lane->is_slow)
		return 1;
	if (is_shared(lanes) || lanes->waiting == 0)
		return share - count;
	if (count == 0)
		return max;
	return count + lane->count <= share ? lane->count : 0;
}

/* The first `room` records of the lane, which becomes the worker's. */
static size_t take_from_lane(struct lanes *lanes, struct lane *lane, size_t room, struct record **out_records)
{
	size_t count = 0;
	begin_change(lanes, lane);
	for (; count < room && lane->count > 0; count++) {
		struct record *record = lane_pop_head(lane);
		record_ref(record);
		partition_add_taken(record->partition, 1);
		out_records[count] = record;
	}
	end_change(lanes, lane);
	if (lane != &lanes->shared)
		lane->taken += count;
	lanes->taken += count;
	settle_lane(lanes, lane);
	return count;
}

size_t lanes_take(struct lanes *lanes, size_t max, int64_t wait_ms, struct record **out_records)
{
	size_t count = 0;
	int64_t until_ms = wait_ms < 0 ? -1 : clock_monotonic_ms() + wait_ms;
	PTHREAD_OK(pthread_mutex_lock(&lanes->lock));
	for (;;) {
		release_due(lanes, clock_monotonic_ms());
		if (lanes->closed || lanes->ready_records > 0 || !wait_for_work(lanes, until_ms))
			break;
	}
	size_t share = lanes->closed || lanes->ready_records == 0 ? 0 : fair_share(lanes, max);
	bool is_slow = false;
	for (size_t room; share > 0 && !is_slow && (room = room_for_lane(lanes, share, max, count)) > 0;) {
		is_slow = lanes->ready.first->is_slow;
		count += take_from_lane(lanes, lanes->ready.first, room, out_records + count);
	}
	wake_workers(lanes);
	PTHREAD_OK(pthread_mutex_unlock(&lanes->lock));
	return count;
}

/* ---- give back ---- */

static void hold(struct lanes *lanes, struct lane *lane, struct record *record, int64_t due_ms)
{
	if (is_shared(lanes)) {
		due_heap_add(&lanes->due, &(struct due){.due_ms = due_ms, .lane = lane, .record = record});
		lanes->queued++;
		return;
	}
	if (lane->due_ms < due_ms)
		lane->due_ms = due_ms;
}

/* Last first, each to the head: so the first of them ends up in front.  The tracker's reference stays with the queue;
 * what belongs to a revoked partition goes to `*dropped`. */
static void put_back(struct lanes *lanes, const struct lanes_return *item, int64_t now_ms, struct record **dropped)
{
	struct record *record = item->record;
	struct lane *lane = record->lane;
	if (partition_is_revoked(record->partition)) {
		record->next = *dropped;
		*dropped = record;
		return;
	}
	if (item->hold_ms > 0)
		hold(lanes, lane, record, now_ms + item->hold_ms);
	if (item->hold_ms > 0 && is_shared(lanes))
		return;
	begin_change(lanes, lane);
	lane_push_head(lane, record);
	end_change(lanes, lane);
}

/* The lane's last taken record came back: it is free again. */
static void release_lane(struct lanes *lanes, struct lane *lane)
{
	if (lane->due_ms > 0 && lane->count > 0) {
		lane->waits = true;
		due_heap_add(&lanes->due, &(struct due){.due_ms = lane->due_ms, .lane = lane});
	}
	lane->due_ms = 0;
	settle_lane(lanes, lane);
}

static void drop_list(struct record *records)
{
	while (records) {
		struct record *next = records->next;
		record_drop(records);
		records = next;
	}
}

void lanes_give_back(struct lanes *lanes, struct record *const *taken, size_t taken_count,
                     const struct lanes_return *back, size_t back_count)
{
	struct record *dropped = NULL;
	int64_t now_ms = clock_monotonic_ms();
	PTHREAD_OK(pthread_mutex_lock(&lanes->lock));
	for (size_t i = back_count; i-- > 0;)
		put_back(lanes, &back[i], now_ms, &dropped);
	for (size_t i = 0; i < taken_count; i++) {
		struct lane *lane = taken[i]->lane;
		partition_add_taken(taken[i]->partition, -1);
		if (lane == &lanes->shared)
			continue;
		if (taken[i]->pace != PACE_UNKNOWN)
			lane->is_slow = taken[i]->pace == PACE_SLOW;
		if (--lane->taken == 0)
			release_lane(lanes, lane);
	}
	if (is_shared(lanes))
		settle_lane(lanes, &lanes->shared);
	lanes->taken -= taken_count;
	wake_workers(lanes);
	PTHREAD_OK(pthread_cond_broadcast(&lanes->rest));
	PTHREAD_OK(pthread_mutex_unlock(&lanes->lock));
	drop_list(dropped);
	for (size_t i = 0; i < taken_count; i++)
		record_unref(taken[i]);
}

/* ---- revoke and stop ---- */

struct drop {
	struct lanes *lanes;
	struct partition *partition;
	struct record *dropped;
};

static void drop_from_lane(struct lane *lane, void *self)
{
	struct drop *drop = self;
	begin_change(drop->lanes, lane);
	lane_remove_partition(lane, drop->partition, &drop->dropped);
	end_change(drop->lanes, lane);
	settle_lane(drop->lanes, lane);
}

void lanes_drop_partition(struct lanes *lanes, struct partition *partition)
{
	struct drop drop = {.lanes = lanes, .partition = partition};
	PTHREAD_OK(pthread_mutex_lock(&lanes->lock));
	if (is_shared(lanes)) {
		lanes->queued -= due_heap_remove_partition(&lanes->due, partition, &drop.dropped);
		drop_from_lane(&lanes->shared, &drop);
	} else {
		lane_table_each(&lanes->table, drop_from_lane, &drop);
	}
	PTHREAD_OK(pthread_mutex_unlock(&lanes->lock));
	drop_list(drop.dropped);
}

bool lanes_wait_partition(struct lanes *lanes, struct partition *partition, int64_t wait_ms)
{
	struct timespec deadline = clock_deadline(wait_ms);
	bool in_time = true;
	PTHREAD_OK(pthread_mutex_lock(&lanes->lock));
	while (partition_taken(partition) > 0 && in_time)
		in_time = clock_wait_until(&lanes->rest, &lanes->lock, &deadline);
	bool none_left = partition_taken(partition) == 0;
	PTHREAD_OK(pthread_mutex_unlock(&lanes->lock));
	return none_left;
}

void lanes_close(struct lanes *lanes)
{
	PTHREAD_OK(pthread_mutex_lock(&lanes->lock));
	lanes->closed = true;
	PTHREAD_OK(pthread_cond_broadcast(&lanes->work));
	PTHREAD_OK(pthread_mutex_unlock(&lanes->lock));
}

bool lanes_should_stop(struct lanes *lanes, const struct record *record)
{
	return atomic_load_explicit(&lanes->closed, memory_order_relaxed) || partition_is_revoked(record->partition);
}

static size_t read_count(struct lanes *lanes, const size_t *count)
{
	PTHREAD_OK(pthread_mutex_lock(&lanes->lock));
	size_t value = *count;
	PTHREAD_OK(pthread_mutex_unlock(&lanes->lock));
	return value;
}

size_t lanes_queued(struct lanes *lanes)
{
	return read_count(lanes, &lanes->queued);
}

size_t lanes_taken(struct lanes *lanes)
{
	return read_count(lanes, &lanes->taken);
}

size_t lanes_waiting(struct lanes *lanes)
{
	return read_count(lanes, &lanes->waiting);
}

void lanes_destroy(struct lanes *lanes)
{
	if (!lanes)
		return;
	struct record *dropped = NULL;
	due_heap_remove_partition(&lanes->due, NULL, &dropped);
	lane_remove_partition(&lanes->shared, NULL, &dropped);
	lane_table_done(&lanes->table, &dropped);
	due_heap_done(&lanes->due);
	drop_list(dropped);
	PTHREAD_OK(pthread_cond_destroy(&lanes->work));
	PTHREAD_OK(pthread_cond_destroy(&lanes->rest));
	PTHREAD_OK(pthread_mutex_destroy(&lanes->lock));
	free(lanes);
}
