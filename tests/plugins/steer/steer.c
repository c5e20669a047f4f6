/* A plugin that does what the payload's field "do" says: steps with ';' between, each "name" or "name:argument".  A
 * step that fails ends the run with the verdict for its status, unless '?' stands before it; '*' before a step makes
 * handle_batch run it on the call of the whole batch.  README.md lists the steps. */
#include <errno.h>
#include <idem/sugar.h>
#include <time.h>

enum {
	STEP_NOTE,
	STEP_QNOTE,
	STEP_DIVIDE,
	STEP_RAISE,
	STEP_TOUCH,
	STEP_CHILD,
	STEP_PARENT,
	STEP_ABSENT,
	STEP_STATEMENTS
};

struct steer {
	const struct idem_host_api *api;
	uint32_t statements[STEP_STATEMENTS], read_balance, write_balance, runs, committed, committed_batches;
};

struct run {
	const struct steer *steer;
	struct idem_call *call;
	struct idem_bytes argument;
	idem_verdict verdict;
	int is_answered; /* the verdict stands whatever failed */
};

static struct idem_param argument_of(const struct run *run)
{
	return idem_param_text(run->argument);
}

static idem_status queue(struct run *run, int step)
{
	struct idem_param param = argument_of(run);

	return idem_queue(run->steer->api, run->call, run->steer->statements[step], &param, 1);
}

static idem_status do_note(struct run *run)
{
	return queue(run, STEP_NOTE);
}

static idem_status do_qnote(struct run *run)
{
	struct idem_param param = argument_of(run);
	const struct idem_rows *rows;

	return idem_query(run->steer->api, run->call, run->steer->statements[STEP_QNOTE], &param, 1, &rows);
}

static idem_status do_divide(struct run *run)
{
	return queue(run, STEP_DIVIDE);
}

static idem_status do_raise(struct run *run)
{
	return queue(run, STEP_RAISE);
}

static idem_status do_touch(struct run *run)
{
	return queue(run, STEP_TOUCH);
}

static idem_status do_child(struct run *run)
{
	return queue(run, STEP_CHILD);
}

static idem_status do_parent(struct run *run)
{
	return queue(run, STEP_PARENT);
}

static idem_status do_absent(struct run *run)
{
	return queue(run, STEP_ABSENT);
}

/* One row that is not there is expected; "retry": a miss is a RETRY. */
static idem_status do_miss(struct run *run)
{
	struct idem_param key = idem_param_string("nobody");
	struct idem_exec exec = idem_exec_of(run->steer->statements[STEP_TOUCH], &key, 1);

	exec.flags = IDEM_EXPECT;
	exec.expect_min = exec.expect_max = 1;
	exec.on_miss = idem_equal_string(run->argument, "retry") ? IDEM_RETRY : IDEM_REJECT;
	return run->steer->api->tx->queue(run->call, &exec);
}

/* Reads a balance and writes back ten less. */
static idem_status do_take(struct run *run)
{
	const struct idem_host_api *api = run->steer->api;
	struct idem_param params[] = {argument_of(run), idem_param_null()};
	const struct idem_rows *rows;
	struct idem_digits digits;
	int64_t amount;
	idem_status status = idem_query(api, run->call, run->steer->read_balance, params, 1, &rows);

	if (status == IDEM_OK)
		status = idem_rows_int64(api, rows, 0, 0, &amount);
	if (status != IDEM_OK)
		return status;
	params[1] = idem_param_int64(amount - 10, &digits);
	return idem_queue(api, run->call, run->steer->write_balance, params, 2);
}

static idem_status do_sql(struct run *run)
{
	char sql[1024];
	struct idem_statement statement;
	struct idem_exec exec = idem_exec_of(0, NULL, 0);
	const struct idem_rows *rows;

	snprintf(sql, sizeof(sql), "%.*s", (int)run->argument.len, run->argument.ptr);
	memset(&statement, 0, sizeof(statement));
	statement.struct_size = sizeof(statement);
	statement.sql = sql;
	return run->steer->api->tx->query_sql(run->call, &statement, &exec, &rows);
}

static int64_t number(const struct run *run)
{
	int64_t value = 0;

	return idem_parse_int64(run->argument, &value) == IDEM_OK ? value : 0;
}

static idem_status do_nap(struct run *run)
{
	int64_t ms = number(run);
	struct timespec rest = {ms / 1000, (long)(ms % 1000) * 1000000};

	while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
		;
	return IDEM_OK;
}

static idem_status do_extend(struct run *run)
{
	return run->steer->api->call->extend(run->call, (uint32_t)number(run));
}

static idem_status do_verdict(struct run *run)
{
	run->verdict = (idem_verdict)number(run);
	run->is_answered = 1;
	return IDEM_OK;
}

static idem_status do_fail(struct run *run)
{
	(void)run;
	return IDEM_E_INVALID;
}

static const struct {
	const char *name;
	idem_status (*run)(struct run *);
} steps[] = {
        {"note", do_note},     {"qnote", do_qnote},   {"divide", do_divide},   {"raise", do_raise},
        {"touch", do_touch},   {"child", do_child},   {"parent", do_parent},   {"miss", do_miss},
        {"absent", do_absent}, {"take", do_take},     {"sql", do_sql},         {"nap", do_nap},
        {"fail", do_fail},     {"extend", do_extend}, {"verdict", do_verdict},
};

static idem_status step(struct run *run, struct idem_bytes text)
{
	const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
	struct idem_bytes name = text;

	run->argument = idem_bytes_of("");
	if (colon) {
		name.len = (size_t)(colon - text.ptr);
		run->argument.ptr = colon + 1;
		run->argument.len = text.len - name.len - 1;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (idem_equal_string(name, steps[i].name))
			return steps[i].run(run);
	return name.len ? IDEM_E_INVALID : IDEM_OK;
}

/* The first step that fails, or OK; *out_verdict as the steps leave it. */
static idem_status obey(const struct steer *steer, struct idem_call *batch, struct idem_call *call,
                        idem_verdict *out_verdict)
{
	struct idem_bytes script = {"", 0};
	struct run run = {.steer = steer, .verdict = IDEM_DONE};
	idem_status status = IDEM_OK;

	(void)idem_json_text(steer->api, call, "/do", &script);
	steer->api->metrics->add(steer->api->host, NULL, steer->runs, 1);
	steer->api->metrics->add(steer->api->host, call, steer->committed, 1);
	for (const char *at = script.ptr, *end = at + script.len; at < end && status == IDEM_OK;) {
		const char *stop = memchr(at, ';', (size_t)(end - at));
		int may_fail = *at == '?', is_whole = at[may_fail] == '*';
		const char *name = at + may_fail + is_whole;
		struct idem_bytes text = {name, (size_t)((stop ? stop : end) - name)};
		run.call = is_whole ? batch : call;
		status = step(&run, text);
		if (may_fail)
			status = IDEM_OK;
		at = stop ? stop + 1 : end;
	}
	*out_verdict = run.is_answered || status == IDEM_OK ? run.verdict : idem_verdict_of(steer->api, call, status);
	return status;
}

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	static const struct {
		const char *sql;
		uint32_t lock_param;
	} statements[STEP_STATEMENTS] = {
	        [STEP_NOTE] = {"INSERT INTO note (text) VALUES ($1)", 0},
	        [STEP_QNOTE] = {"INSERT INTO note (text) VALUES ($1) RETURNING text", 0},
	        [STEP_DIVIDE] = {"SELECT 1 / $1::int", 0},
	        [STEP_RAISE] = {"SELECT raise($1)", 0},
	        [STEP_TOUCH] = {"UPDATE balance SET amount = amount + 1 WHERE key = $1", STEER_LOCK_PARAM},
	        [STEP_CHILD] = {"INSERT INTO child (parent) VALUES ($1)", STEER_LOCK_PARAM},
	        [STEP_PARENT] = {"INSERT INTO parent (key) VALUES ($1)", 0},
	        [STEP_ABSENT] = {"INSERT INTO absent (text) VALUES ($1)", 0},
	};
	struct steer *steer = *out_self = calloc(1, sizeof(*steer));
	idem_status status = steer ? IDEM_OK : IDEM_E_NOMEM;

	if (steer)
		steer->api = api;
	for (int i = 0; i < STEP_STATEMENTS && status == IDEM_OK; i++)
		status = idem_declare(api, statements[i].sql, 1, statements[i].lock_param, &steer->statements[i]);
	if (status == IDEM_OK)
		status = idem_declare(api, "SELECT amount FROM balance WHERE key = $1 FOR UPDATE", 1, 0,
		                      &steer->read_balance);
	if (status == IDEM_OK)
		status =
		        idem_declare(api, "UPDATE balance SET amount = $2 WHERE key = $1", 2, 0, &steer->write_balance);
	if (status == IDEM_OK)
		status = api->metrics->counter(api->host, "runs", "events a handler was called for", &steer->runs);
	if (status == IDEM_OK)
		status = api->metrics->counter(api->host, "committed", "of them, with an effect", &steer->committed);
	if (status == IDEM_OK)
		status = api->metrics->counter(api->host, "committed_batches", "calls of handle_batch with an effect",
		                               &steer->committed_batches);
	return status;
}

static const char *const types[] = {"test.v1", NULL};
