#include "tests/component/database.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/db/schema.h"
#include "tests/unit/run_suite.h"

char database_schema[64];

struct config_database database_config(const char *user)
{
	static char conninfo[128];
	snprintf(conninfo, sizeof(conninfo), "user='%s'", user);
	return (struct config_database){.conninfo = conninfo,
	                                .schema = database_schema,
	                                .connect_timeout_ms = 10000,
	                                .statement_timeout_ms = 60000,
	                                .tcp_user_timeout_ms = 10000};
}

struct pg *database_connect(const char *user)
{
	struct config_database config = database_config(user);
	struct error error;
	char name[32];
	snprintf(name, sizeof(name), "test %d", (int)getpid());
	struct pg *pg = pg_open(&config, name, 60000, &error);
	ck_assert_msg(pg != NULL, "%s", error.text);
	return pg;
}

static PGresult *database_query(struct pg *pg, struct error *error, const char *format, va_list arguments)
{
	char sql[2048];
	int length = vsnprintf(sql, sizeof(sql), format, arguments);
	ck_assert(length >= 0 && (size_t)length < sizeof(sql));
	return pg_run(pg, sql, NULL, 0, error);
}

const char *database_ask(struct pg *pg, const char *format, ...)
{
	static char answer[1024];
	struct error error;
	va_list arguments;
	va_start(arguments, format);
	PGresult *result = database_query(pg, &error, format, arguments);
	va_end(arguments);
	ck_assert_msg(result != NULL, "%s", error.text);
	snprintf(answer, sizeof(answer), "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	return answer;
}

int64_t database_number(struct pg *pg, const char *format, ...)
{
	struct error error;
	va_list arguments;
	va_start(arguments, format);
	PGresult *result = database_query(pg, &error, format, arguments);
	va_end(arguments);
	ck_assert_msg(result != NULL, "%s", error.text);
	int64_t number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return number;
}

void database_run(struct pg *pg, const char *format, ...)
{
	struct error error;
	va_list arguments;
	va_start(arguments, format);
	PGresult *result = database_query(pg, &error, format, arguments);
	va_end(arguments);
	ck_assert_msg(result != NULL, "%s", error.text);
	PQclear(result);
}

const char *database_state(struct pg *pg, const char *format, ...)
{
	static struct error error;
	va_list arguments;
	error_clear(&error);
	va_start(arguments, format);
	PGresult *result = database_query(pg, &error, format, arguments);
	va_end(arguments);
	PQclear(result);
	return error.sqlstate;
}

void database_wait_for_waiters(struct pg *pg, int count)
{
	while (database_number(
	               pg,
	               "SELECT count(*) FROM pg_stat_activity "
	               "WHERE wait_event_type = 'Lock' AND application_name = current_setting('application_name')") <
	       count)
		database_run(pg, "SELECT pg_sleep(0.01)");
}

void database_setup_empty(void)
{
	static int number;
	struct pg *pg = database_connect("postgres");
	snprintf(database_schema, sizeof(database_schema), "Test %d %d", (int)getpid(), number++);
	if (database_number(pg, "SELECT count(*) FROM pg_roles WHERE rolname = '" HOST_ROLE "'") == 0)
		database_run(pg, "CREATE ROLE \"" HOST_ROLE "\" LOGIN");
	pg_close(pg);
}

void database_setup(void)
{
	struct error error;
	database_setup_empty();
	struct pg *pg = database_connect("postgres");
	ck_assert_msg(schema_apply(pg, database_schema, HOST_ROLE, NULL, &error), "%s", error.text);
	pg_close(pg);
}

void database_teardown(void)
{
	struct pg *pg = database_connect("postgres");
	database_run(pg, "SET client_min_messages = warning");
	database_run(pg, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", database_schema);
	pg_close(pg);
}

int database_main(char **argv, Suite *suite)
{
	if (!getenv("IDEM_TEST_POSTGRES")) {
		execl(TOP_SRCDIR "/tests/lib/with_postgres.sh", "with_postgres.sh", argv[0], (char *)NULL);
		perror(TOP_SRCDIR "/tests/lib/with_postgres.sh");
		return 99;
	}
	return run_suite(suite);
}
