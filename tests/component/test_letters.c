/* The index of the dead letters (ENGINE 7), as the hosts' role writes it and the operator's tool asks it. */
#include <stdio.h>
#include <string.h>

#include "core/db/letters.h"
#include "tests/component/database.h"

static struct pg *host, *owner;
static struct letters *letters;
static char seen[400]; /* "partition/offset state copies, …" */

static void setup(void)
{
	database_setup();
	host = database_connect(HOST_ROLE);
	owner = database_connect("postgres");
	letters = letters_create(host, database_schema, "group");
}

static void teardown(void)
{
	letters_destroy(letters);
	pg_close(host);
	pg_close(owner);
	database_teardown();
}

static struct letter letter_at(int32_t partition, int64_t offset, const char *key)
{
	return (struct letter){
	        .partition = partition,
	        .offset = offset,
	        .died_ms = INT64_C(1700000000123) + offset,
	        .key = bytes_from_string(key),
	        .reason = BYTES_LITERAL("rejected"),
	        .error_text = BYTES_LITERAL("no \"such\" {order}"),
	        .content_hash = -5,
	        .origin_topic = "orders",
	        .origin_partition = 3,
	        .origin_offset = 40 + offset,
	        .origin_ms = -1,
	        .attempt = 2,
	};
}

static void store(const struct letter *rows, size_t count)
{
	const struct letter *list[8];
	struct error error;
	for (size_t i = 0; i < count; i++)
		list[i] = &rows[i];
	ck_assert_msg(letters_store(letters, host, list, count, &error), "%s", error.text);
}

static bool see(void *self, const struct letter_row *row)
{
	size_t len = strlen(seen);
	(void)self;
	snprintf(seen + len, sizeof(seen) - len, "%s%d/%lld %s %zu", len ? ", " : "", row->letter.partition,
	         (long long)row->letter.offset, row->state, row->copies);
	return true;
}

static const char *each(struct letter_filter filter)
{
	struct error error;
	seen[0] = '\0';
	ck_assert_msg(letters_each(letters, host, &filter, see, NULL, &error), "%s", error.text);
	return seen;
}

#define ANY .origin_partition = -1, .origin_offset = -1, .partition = -1, .offset = -1, .since_ms = -1, .until_ms = -1

START_TEST(the_newest_of_each_event_is_seen_once_in_order)
{
	struct letter rows[] = {letter_at(1, 7, "b"),  letter_at(0, 1, "a"), letter_at(0, 2, "a"),
	                        letter_at(0, 3, NULL), letter_at(0, 4, "a"), letter_at(0, 5, "a")};
	rows[4].round = 1;
	rows[5].content_hash = 6; /* other content */
	store(rows, 6);
	ck_assert_str_eq(each((struct letter_filter){ANY}), "0/3 open 1, 0/4 open 3, 0/5 open 1, 1/7 open 1");
	ck_assert_int_eq(
	        database_number(owner, "SELECT count(DISTINCT xmin::text) FROM \"%s\".dead_letter", database_schema),
	        1); /* one statement */
}
END_TEST

START_TEST(what_is_given_must_hold)
{
	static const char uuid[] = "0190a3c2-0000-7000-8000-00000000000f";
	struct letter rows[] = {letter_at(0, 1, uuid), letter_at(0, 2, "a,\"b\\"), letter_at(0, 3, NULL)};
	rows[0].uuid = bytes_from_string(uuid);
	rows[2].given_id = BYTES_LITERAL("no id");
	rows[2].reason = BYTES_LITERAL("id_invalid");
	store(rows, 3);
	const char *const upper[] = {"0190A3C2-0000-7000-8000-00000000000F"}, *const odd[] = {"nobody", "a,\"b\\"},
	                  *const given[] = {"no id"};
	ck_assert_str_eq(each((struct letter_filter){ANY, .ids = upper, .id_count = 1}), "0/1 open 1");
	ck_assert_str_eq(each((struct letter_filter){ANY, .ids = odd, .id_count = 2}), "0/2 open 1");
	ck_assert_str_eq(each((struct letter_filter){ANY, .ids = given, .id_count = 1}), "0/3 open 1");
	ck_assert_str_eq(each((struct letter_filter){ANY, .reason = "id_invalid"}), "0/3 open 1");
	ck_assert_str_eq(each((struct letter_filter){ANY, .origin_topic = "elsewhere"}), "");
	struct letter_filter filter = {ANY};
	filter.origin_offset = 42;
	ck_assert_str_eq(each(filter), "0/2 open 1");
	filter = (struct letter_filter){ANY};
	filter.partition = 0;
	filter.offset = 3;
	ck_assert_str_eq(each(filter), "0/3 open 1");
	filter = (struct letter_filter){ANY};
	filter.since_ms = rows[1].died_ms;
	filter.until_ms = rows[2].died_ms;
	ck_assert_str_eq(each(filter), "0/2 open 1");
}
END_TEST

START_TEST(what_was_done_is_kept_when_the_row_is_written_again)
{
	struct letter rows[] = {letter_at(0, 1, "a"), letter_at(0, 2, "b")};
	const struct letter_place first = {0, 1};
	struct error error;
	store(rows, 2);
	ck_assert(letters_mark(letters, host, "replayed", "me@here", (struct letter_places){&first, 1}, &error));
	store(rows, 2);
	ck_assert_str_eq(each((struct letter_filter){ANY}), "0/1 replayed 1, 0/2 open 1");
	ck_assert_str_eq(each((struct letter_filter){ANY, .open = true}), "0/2 open 1");
	ck_assert_str_eq(database_ask(owner,
	                              "SELECT actor || ' ' || action || ' ' || event_id FROM \"%s\".dead_letter_action",
	                              database_schema),
	                 "me@here, " HOST_ROLE " replayed a");
	rows[0].died_ms++; /* another record at its place: the topic was made anew */
	store(rows, 1);
	ck_assert_str_eq(each((struct letter_filter){ANY, .open = true}), "0/1 open 1, 0/2 open 1");
}
END_TEST

START_TEST(a_payload_goes_in_and_comes_out_and_rows_of_what_is_gone_go)
{
	struct letter rows[] = {letter_at(0, 1, "a"), letter_at(0, 2, "b"), letter_at(0, 3, "c")};
	const struct letter_place kept = {0, 2};
	struct arena arena;
	struct bytes payload;
	struct error error;
	size_t count;
	rows[1].payload = (struct bytes){"\0\xff\\x", 4};
	store(rows, 3);
	arena_init(&arena, 1024);
	ck_assert(letters_payload(letters, host, kept, &arena, &payload, &error));
	ck_assert(bytes_equal(payload, rows[1].payload));
	ck_assert(letters_payload(letters, host, (struct letter_place){0, 1}, &arena, &payload, &error));
	ck_assert_ptr_null(payload.ptr);
	arena_done(&arena);
	ck_assert_msg(
	        letters_keep_only(letters, host, (struct letter_places){&kept, 1}, rows[2].died_ms, &count, &error),
	        "%s", error.text);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(each((struct letter_filter){ANY}), "0/2 open 1, 0/3 open 1");
}
END_TEST

int main(int count, char **argv)
{
	(void)count;
	Suite *suite = suite_create("letters");
	TCase *tests = tcase_create("letters");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, the_newest_of_each_event_is_seen_once_in_order);
	tcase_add_test(tests, what_is_given_must_hold);
	tcase_add_test(tests, what_was_done_is_kept_when_the_row_is_written_again);
	tcase_add_test(tests, a_payload_goes_in_and_comes_out_and_rows_of_what_is_gone_go);
	suite_add_tcase(suite, tests);
	return database_main(argv, suite);
}
