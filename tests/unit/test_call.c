#include <pthread.h>

#include "core/base/clock.h"
#include "plugin_fixture.h"

/* Statements of ref.so, in the order it declares them. */
enum { INSERT_EFFECT = 1, DIVIDE, TOUCH, READ_BALANCE, WRITE_BALANCE, PAST_THE_LAST };

static struct plugin *plugin;
static const struct idem_host_api *api;
static struct arena arena;
static struct backend backend;
static struct event event;
static struct idem_call call; /* as in a worker's pool: zeroed once, never freed */

static void begin(void)
{
	plugin = fixture_create(PLUGIN_DIR "ref/ref.so");
	api = *(const struct idem_host_api *const *)plugin_self(plugin); /* its first member */
	arena_init(&arena, 64 * 1024);
	event = fixture_event(&arena, "{\"do\":\"ok\",\"seq\":3,\"a/b\":{\"c\":[10,2.50,true,null,\"x\"]}}");
	backend = (struct backend){.value = "42"};
	call_init(&call, &(struct call_context){plugin, 5, &arena, &fixture_backend, &backend}, &event);
}

static void end(void)
{
	if (call.run != 0)
		call_leave(&call);
	call_done(&call);
	arena_done(&arena);
	plugin_destroy(plugin);
}

/* As when its batch is run again. */
static void begin_again(void)
{
	call_done(&call);
	call_init(&call, &(struct call_context){plugin, 5, &arena, &fixture_backend, &backend}, &event);
}

static struct idem_param text(const char *value)
{
	return (struct idem_param){.value = {value, value ? strlen(value) : 0}};
}

static struct idem_exec exec_of(uint32_t statement, const struct idem_param *params, size_t count)
{
	return (struct idem_exec){.struct_size = sizeof(struct idem_exec),
	                          .statement = statement,
	                          .params = params,
	                          .param_count = count};
}

static idem_status touch(struct idem_call *handle, const char *key)
{
	struct idem_param param = text(key);
	struct idem_exec exec = exec_of(TOUCH, &param, 1);

	return api->tx->queue(handle, &exec);
}

static idem_status read_balance(struct idem_call *handle, const struct idem_rows **out)
{
	struct idem_param param = text("k1");
	struct idem_exec exec = exec_of(READ_BALANCE, &param, 1);

	return api->tx->query(handle, &exec, out);
}

/* ---- thread and run ---- */

static void refuses_everything(struct idem_call *handle)
{
	uint64_t before = call_breaches();
	struct idem_value value = {.type = 77};
	const struct idem_rows *rows = (const struct idem_rows *)&value;
	char id[37] = "untouched";

	ck_assert_int_eq(touch(handle, "k1"), IDEM_E_INVALID);
	ck_assert_int_eq(read_balance(handle, &rows), IDEM_E_INVALID);
	ck_assert_ptr_eq(rows, &value);
	ck_assert_int_eq(api->json->get(handle, "/do", &value), IDEM_E_INVALID);
	ck_assert_int_eq(value.type, 77);
	ck_assert_int_eq(api->tx->new_id(handle, id), IDEM_E_INVALID);
	ck_assert_str_eq(id, "untouched");
	ck_assert_int_eq(api->tx->emit(handle, NULL), IDEM_E_INVALID);
	ck_assert_int_eq(api->call->extend(handle, 10), IDEM_E_INVALID);
	ck_assert_int_eq(api->call->cancelled(handle), 1);
	ck_assert_int_eq(api->call->remaining_ms(handle), 0);
	ck_assert_int_eq(api->tx->error(handle)->code, IDEM_E_INVALID);
	api->call->reason(handle, (struct idem_bytes){"no", 2});
	api->metrics->add(api->host, handle, 1, 1);
	api->log->write(api->host, handle, 7, (struct idem_bytes){"still logged", 12});
	ck_assert_uint_eq(call_breaches(), before + (handle ? 12 : 10)); /* log and metrics take NULL */
	ck_assert_uint_eq(call.queued_count, 0);
	ck_assert_ptr_null(call.reason.ptr);
	ck_assert_ptr_null(call.metrics);
}

START_TEST(a_call_is_dead_after_its_callback)
{
	struct idem_call *handle = call_enter(&call, 1000);

	call_leave(&call);
	refuses_everything(handle);
}
END_TEST

START_TEST(a_kept_call_does_not_reach_the_next_event_of_the_same_memory)
{
	struct idem_call *kept = call_enter(&call, 1000);

	call_leave(&call);
	begin_again();
	struct idem_call *next = call_enter(&call, 1000);
	refuses_everything(kept);
	ck_assert_int_eq(touch(next, "k1"), IDEM_OK);
}
END_TEST

START_TEST(a_kept_call_stays_dead_for_65534_runs)
{
	struct idem_call *kept = call_enter(&call, 1000);

	for (int run = 0; run < 65534; run++) {
		call_leave(&call);
		ck_assert_ptr_ne(call_enter(&call, 1000), kept);
	}
}
END_TEST

START_TEST(null_and_the_bare_address_are_no_calls)
{
	(void)call_enter(&call, 1000);
	refuses_everything(NULL);
	refuses_everything(&call);
}
END_TEST

static void *use_elsewhere(void *handle)
{
	refuses_everything(handle);
	return NULL;
}

START_TEST(another_thread_may_not_use_a_call)
{
	pthread_t thread;
	struct idem_call *handle = call_enter(&call, 1000);

	ck_assert_int_eq(pthread_create(&thread, NULL, use_elsewhere, handle), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(touch(handle, "k1"), IDEM_OK);
}
END_TEST

/* ---- queue ---- */

START_TEST(queued_parameters_are_copied)
{
	struct idem_call *handle = call_enter(&call, 1000);
	char key[] = "k1", amount[] = {0, 0, 1, 0};
	struct idem_param params[] = {text(key), {.value = {amount, 4}, .format = 1}};
	struct idem_exec exec = exec_of(WRITE_BALANCE, params, 2);

	exec.flags = IDEM_EXPECT;
	exec.expect_min = 1;
	exec.expect_max = -1;
	exec.reason = (struct idem_bytes){key, 2};
	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_OK);
	memset(key, 'x', 2);
	memset(amount, 'x', 4);
	const struct queued *queued = call.queued_first;
	ck_assert_uint_eq(queued->statement, WRITE_BALANCE);
	ck_assert_int_eq(queued->params.count, 2);
	ck_assert_str_eq(queued->params.values[0], "k1");
	ck_assert_int_eq(queued->params.formats[0], 0);
	ck_assert_int_eq(queued->params.formats[1], 1);
	ck_assert_int_eq(queued->params.lengths[1], 4);
	ck_assert_mem_eq(queued->params.values[1], "\0\0\1\0", 4);
	ck_assert(queued->expects && queued->expect_min == 1 && queued->expect_max == -1);
	ck_assert_int_eq(queued->on_miss, IDEM_REJECT);
	ck_assert(bytes_equal_string(queued->reason, "k1"));
	ck_assert_uint_eq(call.queued_bytes, 6);
	ck_assert(!call.has_queried);
}
END_TEST

START_TEST(queued_statements_keep_their_order)
{
	struct idem_call *handle = call_enter(&call, 1000);
	const char *keys[] = {"a", "b", "c"};

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(touch(handle, keys[i]), IDEM_OK);
	const struct queued *queued = call.queued_first;
	for (int i = 0; i < 3; i++, queued = queued->next)
		ck_assert_str_eq(queued->params.values[0], keys[i]);
	ck_assert_ptr_null(queued);
}
END_TEST

START_TEST(null_and_empty_parameters_differ)
{
	struct idem_call *handle = call_enter(&call, 1000);

	ck_assert_int_eq(touch(handle, NULL), IDEM_OK);
	ck_assert_int_eq(touch(handle, ""), IDEM_OK);
	ck_assert_ptr_null(call.queued_first->params.values[0]);
	ck_assert_str_eq(call.queued_first->next->params.values[0], "");
}
END_TEST

/* P7 */
START_TEST(a_nul_byte_in_text_is_refused_and_in_binary_is_not)
{
	struct idem_call *handle = call_enter(&call, 1000);
	struct idem_param param = {.value = {"ab\0cd", 5}};
	struct idem_exec exec = exec_of(TOUCH, &param, 1);

	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_E_INVALID);
	ck_assert_ptr_nonnull(strstr(api->tx->error(handle)->message.ptr, "NUL byte"));
	ck_assert_uint_eq(call.queued_count, 0);
	param.format = 1;
	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_OK);
	ck_assert_int_eq(call.queued_first->params.lengths[0], 5);
}
END_TEST

/* Each breaks one rule of struct idem_exec. */
static struct idem_exec broken_exec(int which)
{
	static const struct idem_param param = {.value = {"k1", 2}}, strange = {.value = {"k1", 2}, .format = 2};
	struct idem_exec exec = exec_of(TOUCH, &param, 1);

	switch (which) {
	case 0:
		exec.struct_size = 0;
		break;
	case 1:
		exec.statement = 0;
		break;
	case 2:
		exec.statement = PAST_THE_LAST;
		break;
	case 3:
		exec.param_count = 0;
		break;
	case 4:
		exec.params = NULL;
		break;
	case 5:
		exec.params = &strange;
		break;
	case 6:
		exec.flags = IDEM_EXPECT;
		exec.expect_min = 2;
		exec.expect_max = 1;
		break;
	default:
		exec.flags = IDEM_EXPECT;
		exec.on_miss = IDEM_DONE;
		break;
	}
	return exec;
}

START_TEST(a_broken_execution_is_refused_with_a_sentence)
{
	struct idem_call *handle = call_enter(&call, 1000);
	struct idem_exec exec = broken_exec(_i);

	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_E_INVALID);
	ck_assert_int_eq(api->tx->queue(handle, NULL), IDEM_E_INVALID);
	ck_assert_uint_gt(api->tx->error(handle)->message.len, 10);
	ck_assert_int_eq(api->tx->error(handle)->code, IDEM_E_INVALID);
	ck_assert_uint_eq(call.queued_count, 0);
	ck_assert_int_eq(touch(handle, "k1"), IDEM_OK);
	ck_assert_int_eq(api->tx->error(handle)->code, IDEM_OK);
}
END_TEST

START_TEST(a_call_queues_a_bounded_number_of_statements)
{
	struct idem_call *handle = call_enter(&call, 1000);

	for (int i = 0; i < CALL_MAX_QUEUED; i++)
		ck_assert_int_eq(touch(handle, "k"), IDEM_OK);
	ck_assert_int_eq(touch(handle, "k"), IDEM_E_TOO_BIG);
	ck_assert_uint_eq(call.queued_count, CALL_MAX_QUEUED);
}
END_TEST

START_TEST(a_call_queues_a_bounded_number_of_bytes)
{
	struct idem_call *handle = call_enter(&call, 1000);
	size_t third = CALL_MAX_QUEUED_BYTES / 3 + 1;
	char *big = calloc(1, CALL_MAX_QUEUED_BYTES + 1);
	struct idem_param param = {.value = {big, third}, .format = 1};
	struct idem_exec exec = exec_of(TOUCH, &param, 1);

	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_OK);
	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_OK);
	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_E_TOO_BIG);
	param.value.len = CALL_MAX_QUEUED_BYTES + 1;
	ck_assert_int_eq(api->tx->queue(handle, &exec), IDEM_E_TOO_BIG);
	ck_assert_uint_eq(call.queued_count, 2);
	free(big);
}
END_TEST

/* ---- query ---- */

START_TEST(a_query_waits_for_the_backend)
{
	struct idem_call *handle = call_enter(&call, 1000);
	const struct idem_rows *rows;
	struct idem_bytes value, name;
	uint32_t type;

	ck_assert_int_eq(read_balance(handle, &rows), IDEM_OK);
	ck_assert_int_eq(backend.queries, 1);
	ck_assert_str_eq(backend.params.values[0], "k1");
	ck_assert_uint_gt(plugin_statement_number(plugin, backend.statement), 0);
	ck_assert(call.has_queried);
	ck_assert_uint_eq(api->tx->row_count(rows), 1);
	ck_assert_uint_eq(api->tx->column_count(rows), 1);
	ck_assert_int_eq(api->tx->value(rows, 0, 0, &value), IDEM_OK);
	ck_assert(value.len == 2 && memcmp(value.ptr, "42", 2) == 0);
	ck_assert_int_eq(api->tx->column(rows, 0, &name, &type), IDEM_OK);
	ck_assert(name.len == 6 && type == 20);
	ck_assert_int_eq(api->tx->value(rows, 1, 0, &value), IDEM_E_INVALID);
	ck_assert_int_eq(api->tx->value(rows, 0, 1, &value), IDEM_E_INVALID);
	ck_assert_int_eq(api->tx->column(rows, 1, &name, &type), IDEM_E_INVALID);
}
END_TEST

START_TEST(sql_null_is_a_null_pointer)
{
	struct idem_call *handle = call_enter(&call, 1000);
	const struct idem_rows *rows;
	struct idem_bytes value = {"x", 1};

	backend.value = NULL;
	ck_assert_int_eq(read_balance(handle, &rows), IDEM_OK);
	ck_assert_int_eq(api->tx->value(rows, 0, 0, &value), IDEM_OK);
	ck_assert_ptr_null(value.ptr);
}
END_TEST

static void rows_are_dead(const struct idem_rows *rows)
{
	struct idem_bytes value = {"x", 1};

	ck_assert_uint_eq(api->tx->row_count(rows), 0);
	ck_assert_uint_eq(api->tx->column_count(rows), 0);
	ck_assert_int_eq(api->tx->affected(rows), IDEM_E_INVALID);
	ck_assert_int_eq(api->tx->value(rows, 0, 0, &value), IDEM_E_INVALID);
	ck_assert_str_eq(value.ptr, "x");
	api->tx->release(rows);
}

START_TEST(rows_die_with_their_call)
{
	const struct idem_rows *rows, *later;

	ck_assert_int_eq(read_balance(call_enter(&call, 1000), &rows), IDEM_OK);
	call_leave(&call);
	rows_are_dead(rows);
	begin_again();
	ck_assert_int_eq(read_balance(call_enter(&call, 1000), &later), IDEM_OK);
	ck_assert_ptr_ne(rows, later);
	rows_are_dead(rows);
	ck_assert_uint_eq(api->tx->row_count(later), 1);
	rows_are_dead(NULL);
}
END_TEST

START_TEST(released_rows_stay_dead_beside_new_ones)
{
	struct idem_call *handle = call_enter(&call, 1000);
	const struct idem_rows *rows, *later;

	ck_assert_int_eq(read_balance(handle, &rows), IDEM_OK);
	api->tx->release(rows);
	rows_are_dead(rows);
	ck_assert_int_eq(read_balance(handle, &later), IDEM_OK);
	rows_are_dead(rows);
	ck_assert_uint_eq(api->tx->row_count(later), 1);
}
END_TEST

START_TEST(after_a_failed_statement_the_call_answers_db)
{
	struct idem_call *handle = call_enter(&call, 1000);
	const struct idem_rows *rows = NULL;

	backend.answer = IDEM_E_DB;
	ck_assert_int_eq(read_balance(handle, &rows), IDEM_E_DB);
	ck_assert_ptr_null(rows);
	ck_assert(call.failed);
	backend.answer = IDEM_OK;
	ck_assert_int_eq(read_balance(handle, &rows), IDEM_E_DB);
	ck_assert_int_eq(touch(handle, "k1"), IDEM_E_DB);
	ck_assert_int_eq(backend.queries, 1);
	ck_assert_str_eq(api->tx->error(handle)->sqlstate, "23505");
	ck_assert_str_eq(api->tx->error(handle)->message.ptr, "told to fail");
}
END_TEST

START_TEST(a_cancelled_call_queries_no_more)
{
	struct idem_call *handle = call_enter(&call, 1000);
	const struct idem_rows *rows;

	call.cancelled = 1;
	ck_assert_int_eq(read_balance(handle, &rows), IDEM_E_CANCELLED);
	ck_assert_int_eq(api->call->extend(handle, 1000), IDEM_E_CANCELLED);
	ck_assert_int_eq(api->call->cancelled(handle), 1);
	ck_assert_int_eq(backend.queries, 0);
	ck_assert(!call.failed);
}
END_TEST

static idem_status query_sql(struct idem_call *handle, const char *sql)
{
	struct idem_statement statement = {.struct_size = sizeof(statement), .sql = sql};
	struct idem_exec exec = exec_of(0, NULL, 0);
	const struct idem_rows *rows;

	return api->tx->query_sql(handle, &statement, &exec, &rows);
}

START_TEST(ad_hoc_sql_is_checked_and_not_the_plugins_own)
{
	struct idem_call *handle = call_enter(&call, 1000);

	ck_assert_int_eq(query_sql(handle, "SELECT 1"), IDEM_OK);
	ck_assert_uint_eq(plugin_statement_number(plugin, backend.statement), 0);
	ck_assert_int_eq(query_sql(handle, "COMMIT AND CHAIN"), IDEM_E_INVALID);
	ck_assert_ptr_nonnull(strstr(api->tx->error(handle)->message.ptr, "COMMIT"));
	ck_assert_int_eq(query_sql(handle, NULL), IDEM_E_INVALID);
	ck_assert_int_eq(backend.queries, 1);
	ck_assert_int_eq(touch(handle, "k1"), IDEM_OK);
}
END_TEST

START_TEST(expectations_are_not_for_queries)
{
	struct idem_call *handle = call_enter(&call, 1000);
	struct idem_param param = text("k1");
	struct idem_exec exec = exec_of(READ_BALANCE, &param, 1);
	const struct idem_rows *rows;

	ck_assert_int_eq(api->tx->query(handle, &exec, NULL), IDEM_E_INVALID);
	exec.flags = IDEM_EXPECT;
	ck_assert_int_eq(api->tx->query(handle, &exec, &rows), IDEM_E_INVALID);
	ck_assert_int_eq(backend.queries, 0);
}
END_TEST

/* ---- the rest ---- */

START_TEST(a_restart_forgets_what_the_run_collected)
{
	struct idem_call *handle = call_enter(&call, 1000);
	const struct idem_rows *rows;

	ck_assert_int_eq(touch(handle, "k1"), IDEM_OK);
	backend.answer = IDEM_E_DB;
	ck_assert_int_eq(read_balance(handle, &rows), IDEM_E_DB);
	api->call->reason(handle, (struct idem_bytes){"because", 7});
	call.cancelled = 1;
	call_leave(&call);
	ck_assert(bytes_equal_string(call.reason, "because"));
	begin_again();
	ck_assert_ptr_null(call.queued_first);
	ck_assert(call.queued_count == 0 && !call.has_queried && !call.failed && !call.has_error && !call.cancelled);
	ck_assert_ptr_null(call.reason.ptr);
	ck_assert_int_eq(touch(call_enter(&call, 1000), "k1"), IDEM_OK);
}
END_TEST

static const struct {
	const char *pointer;
	idem_status status;
	int32_t type;
	const char *text;
} fields[] = {
        {"/do", IDEM_OK, IDEM_STRING, "ok"},
        {"/seq", IDEM_OK, IDEM_INTEGER, "3"},
        {"/a~1b/c/0", IDEM_OK, IDEM_INTEGER, "10"},
        {"/a~1b/c/1", IDEM_OK, IDEM_REAL, "2.50"},
        {"/a~1b/c/2", IDEM_OK, IDEM_BOOL, "true"},
        {"/a~1b/c/3", IDEM_OK, IDEM_NULL, "null"},
        {"/a~1b", IDEM_OK, IDEM_OBJECT, "{\"c\":[10,2.50,true,null,\"x\"]}"},
        {"/a~1b/c", IDEM_OK, IDEM_ARRAY, "[10,2.50,true,null,\"x\"]"},
        {"/nothing", IDEM_E_NOT_FOUND, 0, NULL},
        {"/do/deeper", IDEM_E_NOT_FOUND, 0, NULL},
        {"do", IDEM_E_INVALID, 0, NULL},
};

START_TEST(the_payload_is_read_by_pointer)
{
	struct idem_call *handle = call_enter(&call, 1000);
	struct idem_value value = {.type = 77};

	ck_assert_int_eq(api->json->get(handle, fields[_i].pointer, &value), fields[_i].status);
	ck_assert_int_eq(value.type, fields[_i].text ? fields[_i].type : 77);
	if (fields[_i].text) {
		ck_assert_uint_eq(value.text.len, strlen(fields[_i].text));
		ck_assert_mem_eq(value.text.ptr, fields[_i].text, value.text.len);
	}
}
END_TEST

START_TEST(a_tombstone_has_no_fields_and_a_batch_no_payload)
{
	struct idem_call *handle = call_enter(&call, 1000);
	struct idem_value value;

	event.document = NULL;
	ck_assert_int_eq(api->json->get(handle, "", &value), IDEM_E_NOT_FOUND);
	call.event = NULL;
	ck_assert_int_eq(api->json->get(handle, "", &value), IDEM_E_INVALID);
}
END_TEST

START_TEST(extending_moves_the_deadline_forward_only)
{
	struct idem_call *handle = call_enter(&call, 60 * 1000);
	int64_t deadline_ms = call.deadline_ms;

	ck_assert_int_le(api->call->remaining_ms(handle), 60 * 1000);
	ck_assert_int_eq(api->call->extend(handle, 10), IDEM_OK);
	ck_assert_int_eq(call.deadline_ms, deadline_ms);
	ck_assert_int_eq(api->call->extend(handle, 120 * 1000), IDEM_OK);
	ck_assert_int_ge(call.deadline_ms, deadline_ms + 59 * 1000);
	ck_assert_int_eq(backend.moved, 2);
	ck_assert_int_eq(api->call->extend(handle, CALL_MAX_EXTEND_MS + 1), IDEM_E_TOO_BIG);
}
END_TEST

START_TEST(new_ids_are_version_7_and_emit_is_not_offered_yet)
{
	struct idem_call *handle = call_enter(&call, 1000);
	struct idem_message message = {.struct_size = sizeof(message)};
	struct uuid uuid;
	char id[37];

	ck_assert_int_eq(api->tx->new_id(handle, id), IDEM_OK);
	ck_assert(uuid_from_text(bytes_from_string(id), &uuid));
	ck_assert_int_eq(uuid_version(&uuid), 7);
	ck_assert_int_eq(api->tx->emit(handle, &message), IDEM_E_UNSUPPORTED);
	ck_assert_ptr_null(api->extension(api->host, IDEM_EXT_HTTP));
	ck_assert_uint_eq(api->call->worker_index(handle), 5);
	ck_assert_int_ge(api->call->now_ms(handle), clock_wall_ms() - 1000);
}
END_TEST

static struct idem_event view_of(const char *json)
{
	struct idem_event view;
	struct event seen = fixture_event(&arena, json);

	seen.retried = true;
	plugin_event_view(plugin, &seen, &arena, &view);
	return view;
}

START_TEST(the_handler_sees_the_event_as_it_was_first_published)
{
	struct idem_event view = view_of("{\"a\":1}"), tombstone = view_of(NULL);

	ck_assert_uint_eq(view.struct_size, sizeof(view));
	ck_assert_mem_eq(view.id.ptr, EVENT_ID, 36);
	ck_assert_str_eq(view.pipeline, "pipeline-of-a-test");
	ck_assert_str_eq(view.topic.ptr, "t.orders");
	ck_assert_int_eq(view.offset, 7);
	ck_assert_uint_eq(view.flags, IDEM_EVENT_RETRIED);
	ck_assert_uint_eq(view.payload.len, 7);
	ck_assert_ptr_null(view.order_key.ptr);
	ck_assert_ptr_null(tombstone.payload.ptr);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("call");
	TCase *tests = tcase_create("call");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, a_call_is_dead_after_its_callback);
	tcase_add_test(tests, a_kept_call_does_not_reach_the_next_event_of_the_same_memory);
	tcase_add_test(tests, a_kept_call_stays_dead_for_65534_runs);
	tcase_add_test(tests, null_and_the_bare_address_are_no_calls);
	tcase_add_test(tests, another_thread_may_not_use_a_call);
	tcase_add_test(tests, queued_parameters_are_copied);
	tcase_add_test(tests, queued_statements_keep_their_order);
	tcase_add_test(tests, null_and_empty_parameters_differ);
	tcase_add_test(tests, a_nul_byte_in_text_is_refused_and_in_binary_is_not);
	tcase_add_loop_test(tests, a_broken_execution_is_refused_with_a_sentence, 0, 8);
	tcase_add_test(tests, a_call_queues_a_bounded_number_of_statements);
	tcase_add_test(tests, a_call_queues_a_bounded_number_of_bytes);
	tcase_add_test(tests, a_query_waits_for_the_backend);
	tcase_add_test(tests, sql_null_is_a_null_pointer);
	tcase_add_test(tests, rows_die_with_their_call);
	tcase_add_test(tests, released_rows_stay_dead_beside_new_ones);
	tcase_add_test(tests, after_a_failed_statement_the_call_answers_db);
	tcase_add_test(tests, a_cancelled_call_queries_no_more);
	tcase_add_test(tests, ad_hoc_sql_is_checked_and_not_the_plugins_own);
	tcase_add_test(tests, expectations_are_not_for_queries);
	tcase_add_test(tests, a_restart_forgets_what_the_run_collected);
	tcase_add_loop_test(tests, the_payload_is_read_by_pointer, 0, sizeof(fields) / sizeof(fields[0]));
	tcase_add_test(tests, a_tombstone_has_no_fields_and_a_batch_no_payload);
	tcase_add_test(tests, extending_moves_the_deadline_forward_only);
	tcase_add_test(tests, new_ids_are_version_7_and_emit_is_not_offered_yet);
	tcase_add_test(tests, the_handler_sees_the_event_as_it_was_first_published);
	return fixture_run(suite);
}
