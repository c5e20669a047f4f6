/* The example plugins against a PostgreSQL: their SQL is right, and they decide what their READMEs say. */
#include <stdio.h>
#include <stdlib.h>

#include "core/plugin/plugin.h"
#include "tests/component/database.h"

#define EVENT_ID "01890a5d-ac96-774b-bcce-b302099a8057"
#define MAX_EVENTS 8

static struct pg *pg;
static struct arena arena;
static struct plugin *plugin;
static struct idem_call calls[MAX_EVENTS + 1]; /* the last one: of the batch */
static struct event events[MAX_EVENTS];
static struct idem_event views[MAX_EVENTS];

/* ---- a host of the simplest kind: one transaction per batch, everything sent at once ---- */

static PGresult *run(const struct pg_statement *statement, const struct pg_params *params)
{
	struct error error;
	PGresult *result, *sync;

	ck_assert_msg(pg_queue(pg, statement, params, &error) && pg_sync(pg, &error) && pg_next(pg, &result, &error) &&
	                      pg_next(pg, &sync, &error),
	              "%s", error.text);
	ck_assert_ptr_null(sync);
	return result;
}

static idem_status query(void *self, struct idem_call *call, const struct pg_statement *statement,
                         const struct pg_params *params, PGresult **out_result)
{
	PGresult *result = run(statement, params);

	(void)self;
	if (PQresultStatus(result) != PGRES_FATAL_ERROR) {
		*out_result = result;
		return IDEM_OK;
	}
	call_set_error(call, IDEM_E_DB, PQresultErrorField(result, PG_DIAG_SQLSTATE), false, "%s",
	               PQresultErrorMessage(result));
	PQclear(result);
	return IDEM_E_DB;
}

static const struct call_backend backend = {.query = query};

/* Sends what the call has queued; false: a statement failed or missed its expectation. */
static bool send_queued(const struct idem_call *call)
{
	for (const struct queued *each = call->queued_first; each; each = each->next) {
		PGresult *result = run(&plugin_statement(plugin, each->statement)->pg, &each->params);
		int64_t rows = strtoll(PQcmdTuples(result), NULL, 10);
		bool is_fine = PQresultStatus(result) == PGRES_COMMAND_OK &&
		               (!each->expects || (rows >= each->expect_min && rows <= each->expect_max));
		ck_assert_msg(PQresultStatus(result) == PGRES_COMMAND_OK, "%s", PQresultErrorMessage(result));
		PQclear(result);
		if (!is_fine)
			return false;
	}
	return true;
}

static struct idem_call *enter(size_t i, const struct event *event)
{
	call_init(&calls[i], &(struct call_context){plugin, 0, &arena, &backend, NULL}, event);
	return call_enter(&calls[i], 10000);
}

static void make_event(size_t i, const char *json)
{
	static const struct json_limits limits = {.max_bytes = 1 << 20, .max_depth = 64};
	const char *reason, *text;

	events[i] = (struct event){.id_text = BYTES_LITERAL(EVENT_ID),
	                           .has_uuid = true,
	                           .payload = bytes_from_string(json),
	                           .attempt = 1,
	                           .origin_topic = "t"};
	events[i].document = json_parse(&arena, events[i].payload, &limits, &reason, &text);
	ck_assert_msg(events[i].document, "%s: %s", json, text);
	plugin_event_view(plugin, &events[i], &arena, &views[i]);
}

/* One event through handle(): DONE only when its statements did what they should. */
static idem_verdict handle(const char *json)
{
	database_run(pg, "BEGIN");
	make_event(0, json);
	struct idem_call *call = enter(0, &events[0]);
	idem_verdict verdict = plugin_descriptor(plugin)->handle(plugin_self(plugin), call, &views[0]);
	call_leave(&calls[0]);
	if (verdict == IDEM_DONE && !send_queued(&calls[0]))
		verdict = IDEM_REJECT;
	database_run(pg, verdict == IDEM_DONE ? "COMMIT" : "ROLLBACK");
	call_done(&calls[0]);
	return verdict;
}

/* All of them through handle_batch() and committed; the verdicts as letters: d, r (retry), x (reject). */
static const char *handle_batch(const char *const *json, size_t n)
{
	static char letters[MAX_EVENTS + 1];
	struct idem_item items[MAX_EVENTS];
	struct idem_call *batch = enter(MAX_EVENTS, NULL);

	database_run(pg, "BEGIN");
	for (size_t i = 0; i < n; i++) {
		make_event(i, json[i]);
		items[i] = (struct idem_item){.call = enter(i, &events[i]), .event = &views[i]};
	}
	idem_status status = plugin_descriptor(plugin)->handle_batch(plugin_self(plugin), batch, items, n);
	ck_assert_int_eq(status, IDEM_OK);
	call_leave(&calls[MAX_EVENTS]);
	ck_assert(send_queued(&calls[MAX_EVENTS]));
	call_done(&calls[MAX_EVENTS]);
	database_run(pg, "COMMIT");
	for (size_t i = 0; i < n; i++) {
		call_leave(&calls[i]);
		letters[i] = "?drx"[items[i].verdict];
		ck_assert((letters[i] == 'x') == (calls[i].reason.ptr != NULL));
		call_done(&calls[i]);
	}
	letters[n] = '\0';
	return letters;
}

/* ---- fixture ---- */

static void run_script(const char *name)
{
	char path[500], script[4096];
	struct error error;

	snprintf(path, sizeof(path), "%s/plugins/%s/%s.sql", TOP_SRCDIR, name, name);
	FILE *in = fopen(path, "r");
	ck_assert_msg(in, "%s", path);
	script[fread(script, 1, sizeof(script) - 1, in)] = '\0';
	fclose(in);
	ck_assert_msg(pg_run_script(pg, script, &error), "%s", error.text);
}

static void open_example(const char *name, const char *option, const char *value)
{
	char path[200];
	struct error error = {0};
	struct config_property property = {.name = option, .value = value};
	struct config_plugin config = {.file = path, .options = {.items = &property, .count = option ? 1 : 0}};

	snprintf(path, sizeof(path), "plugins/%s/%s.so", name, name);
	plugin = plugin_open(path, &config, "example", &error);
	ck_assert_msg(plugin && plugin_create(plugin, &error), "%s", error.text);
	database_run(pg, "CREATE SCHEMA \"%s\"", database_schema);
	database_run(pg, "SET search_path = \"%s\"", database_schema);
	run_script(name);
}

static void begin(void)
{
	database_setup_empty();
	pg = database_connect("postgres");
	arena_init(&arena, 64 * 1024);
}

static void end(void)
{
	plugin_destroy(plugin);
	arena_done(&arena);
	pg_close(pg);
	database_teardown();
}

/* ---- billing ---- */

START_TEST(billing_adds_an_amount_to_the_order_it_names)
{
	open_example("billing", NULL, NULL);
	database_run(pg, "INSERT INTO orders (id, paid_amount) VALUES (7, 100), (8, 0)");
	ck_assert_int_eq(handle("{\"orderId\":7,\"totalAmount\":1999}"), IDEM_DONE);
	ck_assert_int_eq(handle("{\"orderId\":7,\"totalAmount\":0,\"currency\":\"USD\"}"), IDEM_DONE);
	ck_assert_int_eq(handle("{\"orderId\":9,\"totalAmount\":1}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"orderId\":7,\"totalAmount\":-1}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"orderId\":7,\"totalAmount\":1.5}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"orderId\":\"7\",\"totalAmount\":1}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"totalAmount\":1}"), IDEM_REJECT);
	ck_assert_str_eq(
	        database_ask(
	                pg, "SELECT string_agg(concat_ws(' ', id, paid_amount, status), ', ' ORDER BY id) FROM orders"),
	        "7 2099 PAID, 8 0 NEW");
}
END_TEST

START_TEST(billing_rejects_other_currencies_when_told_its_own)
{
	open_example("billing", "currency", "EUR");
	database_run(pg, "INSERT INTO orders VALUES (7)");
	ck_assert_int_eq(handle("{\"orderId\":7,\"totalAmount\":5,\"currency\":\"USD\"}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"orderId\":7,\"totalAmount\":5}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"orderId\":7,\"totalAmount\":5,\"currency\":\"EUR\"}"), IDEM_DONE);
	ck_assert_int_eq(database_number(pg, "SELECT paid_amount FROM orders"), 5);
}
END_TEST

START_TEST(billing_batch_sums_per_order_and_rejects_events_alone)
{
	const char *json[] = {"{\"orderId\":7,\"totalAmount\":10}", "{\"orderId\":9,\"totalAmount\":20}",
	                      "{\"orderId\":8,\"totalAmount\":30}", "{\"orderId\":7,\"totalAmount\":40}",
	                      "{\"orderId\":8,\"totalAmount\":-1}", "{\"orderId\":8}"};
	const char *none[] = {"{\"orderId\":99,\"totalAmount\":10}", "{}"};

	open_example("billing_batch", NULL, NULL);
	database_run(pg, "INSERT INTO orders VALUES (7, 1), (8, 0), (10, 0)");
	ck_assert_str_eq(handle_batch(json, 6), "dxddxx");
	ck_assert_str_eq(handle_batch(none, 2), "xx");
	ck_assert_int_eq(handle("{\"orderId\":10,\"totalAmount\":3}"), IDEM_DONE);
	ck_assert_int_eq(handle("{\"orderId\":99,\"totalAmount\":3}"), IDEM_REJECT);
	ck_assert_str_eq(
	        database_ask(
	                pg, "SELECT string_agg(concat_ws(' ', id, paid_amount, status), ', ' ORDER BY id) FROM orders"),
	        "7 51 PAID, 8 30 PAID, 10 3 PAID");
}
END_TEST

/* ---- inventory ---- */

START_TEST(inventory_decides_in_order_and_writes_sums)
{
	const char *json[] = {"{\"sku\":\"b\",\"quantity\":4}", "{\"sku\":\"A\",\"quantity\":1}",
	                      "{\"sku\":\"b\",\"quantity\":4}", "{\"sku\":\"b\",\"quantity\":2}",
	                      "{\"sku\":\"c\",\"quantity\":1}", "{\"sku\":\"\\\"a, b\\\\\",\"quantity\":1}",
	                      "{\"sku\":\"b\",\"quantity\":0}", "{\"quantity\":1}"};

	open_example("inventory", NULL, NULL);
	database_run(pg, "INSERT INTO stock (sku, available) VALUES ('b', 6), ('A', 1), ('\"a, b\\', 1), ('B', 9)");
	/* 4 of 6, 1 of 1, 4 of the 2 left: no, 2 of 2, unknown, odd letters, no quantity, no sku */
	ck_assert_str_eq(handle_batch(json, 8), "ddxdxdxx");
	ck_assert_int_eq(handle("{\"sku\":\"B\",\"quantity\":9}"), IDEM_DONE);
	ck_assert_int_eq(handle("{\"sku\":\"B\",\"quantity\":1}"), IDEM_REJECT);
	ck_assert_str_eq(
	        database_ask(
	                pg,
	                "SELECT string_agg(concat_ws(' ', sku, available, reserved), ', ' ORDER BY sku COLLATE \"C\") "
	                "FROM stock"),
	        "\"a, b\\ 0 1, A 0 1, B 0 9, b 0 6");
}
END_TEST

/* ---- audit ---- */

START_TEST(audit_writes_down_the_balance_it_saw)
{
	open_example("audit", NULL, NULL);
	database_run(pg, "INSERT INTO account VALUES (1, 100)");
	ck_assert_int_eq(handle("{\"accountId\":1,\"amount\":-60}"), IDEM_DONE);
	ck_assert_int_eq(handle("{\"accountId\":1,\"amount\":-60}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"accountId\":1,\"amount\":5}"), IDEM_DONE);
	ck_assert_int_eq(handle("{\"accountId\":2,\"amount\":5}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"accountId\":1,\"amount\":9223372036854775807}"), IDEM_REJECT);
	ck_assert_int_eq(handle("{\"accountId\":1}"), IDEM_REJECT);
	ck_assert_int_eq(database_number(pg, "SELECT balance FROM account"), 45);
	ck_assert_str_eq(
	        database_ask(
	                pg,
	                "SELECT string_agg(concat_ws(' ', amount, balance_before), ', ' ORDER BY balance_before DESC) "
	                "FROM ledger"),
	        "-60 100, 5 40");
}
END_TEST

int main(int argc, char **argv)
{
	(void)argc;
	Suite *suite = suite_create("examples");
	TCase *tests = tcase_create("examples");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, billing_adds_an_amount_to_the_order_it_names);
	tcase_add_test(tests, billing_rejects_other_currencies_when_told_its_own);
	tcase_add_test(tests, billing_batch_sums_per_order_and_rejects_events_alone);
	tcase_add_test(tests, inventory_decides_in_order_and_writes_sums);
	tcase_add_test(tests, audit_writes_down_the_balance_it_saw);
	return database_main(argv, suite);
}
