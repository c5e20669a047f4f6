#include <check.h>
#include <pthread.h>
#include <signal.h>

#include "core/pipeline/tracker.h"
#include "tests/unit/fake_message.h"
#include "tests/unit/run_suite.h"

static struct record *begin(struct partition *partition, int64_t offset, int64_t now_ms)
{
	struct record *record = record_create(fake_message(offset), partition);
	record_begin(record, now_ms);
	return record;
}

START_TEST(nothing_begun_has_nothing_to_commit)
{
	struct partition *unknown = partition_create("t", 3, -1);
	ck_assert_int_eq(partition_committable(unknown), -1);
	ck_assert_int_eq(partition_next_offset(unknown), -1);
	ck_assert_str_eq(partition_topic(unknown), "t");
	ck_assert_int_eq(partition_number(unknown), 3);
	struct partition *known = partition_create("t", 3, 50);
	ck_assert_int_eq(partition_committable(known), -1);
	ck_assert_int_eq(partition_next_offset(known), 50);
	partition_unref(unknown);
	partition_unref(known);
}
END_TEST

START_TEST(commits_the_contiguous_finished_prefix_only)
{
	struct partition *partition = partition_create("t", 0, 10);
	struct record *record[4];
	for (int i = 0; i < 4; i++)
		record[i] = begin(partition, 10 + i, 0);
	record_finish(record[2]);
	record_finish(record[1]);
	ck_assert_int_eq(partition_committable(partition), -1);
	record_finish(record[0]);
	ck_assert_int_eq(partition_committable(partition), 13);
	record_finish(record[3]);
	ck_assert_int_eq(partition_committable(partition), 14);
	partition_unref(partition);
}
END_TEST

START_TEST(what_was_committed_is_not_committed_again)
{
	struct partition *partition = partition_create("t", 0, -1);
	record_finish(begin(partition, 0, 0));
	ck_assert_int_eq(partition_committable(partition), 1);
	partition_committed(partition, 1);
	ck_assert_int_eq(partition_committable(partition), -1);
	ck_assert_int_eq(partition_next_offset(partition), 1);
	partition_committed(partition, 0); /* an answer that comes late */
	ck_assert_int_eq(partition_committable(partition), -1);
	partition_unref(partition);
}
END_TEST

/* K3 */
START_TEST(holes_in_offsets_do_not_stall_commits)
{
	struct partition *partition = partition_create("t", 0, 0);
	struct record *a = begin(partition, 7, 0), *b = begin(partition, 100, 0);
	ck_assert_int_eq(partition_committable(partition), 7); /* nothing below 7 exists */
	record_finish(a);
	ck_assert_int_eq(partition_committable(partition), 100);
	record_finish(b);
	ck_assert_int_eq(partition_committable(partition), 101);
	partition_unref(partition);
}
END_TEST

START_TEST(never_goes_backwards_when_read_again)
{
	struct partition *partition = partition_create("t", 0, 100);
	struct record *record = begin(partition, 40, 0);
	ck_assert_int_eq(partition_committable(partition), -1);
	record_finish(record);
	ck_assert_int_eq(partition_committable(partition), -1);
	ck_assert_int_eq(partition_next_offset(partition), 100);
	partition_unref(partition);
}
END_TEST

START_TEST(grows_while_the_first_record_is_unfinished)
{
	enum { COUNT = 20000 };
	struct partition *partition = partition_create("t", 0, 0);
	static struct record *records[COUNT];
	for (int i = 0; i < COUNT; i++)
		records[i] = begin(partition, i, i + 1);
	struct partition_load load = partition_load(partition);
	ck_assert_uint_eq(load.ahead, COUNT);
	ck_assert_uint_eq(load.unfinished, COUNT);
	ck_assert_int_eq(load.oldest_ms, 1);
	record_finish_many(records + 1, COUNT - 1);
	load = partition_load(partition);
	ck_assert_uint_eq(load.ahead, COUNT);
	ck_assert_uint_eq(load.unfinished, 1);
	ck_assert_uint_eq(load.finished, COUNT - 1);
	ck_assert_int_eq(partition_committable(partition), -1);
	record_finish(records[0]);
	load = partition_load(partition);
	ck_assert_uint_eq(load.ahead, 0);
	ck_assert_int_eq(load.oldest_ms, 0);
	ck_assert_int_eq(partition_committable(partition), COUNT);
	partition_unref(partition);
}
END_TEST

START_TEST(ring_stays_right_when_it_wraps)
{
	struct partition *partition = partition_create("t", 0, 0);
	struct record *window[50];
	for (int i = 0; i < 5000; i++) {
		if (i >= 50) {
			record_finish(window[i % 50]);
			ck_assert_int_eq(partition_next_offset(partition), 3 * (i - 50 + 1));
		}
		window[i % 50] = begin(partition, 3 * i, 0);
	}
	record_finish_many(window, 50);
	partition_unref(partition);
}
END_TEST

START_TEST(late_finish_after_a_revoke_is_harmless)
{
	struct partition *partition = partition_create("t", 0, 0);
	struct record *record = begin(partition, 5, 0);
	partition_revoke(partition);
	ck_assert(partition_is_revoked(partition));
	partition_unref(partition); /* the source forgets it; the record keeps it alive */
	ck_assert_int_eq(fake_messages, 1);
	record_finish(record);
	ck_assert_int_eq(fake_messages, 0);
}
END_TEST

START_TEST(shows_the_timestamp_up_to_which_all_is_finished)
{
	struct partition *partition = partition_create("t", 0, 0);
	struct record *records[3];
	ck_assert_int_eq(partition_load(partition).timestamp_ms, -1);
	for (int i = 0; i < 3; i++)
		records[i] = begin(partition, i, 0);
	ck_assert_int_eq(partition_load(partition).timestamp_ms, 1000);
	record_finish(records[1]);
	ck_assert_int_eq(partition_load(partition).timestamp_ms, 1000);
	record_finish(records[0]);
	ck_assert_int_eq(partition_load(partition).timestamp_ms, 1002);
	record_finish(records[2]);
	ck_assert_int_eq(partition_load(partition).timestamp_ms, 1002);
	partition_unref(partition);
}
END_TEST

START_TEST(a_dropped_record_stays_unfinished)
{
	struct partition *partition = partition_create("t", 0, 0);
	struct record *records[2];
	for (int i = 0; i < 2; i++)
		records[i] = begin(partition, i, 0);
	record_drop(records[0]);
	record_finish(records[1]);
	ck_assert_int_eq(partition_next_offset(partition), 0);
	partition_unref(partition);
	ck_assert_int_eq(fake_messages, 0);
}
END_TEST

START_TEST(counts_records_and_bytes_until_they_are_freed)
{
	struct partition *partition = partition_create("t", 0, 0);
	rd_kafka_message_t *message = fake_message(0);
	message->len = 1000;
	message->key_len = 10;
	struct record *record = record_create(message, partition);
	record_begin(record, 0);
	ck_assert_uint_eq(partition_record_count(partition), 1);
	ck_assert_uint_ge(partition_record_bytes(partition), 1010);
	record_ref(record);
	record_finish(record);
	ck_assert_uint_eq(partition_record_count(partition), 1);
	record_unref(record);
	ck_assert_uint_eq(partition_record_count(partition), 0);
	ck_assert_uint_eq(partition_record_bytes(partition), 0);
	partition_unref(partition);
}
END_TEST

START_TEST(finishes_records_of_many_partitions_at_once)
{
	struct partition *partitions[2] = {partition_create("t", 0, 0), partition_create("t", 1, 0)};
	struct record *records[6];
	for (int i = 0; i < 6; i++)
		records[i] = begin(partitions[i % 3 == 1], i / 3, 0);
	record_finish_many(records, 6);
	ck_assert_int_eq(partition_next_offset(partitions[0]), 2);
	ck_assert_int_eq(partition_next_offset(partitions[1]), 2);
	ck_assert_int_eq(fake_messages, 0);
	partition_unref(partitions[0]);
	partition_unref(partitions[1]);
}
END_TEST

enum { THREADS = 4, EACH = 5000 };
struct share {
	struct record *records[EACH];
};

static void *finish_share(void *self)
{
	struct share *share = self;
	for (size_t i = 0; i < EACH; i++)
		record_finish(share->records[i]);
	return NULL;
}

START_TEST(many_threads_finish_while_the_next_offset_only_rises)
{
	static struct share shares[THREADS];
	struct partition *partition = partition_create("t", 0, 0);
	for (int i = 0; i < THREADS * EACH; i++)
		shares[i % THREADS].records[i / THREADS] = begin(partition, i, 0);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, finish_share, &shares[i]), 0);
	int64_t last = 0;
	while (last < THREADS * EACH) {
		int64_t next_offset = partition_next_offset(partition);
		ck_assert_int_ge(next_offset, last);
		last = next_offset;
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_int_eq(partition_committable(partition), THREADS * EACH);
	partition_unref(partition);
}
END_TEST

START_TEST(finishing_a_record_twice_ends_the_process)
{
	struct partition *partition = partition_create("t", 0, 0);
	begin(partition, 0, 0);
	struct record *record = begin(partition, 1, 0);
	record_ref(record);
	record_finish(record);
	record_finish(record);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("tracker");
	tcase_add_test(tests, nothing_begun_has_nothing_to_commit);
	tcase_add_test(tests, commits_the_contiguous_finished_prefix_only);
	tcase_add_test(tests, what_was_committed_is_not_committed_again);
	tcase_add_test(tests, holes_in_offsets_do_not_stall_commits);
	tcase_add_test(tests, never_goes_backwards_when_read_again);
	tcase_add_test(tests, grows_while_the_first_record_is_unfinished);
	tcase_add_test(tests, ring_stays_right_when_it_wraps);
	tcase_add_test(tests, late_finish_after_a_revoke_is_harmless);
	tcase_add_test(tests, shows_the_timestamp_up_to_which_all_is_finished);
	tcase_add_test(tests, a_dropped_record_stays_unfinished);
	tcase_add_test(tests, counts_records_and_bytes_until_they_are_freed);
	tcase_add_test(tests, finishes_records_of_many_partitions_at_once);
	tcase_add_test(tests, many_threads_finish_while_the_next_offset_only_rises);
	tcase_add_test_raise_signal(tests, finishing_a_record_twice_ends_the_process, SIGABRT);
	Suite *suite = suite_create("tracker");
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
