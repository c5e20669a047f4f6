/* The reference plugin of the end-to-end tests: the payload's field "do" says what goes wrong.  README.md lists them.
 */
#include "die.h"
#include <errno.h>
#include <idem/sugar.h>
#include <locale.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

struct ref {
	const struct idem_host_api *api;
	uint32_t insert_effect, divide, touch, read_balance, write_balance;
	uint32_t late_refused; /* a counter */
	struct idem_call *kept;
};

struct run {
	const struct ref *ref;
	struct idem_call *call;
	const struct idem_event *event;
	struct idem_bytes argument; /* what stands behind the colon */
};

static idem_status queue_effect(const struct ref *ref, struct idem_call *call, const struct idem_event *event)
{
	struct idem_digits seq_digits, pid_digits;
	int64_t seq = 0;
	int has_seq = idem_json_int64(ref->api, call, "/seq", &seq) == IDEM_OK;
	struct idem_param params[] = {idem_param_string(event->pipeline), idem_param_text(event->id),
	                              idem_param_text(event->key),
	                              has_seq ? idem_param_int64(seq, &seq_digits) : idem_param_null(),
	                              idem_param_int64(getpid(), &pid_digits)};

	return idem_queue(ref->api, call, ref->insert_effect, params, 5);
}

static idem_verdict done(const struct run *run)
{
	return idem_verdict_of(run->ref->api, run->call, queue_effect(run->ref, run->call, run->event));
}

static int64_t number(struct idem_bytes text)
{
	int64_t value = 0;

	return idem_parse_int64(text, &value) == IDEM_OK ? value : 0;
}

static void nap(int64_t ms)
{
	struct timespec rest = {ms / 1000, (long)(ms % 1000) * 1000000};

	while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
		;
}

/* ---- ends ---- */

static idem_verdict do_fail(const struct run *run)
{
	return idem_retry(run->ref->api, run->call, "the payload said fail");
}

/* With an error text of that many bytes. */
static idem_verdict do_faillong(const struct run *run)
{
	char text[8193];
	int64_t bytes = number(run->argument);

	bytes = bytes < (int64_t)sizeof(text) - 1 ? bytes : (int64_t)sizeof(text) - 1;
	memset(text, 'e', (size_t)bytes);
	text[bytes] = '\0';
	return idem_retry(run->ref->api, run->call, text);
}

static idem_verdict do_fatal(const struct run *run)
{
	return idem_reject(run->ref->api, run->call, "the payload said fatal");
}

static idem_verdict do_failn(const struct run *run)
{
	return run->event->attempt > (uint32_t)number(run->argument) ? done(run) : do_fail(run);
}

static idem_verdict do_verdict(const struct run *run)
{
	(void)done(run);
	return (idem_verdict)number(run->argument);
}

/* ---- takes long ---- */

static idem_verdict do_sleep(const struct run *run)
{
	const struct idem_call_api *call_api = run->ref->api->call;

	for (int64_t left_ms = number(run->argument); left_ms > 0; left_ms -= 10) {
		if (call_api->cancelled(run->call))
			return idem_retry(run->ref->api, run->call, "cancelled");
		nap(left_ms < 10 ? left_ms : 10);
	}
	return done(run);
}

static idem_verdict do_nap(const struct run *run)
{
	nap(number(run->argument));
	return done(run);
}

static idem_verdict do_extend(const struct run *run)
{
	for (int64_t left_ms = number(run->argument); left_ms > 0; left_ms -= 50) {
		if (run->ref->api->call->extend(run->call, 1000) != IDEM_OK)
			return idem_retry(run->ref->api, run->call, "cancelled");
		nap(50);
	}
	return done(run);
}

/* Two things that plugin.h forbids and that the host must survive. */
static idem_verdict do_sigterm(const struct run *run)
{
	signal(SIGTERM, SIG_IGN);
	return done(run);
}

static idem_verdict do_locale(const struct run *run)
{
	setlocale(LC_ALL, "de_DE.UTF-8");
	return done(run);
}

/* ---- sql ---- */

static idem_status run_sql(const struct run *run)
{
	char sql[1024];
	struct idem_statement statement;
	struct idem_exec exec = idem_exec_of(0, NULL, 0);
	const struct idem_rows *rows;

	snprintf(sql, sizeof(sql), "%.*s", (int)run->argument.len, run->argument.ptr);
	memset(&statement, 0, sizeof(statement));
	statement.struct_size = sizeof(statement);
	statement.sql = sql;
	return run->ref->api->tx->query_sql(run->call, &statement, &exec, &rows);
}

static idem_verdict do_sql(const struct run *run)
{
	idem_status status = run_sql(run);
	struct idem_bytes why = run->ref->api->tx->error(run->call)->message;

	if (status == IDEM_OK)
		return done(run);
	run->ref->api->call->reason(run->call, why);
	return idem_verdict_of(run->ref->api, run->call, status);
}

static idem_verdict do_swallow(const struct run *run)
{
	(void)run_sql(run);
	(void)done(run);
	return IDEM_DONE;
}

static idem_verdict do_queue(const struct run *run)
{
	struct idem_param divisor = idem_param_text(run->argument);
	idem_status status = idem_queue(run->ref->api, run->call, run->ref->divide, &divisor, 1);

	return status == IDEM_OK ? done(run) : idem_verdict_of(run->ref->api, run->call, status);
}

static idem_verdict do_miss(const struct run *run)
{
	struct idem_param key = idem_param_string("a key that is not there");
	struct idem_exec exec = idem_exec_of(run->ref->touch, &key, 1);

	exec.flags = IDEM_EXPECT;
	exec.expect_min = exec.expect_max = 1;
	exec.on_miss = idem_equal_string(run->argument, "retry") ? IDEM_RETRY : IDEM_REJECT;
	exec.reason = idem_bytes_of("no such balance");
	idem_status status = run->ref->api->tx->queue(run->call, &exec);
	return status == IDEM_OK ? done(run) : idem_verdict_of(run->ref->api, run->call, status);
}

/* Reads a balance, takes one from it in the handler, writes it back: a lost update shows. */
static idem_verdict do_read(const struct run *run)
{
	const struct idem_host_api *api = run->ref->api;
	struct idem_param params[] = {idem_param_text(run->argument.len ? run->argument : run->event->key),
	                              {{NULL, 0}, 0, 0}};
	const struct idem_rows *rows;
	struct idem_digits digits;
	int64_t amount, take = 1;
	idem_status status = idem_query(api, run->call, run->ref->read_balance, params, 1, &rows);

	if (status == IDEM_OK)
		status = idem_rows_int64(api, rows, 0, 0, &amount);
	if (status != IDEM_OK)
		return idem_verdict_of(api, run->call, status);
	(void)idem_json_int64(api, run->call, "/take", &take);
	params[1] = idem_param_int64(amount - take, &digits);
	status = idem_queue_expect(api, run->call, run->ref->write_balance, params, 2, 1, "no such balance");
	return status == IDEM_OK ? done(run) : idem_verdict_of(api, run->call, status);
}

/* ---- contract ---- */

static idem_verdict do_http(const struct run *run)
{
	const struct idem_host_api *api = run->ref->api;

	if (!api->extension(api->host, IDEM_EXT_HTTP))
		return idem_reject(api, run->call, "this host offers no outbound http");
	return done(run);
}

/* Uses its call again when the next event is handled. */
static idem_verdict do_late(const struct run *run)
{
	((struct ref *)(uintptr_t)run->ref)->kept = run->call;
	return done(run);
}

static void use_kept(struct ref *ref, const struct idem_event *event)
{
	struct idem_call *kept = ref->kept;

	ref->kept = NULL;
	if (queue_effect(ref, kept, event) != IDEM_E_INVALID) {
		idem_log(ref->api, NULL, 3, "a call used after its callback was accepted");
		return;
	}
	idem_log(ref->api, NULL, 5, "a call used after its callback was refused");
	ref->api->metrics->add(ref->api->host, NULL, ref->late_refused, 1);
}

static idem_verdict do_nul(const struct run *run)
{
	struct idem_bytes text = {"ab\0cd", 5};
	struct idem_param key = idem_param_text(text);
	idem_status status = idem_queue(run->ref->api, run->call, run->ref->touch, &key, 1);

	return status == IDEM_OK ? done(run)
	                         : idem_reject(run->ref->api, run->call, "a NUL byte in a text parameter was refused");
}

static const struct {
	const char *name;
	idem_verdict (*run)(const struct run *);
} deeds[] = {
        {"ok", done},
        {"fail", do_fail},
        {"fatal", do_fatal},
        {"faillong", do_faillong},
        {"failn", do_failn},
        {"verdict", do_verdict},
        {"sleep", do_sleep},
        {"nap", do_nap},
        {"extend", do_extend},
        {"sigterm", do_sigterm},
        {"locale", do_locale},
        {"sql", do_sql},
        {"swallow", do_swallow},
        {"queue", do_queue},
        {"miss", do_miss},
        {"read", do_read},
        {"http", do_http},
        {"late", do_late},
        {"nul", do_nul},
};

/* A record without a payload says it in a header. */
static struct idem_bytes deed_of(const struct ref *ref, struct idem_call *call, const struct idem_event *event)
{
	struct idem_bytes deed = {"ok", 2};

	for (size_t i = 0; i < event->header_count; i++)
		if (idem_equal_string(event->headers[i].name, "do"))
			deed = event->headers[i].value;
	(void)idem_json_text(ref->api, call, "/do", &deed);
	return deed;
}

static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
{
	struct ref *ref = opaque;
	struct run run = {ref, call, event, {"", 0}};
	struct idem_bytes deed = deed_of(ref, call, event);

	if (ref->kept)
		use_kept(ref, event);
	const char *colon = memchr(deed.ptr, ':', deed.len);
	if (colon) {
		run.argument.ptr = colon + 1;
		run.argument.len = (size_t)(deed.ptr + deed.len - run.argument.ptr);
		deed.len = (size_t)(colon - deed.ptr);
	}
	die_if_told(deed, run.argument);
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		if (idem_equal_string(deed, deeds[i].name))
			return deeds[i].run(&run);
	return idem_reject(ref->api, call, "an unknown deed");
}

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct ref *ref = *out_self = calloc(1, sizeof(*ref));
	idem_status status;

	if (!ref)
		return IDEM_E_NOMEM;
	ref->api = api;
	if ((status = idem_declare(api,
	                           "INSERT INTO effect (consumer, event_id, key, seq, pid, at) "
	                           "VALUES ($1, $2::uuid, $3, $4, $5, clock_timestamp())",
	                           5, 0, &ref->insert_effect)) != IDEM_OK ||
	    (status = idem_declare(api, "SELECT 1 / $1::int", 1, 0, &ref->divide)) != IDEM_OK ||
	    (status = idem_declare(api, "UPDATE balance SET amount = amount WHERE key = $1", 1, 1, &ref->touch)) !=
	            IDEM_OK ||
	    (status = idem_declare(api, "SELECT amount FROM balance WHERE key = $1 FOR UPDATE", 1, 0,
	                           &ref->read_balance)) != IDEM_OK ||
	    (status = idem_declare(api, "UPDATE balance SET amount = $2 WHERE key = $1", 2, 1, &ref->write_balance)) !=
	            IDEM_OK)
		return status;
	return api->metrics->counter(api->host, "late_refused", "late uses of a call that were refused",
	                             &ref->late_refused);
}

static const char *const types[] = {"test.v1", NULL};

/* ref_isolated.c includes this file with more of them. */
#ifndef REF_NAME
#define REF_NAME "ref"
#define REF_CAPABILITIES IDEM_CAP_CONCURRENT
#endif
IDEM_PLUGIN_DEFINE(REF_NAME, "1.0.0", "idem", "tests", .capabilities = REF_CAPABILITIES, .event_types = types,
                   .create = create, .handle = handle, .destroy = free);
