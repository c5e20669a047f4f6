#include <check.h>
#include <pthread.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/pipeline/lanes.h"
#include "core/pipeline/released.h"
#include "core/pipeline/tracker.h"
#include "core/retry/parked_record.h"
#include "tests/unit/fake_message.h"
#include "tests/unit/run_suite.h"

enum { MAX = 1000 };

static struct partition *partitions[4];
static struct record *taken[MAX], *others[MAX];

static void set_up(void)
{
	for (int i = 0; i < 4; i++)
		partitions[i] = partition_create("t", i, 0);
}

static void tear_down(void)
{
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(partition_record_count(partitions[i]), 0);
		ck_assert_int_eq(partition_taken(partitions[i]), 0);
		partition_unref(partitions[i]);
	}
	ck_assert_int_eq(fake_messages, 0);
}

static struct record *push(struct lanes *lanes, int partition, int64_t offset, const char *key)
{
	struct record *record = record_create(fake_message(offset), partitions[partition]);
	record_begin(record, 0);
	struct lanes_item item = {record, bytes_from_string(key)};
	lanes_push(lanes, &item, 1);
	return record;
}

static void push_range(struct lanes *lanes, int partition, int64_t first, int64_t end, const char *key)
{
	for (int64_t offset = first; offset < end; offset++)
		push(lanes, partition, offset, key);
}

static void finish(struct lanes *lanes, struct record **records, size_t count)
{
	record_finish_many(records, count);
	lanes_give_back(lanes, records, count, NULL, 0);
}

static void expect_offsets(struct record *const *records, size_t count, int64_t first)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(records[i]->message->offset, first + (int64_t)i);
}

START_TEST(a_lane_is_taken_in_order_and_by_one_worker)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_PARTITION);
	push_range(lanes, 0, 0, 10, NULL);
	ck_assert_uint_eq(lanes_take(lanes, 4, 0, taken), 4);
	expect_offsets(taken, 4, 0);
	ck_assert_uint_eq(lanes_take(lanes, 4, 0, others), 0);
	ck_assert_uint_eq(lanes_queued(lanes), 6);
	ck_assert_uint_eq(lanes_taken(lanes), 4);
	finish(lanes, taken, 4);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 6);
	expect_offsets(taken, 6, 4);
	finish(lanes, taken, 6);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(what_was_taken_stays_readable_when_it_is_finished_early)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_PARTITION);
	push_range(lanes, 0, 0, 2, NULL);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 2);
	record_finish(taken[0]);
	ck_assert_int_eq(taken[0]->message->offset, 0);
	ck_assert_int_eq(fake_messages, 2);
	record_finish(taken[1]);
	lanes_give_back(lanes, taken, 2, NULL, 0);
	ck_assert_int_eq(fake_messages, 0);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(partitions_take_turns)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_PARTITION);
	push_range(lanes, 0, 0, 100, NULL);
	push_range(lanes, 1, 0, 100, NULL);
	push_range(lanes, 2, 0, 100, NULL);
	for (int turn = 0; turn < 6; turn++) {
		ck_assert_uint_eq(lanes_take(lanes, 10, 0, taken), 10);
		for (int i = 0; i < 10; i++)
			ck_assert_ptr_eq(taken[i]->partition, partitions[turn % 3]);
		finish(lanes, taken, 10);
	}
	lanes_destroy(lanes);
}
END_TEST

START_TEST(same_key_is_one_lane_and_other_keys_are_free)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_KEY);
	char long_key[600];
	memset(long_key, 'x', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = '\0';
	push(lanes, 0, 0, "a");
	push(lanes, 0, 1, long_key);
	push(lanes, 0, 2, "");
	push(lanes, 0, 3, "a");
	ck_assert_uint_eq(lanes_take(lanes, 1, 0, taken), 1);
	ck_assert_int_eq(taken[0]->message->offset, 0);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, others), 2); /* not the second "a" */
	ck_assert_int_eq(others[0]->message->offset, 1);
	ck_assert_int_eq(others[1]->message->offset, 2);
	push(lanes, 0, 4, long_key);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken + 1), 0);
	finish(lanes, others, 2);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, others), 1);
	ck_assert_int_eq(others[0]->message->offset, 4);
	finish(lanes, others, 1);
	finish(lanes, taken, 1);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 1);
	ck_assert_int_eq(taken[0]->message->offset, 3);
	finish(lanes, taken, 1);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(without_a_key_the_partition_is_the_lane)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_KEY);
	push(lanes, 0, 0, NULL);
	push(lanes, 1, 0, NULL);
	push(lanes, 0, 1, NULL);
	ck_assert_uint_eq(lanes_take(lanes, 2, 0, taken), 2);
	ck_assert_ptr_eq(taken[0]->partition, partitions[0]);
	ck_assert_ptr_eq(taken[1]->partition, partitions[0]);
	ck_assert_uint_eq(lanes_take(lanes, 2, 0, others), 1);
	ck_assert_ptr_eq(others[0]->partition, partitions[1]);
	finish(lanes, taken, 2);
	finish(lanes, others, 1);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(without_order_many_workers_share_one_queue)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_NONE);
	push_range(lanes, 0, 0, 10, "k");
	ck_assert_uint_eq(lanes_take(lanes, 4, 0, taken), 4);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, others), 6);
	expect_offsets(others, 6, 4);
	finish(lanes, others, 6);
	finish(lanes, taken, 4);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(what_comes_back_goes_to_the_head_in_order)
{
	for (int ordering = CONFIG_ORDERING_PARTITION; ordering <= CONFIG_ORDERING_NONE; ordering++) {
		struct lanes *lanes = lanes_create(ordering);
		push_range(lanes, 0, 0, 10, "k");
		ck_assert_uint_eq(lanes_take(lanes, 5, 0, taken), 5);
		record_finish(taken[0]);
		record_finish(taken[2]);
		struct lanes_return back[] = {{taken[1], 0}, {taken[3], 0}, {taken[4], 0}};
		lanes_give_back(lanes, taken, 5, back, 3);
		ck_assert_uint_eq(lanes_queued(lanes), 8);
		ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 8);
		ck_assert_int_eq(taken[0]->message->offset, 1);
		ck_assert_int_eq(taken[1]->message->offset, 3);
		expect_offsets(taken + 2, 6, 4);
		finish(lanes, taken, 8);
		lanes_destroy(lanes);
	}
}
END_TEST

static struct record *push_released(struct lanes *lanes, struct release *release, const char *key)
{
	struct arena arena;
	arena_init(&arena, 256);
	const struct kafka_record empty = {0};
	const struct parked_row row = {.key = BYTES_LITERAL("key:k"),
	                               .record = parked_record_pack(&arena, &empty),
	                               .event_id = "id",
	                               .topic = "t"};
	struct record *record = record_create_released(released_create(&row, release), partitions[0]);
	struct lanes_item item = {record, bytes_from_string(key)};
	lanes_push(lanes, &item, 1);
	arena_done(&arena);
	return record;
}

START_TEST(what_was_parked_stands_before_what_came_from_kafka)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_KEY);
	struct release release = {0};
	struct record *held = push(lanes, 0, 0, "k"), *next = push(lanes, 0, 1, "k");
	ck_assert_uint_eq(lanes_take(lanes, 1, 0, taken), 1);
	struct record *first = push_released(lanes, &release, "k"), *second = push_released(lanes, &release, "k");
	struct lanes_return back = {held, 0};
	lanes_give_back(lanes, taken, 1, &back, 1);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 4);
	ck_assert(taken[0] == first && taken[1] == second && taken[2] == held && taken[3] == next);
	record_drop(first); /* one is through, the other comes back whole */
	struct lanes_return rest[] = {{second, 0}, {held, 0}, {next, 0}};
	lanes_give_back(lanes, taken, 4, rest, 3);
	ck_assert_uint_eq(release.records, 1);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 3);
	ck_assert(taken[0] == second && taken[1] == held && taken[2] == next);
	lanes_give_back(lanes, taken, 3, rest, 3);
	lanes_destroy(lanes);
	ck_assert_uint_eq(release.records, 0);
}
END_TEST

START_TEST(a_held_record_holds_its_lane_and_no_other)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_KEY);
	push(lanes, 0, 0, "a");
	ck_assert_uint_eq(lanes_take(lanes, 1, 0, taken), 1);
	struct lanes_return back = {taken[0], 60};
	int64_t since_ms = clock_monotonic_ms();
	lanes_give_back(lanes, taken, 1, &back, 1);
	push(lanes, 0, 1, "a");
	push(lanes, 0, 2, "b");
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, others), 1);
	ck_assert_int_eq(others[0]->message->offset, 2);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 1, taken), 0);
	ck_assert_uint_eq(lanes_take(lanes, MAX, -1, taken), 2); /* wakes by itself */
	ck_assert_int_ge(clock_monotonic_ms() - since_ms, 60);
	expect_offsets(taken, 2, 0);
	finish(lanes, taken, 2);
	finish(lanes, others, 1);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(without_order_a_held_record_holds_only_itself)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_NONE);
	push_range(lanes, 0, 0, 4, NULL);
	ck_assert_uint_eq(lanes_take(lanes, 3, 0, taken), 3);
	record_finish(taken[1]);
	struct lanes_return back[] = {{taken[0], 50}, {taken[2], 0}};
	lanes_give_back(lanes, taken, 3, back, 2);
	ck_assert_uint_eq(lanes_queued(lanes), 3);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 2);
	expect_offsets(taken, 2, 2);
	finish(lanes, taken, 2);
	ck_assert_uint_eq(lanes_take(lanes, MAX, -1, taken), 1);
	ck_assert_int_eq(taken[0]->message->offset, 0);
	finish(lanes, taken, 1);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(held_lanes_come_due_in_their_order)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_KEY);
	static const int64_t hold_ms[] = {50, 10, 40, 20, 30};
	for (int i = 0; i < 5; i++) {
		char key[] = {(char)('a' + i), '\0'};
		push(lanes, 0, hold_ms[i], key);
	}
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 5);
	struct lanes_return back[5];
	for (int i = 0; i < 5; i++)
		back[i] = (struct lanes_return){taken[i], taken[i]->message->offset};
	lanes_give_back(lanes, taken, 5, back, 5);
	for (int64_t due = 10; due <= 50; due += 10) {
		ck_assert_uint_eq(lanes_take(lanes, 1, -1, taken), 1);
		ck_assert_int_eq(taken[0]->message->offset, due);
		finish(lanes, taken, 1);
	}
	lanes_destroy(lanes);
}
END_TEST

START_TEST(dropping_a_partition_removes_its_records_only)
{
	for (int ordering = CONFIG_ORDERING_PARTITION; ordering <= CONFIG_ORDERING_NONE; ordering++) {
		struct lanes *lanes = lanes_create(ordering);
		for (int i = 0; i < 20; i++)
			push(lanes, i % 2, i / 2, i % 3 ? "a" : "b"); /* key lanes hold both partitions */
		partition_revoke(partitions[0]);
		lanes_drop_partition(lanes, partitions[0]);
		ck_assert_uint_eq(lanes_queued(lanes), 10);
		ck_assert_uint_eq(partition_record_count(partitions[0]), 0);
		ck_assert_int_eq(partition_next_offset(partitions[0]), 0); /* dropped is not finished */
		ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 10);
		for (int i = 0; i < 10; i++)
			ck_assert_ptr_eq(taken[i]->partition, partitions[1]);
		finish(lanes, taken, 10);
		lanes_destroy(lanes);
		tear_down();
		set_up();
	}
}
END_TEST

START_TEST(dropping_a_partition_reaches_what_is_held)
{
	for (int ordering = CONFIG_ORDERING_PARTITION; ordering <= CONFIG_ORDERING_NONE; ordering++) {
		struct lanes *lanes = lanes_create(ordering);
		push(lanes, 0, 0, "a");
		push(lanes, 1, 0, "b");
		ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 2);
		struct lanes_return back[] = {{taken[0], 30}, {taken[1], 30}};
		lanes_give_back(lanes, taken, 2, back, 2);
		partition_revoke(partitions[0]);
		lanes_drop_partition(lanes, partitions[0]);
		ck_assert_uint_eq(partition_record_count(partitions[0]), 0);
		ck_assert_uint_eq(lanes_queued(lanes), 1);
		ck_assert_uint_eq(lanes_take(lanes, MAX, -1, taken), 1);
		ck_assert_ptr_eq(taken[0]->partition, partitions[1]);
		finish(lanes, taken, 1);
		lanes_destroy(lanes);
		tear_down();
		set_up();
	}
}
END_TEST

START_TEST(what_comes_back_after_a_revoke_is_dropped)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_PARTITION);
	push_range(lanes, 0, 0, 3, NULL);
	ck_assert_uint_eq(lanes_take(lanes, 2, 0, taken), 2);
	ck_assert(!lanes_should_stop(lanes, taken[0]));
	partition_revoke(partitions[0]);
	lanes_drop_partition(lanes, partitions[0]);
	ck_assert(lanes_should_stop(lanes, taken[0]));
	ck_assert(!lanes_wait_partition(lanes, partitions[0], 0));
	ck_assert(lanes_wait_partition(lanes, partitions[1], 0));
	record_finish(taken[0]);
	struct lanes_return back = {taken[1], 1000};
	lanes_give_back(lanes, taken, 2, &back, 1);
	ck_assert(lanes_wait_partition(lanes, partitions[0], 0));
	ck_assert_uint_eq(lanes_queued(lanes), 0);
	ck_assert_int_eq(partition_next_offset(partitions[0]), 1);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(destroying_drops_what_is_queued_and_held)
{
	for (int ordering = CONFIG_ORDERING_PARTITION; ordering <= CONFIG_ORDERING_NONE; ordering++) {
		struct lanes *lanes = lanes_create(ordering);
		push(lanes, 0, 0, "a");
		ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 1);
		struct lanes_return back = {taken[0], 100000};
		lanes_give_back(lanes, taken, 1, &back, 1);
		push_range(lanes, 1, 0, 3, "b");
		lanes_destroy(lanes);
		ck_assert_int_eq(fake_messages, 0);
	}
}
END_TEST

/* ---- with threads ---- */

struct taker {
	struct lanes *lanes;
	size_t max, count;
	struct record *records[MAX];
	pthread_t thread;
};

static void *take_once(void *self)
{
	struct taker *taker = self;
	taker->count = lanes_take(taker->lanes, taker->max, -1, taker->records);
	return NULL;
}

static void start_taker(struct taker *taker, struct lanes *lanes)
{
	taker->lanes = lanes;
	taker->max = MAX;
	ck_assert_int_eq(pthread_create(&taker->thread, NULL, take_once, taker), 0);
}

START_TEST(closing_wakes_waiting_workers)
{
	static struct taker takers[3];
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_KEY);
	for (int i = 0; i < 3; i++)
		start_taker(&takers[i], lanes);
	lanes_close(lanes);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_join(takers[i].thread, NULL), 0);
		ck_assert_uint_eq(takers[i].count, 0);
	}
	push(lanes, 0, 0, "a");
	ck_assert_uint_eq(lanes_take(lanes, 1, -1, taken), 0);
	lanes_destroy(lanes);
}
END_TEST

struct worker {
	struct lanes *lanes;
	pthread_t thread;
};

static void *end_batch_when_told(void *self)
{
	struct worker *worker = self;
	while (!lanes_should_stop(worker->lanes, taken[0]))
		;
	finish(worker->lanes, taken, 1);
	return NULL;
}

START_TEST(a_revoke_waits_for_the_batch_that_runs)
{
	struct worker worker = {.lanes = lanes_create(CONFIG_ORDERING_PARTITION)};
	push(worker.lanes, 0, 0, NULL);
	ck_assert_uint_eq(lanes_take(worker.lanes, 1, 0, taken), 1);
	ck_assert_int_eq(pthread_create(&worker.thread, NULL, end_batch_when_told, &worker), 0);
	partition_revoke(partitions[0]);
	lanes_drop_partition(worker.lanes, partitions[0]);
	ck_assert(lanes_wait_partition(worker.lanes, partitions[0], 10000));
	ck_assert_int_eq(partition_next_offset(partitions[0]), 1);
	ck_assert_int_eq(pthread_join(worker.thread, NULL), 0);
	lanes_destroy(worker.lanes);
}
END_TEST

/* Two workers wait for one push of many records: neither gets all of it. */
START_TEST(waiting_workers_share_what_is_there)
{
	static struct taker takers[2];
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_NONE);
	for (int i = 0; i < 2; i++)
		start_taker(&takers[i], lanes);
	while (lanes_waiting(lanes) < 2)
		;
	struct lanes_item items[100];
	for (int i = 0; i < 100; i++) {
		items[i] = (struct lanes_item){record_create(fake_message(i), partitions[0]), BYTES_NONE};
		record_begin(items[i].record, 0);
	}
	lanes_push(lanes, items, 100);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(takers[i].thread, NULL), 0);
		ck_assert_uint_eq(takers[i].count, 50);
		finish(lanes, takers[i].records, 50);
	}
	lanes_destroy(lanes);
}
END_TEST

enum { WORKERS = 4, KEYS = 37, RECORDS = 20000 };

struct stress {
	struct lanes *lanes;
	_Atomic int holders[KEYS];
	int64_t last_offset[KEYS]; /* written by the lane's holder only: TSan sees it when there are two */
	bool ordered;
	_Atomic size_t finished;
};

static int key_of(const struct record *record)
{
	return (int)(record->message->offset % KEYS);
}

static void enter(struct stress *stress, struct record *const *records, size_t count, int by)
{
	bool seen[KEYS] = {false};
	for (size_t i = 0; i < count; i++) {
		int key = key_of(records[i]);
		if (seen[key])
			continue;
		seen[key] = true;
		int before = atomic_fetch_add(&stress->holders[key], by);
		ck_assert_int_eq(before, by > 0 ? 0 : 1);
	}
}

/* Finishes most, gives some back, holds a few for a millisecond. */
static void work_on(struct stress *stress, struct record **records, size_t count, unsigned *seed)
{
	struct lanes_return back[64];
	size_t back_count = 0, finished = 0;
	bool stopped[KEYS] = {false};
	if (stress->ordered)
		enter(stress, records, count, 1);
	for (size_t i = 0; i < count; i++) {
		int key = key_of(records[i]);
		if (stopped[key] || rand_r(seed) % 16 == 0) {
			stopped[key] = stress->ordered;
			back[back_count++] = (struct lanes_return){records[i], rand_r(seed) % 8 == 0};
			continue;
		}
		if (stress->ordered) {
			ck_assert_int_gt(records[i]->message->offset, stress->last_offset[key]);
			stress->last_offset[key] = records[i]->message->offset;
		}
		record_finish(records[i]);
		finished++;
	}
	if (stress->ordered)
		enter(stress, records, count, -1);
	lanes_give_back(stress->lanes, records, count, back, back_count);
	atomic_fetch_add(&stress->finished, finished);
}

static void *stress_worker(void *self)
{
	struct stress *stress = self;
	struct record *records[64];
	unsigned seed = 1;
	size_t count;
	while ((count = lanes_take(stress->lanes, 1 + (size_t)rand_r(&seed) % 64, -1, records)) > 0)
		work_on(stress, records, count, &seed);
	return NULL;
}

static void push_stress(struct lanes *lanes)
{
	struct lanes_item items[50];
	char keys[50][8];
	for (int64_t first = 0; first < RECORDS; first += 50) {
		for (int i = 0; i < 50; i++) {
			int64_t offset = first + i;
			items[i].record = record_create(fake_message(offset), partitions[offset % KEYS % 4]);
			record_begin(items[i].record, 0);
			snprintf(keys[i], sizeof(keys[i]), "k%d", (int)(offset % KEYS));
			items[i].key = bytes_from_string(keys[i]);
		}
		lanes_push(lanes, items, 50);
	}
}

static void run_stress(enum config_ordering ordering)
{
	struct stress stress = {.lanes = lanes_create(ordering), .ordered = ordering == CONFIG_ORDERING_KEY};
	for (int i = 0; i < KEYS; i++)
		stress.last_offset[i] = -1;
	pthread_t threads[WORKERS];
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, stress_worker, &stress), 0);
	push_stress(stress.lanes);
	while (atomic_load(&stress.finished) < RECORDS)
		lanes_wait_partition(stress.lanes, partitions[0], 1);
	lanes_close(stress.lanes);
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(lanes_queued(stress.lanes), 0);
	ck_assert_uint_eq(lanes_taken(stress.lanes), 0);
	lanes_destroy(stress.lanes);
}

static void finish_at_pace(struct lanes *lanes, size_t count, enum pace pace)
{
	taken[count - 1]->pace = pace;
	finish(lanes, taken, count);
}

START_TEST(a_slow_lane_is_taken_alone_until_it_is_quick)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_PARTITION);
	push_range(lanes, 0, 0, 4, NULL);
	push_range(lanes, 1, 0, 3, NULL);
	ck_assert_uint_eq(lanes_take(lanes, 1, 0, taken), 1);
	finish_at_pace(lanes, 1, PACE_SLOW);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 3); /* the other lane, and nothing of the slow one */
	ck_assert_ptr_eq(taken[0]->partition, partitions[1]);
	push(lanes, 1, 3, NULL);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, others), 1);
	ck_assert_int_eq(others[0]->message->offset, 1);
	finish(lanes, taken, 3);
	others[0]->pace = PACE_QUICK;
	finish(lanes, others, 1);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 3); /* both again */
	finish(lanes, taken, 3);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(a_slow_lane_that_was_not_begun_stays_slow)
{
	struct lanes *lanes = lanes_create(CONFIG_ORDERING_PARTITION);
	push_range(lanes, 0, 0, 3, NULL);
	ck_assert_uint_eq(lanes_take(lanes, 1, 0, taken), 1);
	finish_at_pace(lanes, 1, PACE_SLOW);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 1);
	struct lanes_return back = {taken[0], 0};
	lanes_give_back(lanes, taken, 1, &back, 1);
	ck_assert_uint_eq(lanes_take(lanes, MAX, 0, taken), 1);
	finish(lanes, taken, 1);
	lanes_destroy(lanes);
}
END_TEST

START_TEST(order_and_exclusivity_hold_under_stress)
{
	run_stress(CONFIG_ORDERING_KEY);
}
END_TEST

START_TEST(every_record_comes_once_without_order)
{
	run_stress(CONFIG_ORDERING_NONE);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(partition_load(partitions[i]).unfinished, 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("lanes");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_lane_is_taken_in_order_and_by_one_worker);
	tcase_add_test(tests, what_was_taken_stays_readable_when_it_is_finished_early);
	tcase_add_test(tests, partitions_take_turns);
	tcase_add_test(tests, same_key_is_one_lane_and_other_keys_are_free);
	tcase_add_test(tests, without_a_key_the_partition_is_the_lane);
	tcase_add_test(tests, without_order_many_workers_share_one_queue);
	tcase_add_test(tests, what_comes_back_goes_to_the_head_in_order);
	tcase_add_test(tests, what_was_parked_stands_before_what_came_from_kafka);
	tcase_add_test(tests, a_held_record_holds_its_lane_and_no_other);
	tcase_add_test(tests, without_order_a_held_record_holds_only_itself);
	tcase_add_test(tests, held_lanes_come_due_in_their_order);
	tcase_add_test(tests, dropping_a_partition_removes_its_records_only);
	tcase_add_test(tests, dropping_a_partition_reaches_what_is_held);
	tcase_add_test(tests, what_comes_back_after_a_revoke_is_dropped);
	tcase_add_test(tests, destroying_drops_what_is_queued_and_held);
	tcase_add_test(tests, closing_wakes_waiting_workers);
	tcase_add_test(tests, a_revoke_waits_for_the_batch_that_runs);
	tcase_add_test(tests, waiting_workers_share_what_is_there);
	tcase_add_test(tests, a_slow_lane_is_taken_alone_until_it_is_quick);
	tcase_add_test(tests, a_slow_lane_that_was_not_begun_stays_slow);
	tcase_add_test(tests, order_and_exclusivity_hold_under_stress);
	tcase_add_test(tests, every_record_comes_once_without_order);
	Suite *suite = suite_create("lanes");
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
