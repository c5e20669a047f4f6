#include "plugin_fixture.h"

/* why NULL: accepted; otherwise a part of the refusal. */
struct sample {
	const char *sql;
	const char *why;
};

#define ENDS "does not end"
#define MORE "goes on behind its ';'"
#define SESSION "reaches other events"

static const struct sample accepted[] = {
        {"SELECT 1", NULL},
        {"  \n\t select 1 ;  -- the end\n", NULL},
        {"(SELECT 1) UNION (SELECT 2)", NULL},
        {"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", NULL},
        {"-- COMMIT\nSELECT 1", NULL},
        {"/* COMMIT /* nested */ ROLLBACK */ SELECT 1", NULL},
        {"SELECT 'COMMIT; BEGIN'", NULL},
        {"SELECT 'it''s; fine'", NULL},
        {"SELECT E'a\\'; b'", NULL},
        {"SELECT E'a\\\\' || 'b'", NULL},
        {"SELECT e'a'\n'\\'; b'", NULL},
        {"SELECT $1, $2::text", NULL},
        {"SELECT $$a;b$$", NULL},
        {"SELECT $tag$ a; $$ $tag $other$ $tag$", NULL},
        {"SELECT a$b$c FROM t", NULL},
        {"SELECT \"a;b\" FROM \"COMMIT\"", NULL},
        {"SELECT \"with \"\" quote;\" FROM t", NULL},
        {"SELECT U&'d\\0061t\\+000061'", NULL},
        {"SELECT u & b FROM t", NULL},
        {"SELECT 'set_config'", NULL},
        {"SELECT 1 -- set_config('a','b',false)", NULL},
        {"SELECT my_set_config(1), set_configs(1)", NULL},
        {"SELECT pg_advisory_xact_lock($1)", NULL},
        {"SELECT pg_try_advisory_xact_lock($1)", NULL},
        {"UPDATE t SET a = 1", NULL},
        {"LOCK TABLE t IN SHARE MODE", NULL},
        {"CALL p($1)", NULL},
        {"DO $$ BEGIN PERFORM 1; END $$", NULL},
        {"DO $x$ BEGIN UPDATE t /* ; */ SET a = 1; INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2; END "
         "$x$",
         NULL},
        {"CREATE FUNCTION f() RETURNS int LANGUAGE sql SET search_path = a AS $$ SELECT 1 $$", NULL},
        {"EXPLAIN SELECT 1", NULL},
        {"CREATE TRIGGER t BEFORE INSERT ON x EXECUTE FUNCTION f()", NULL},
        {"NOTIFY channel, 'payload'", NULL},
        {"SELECT 1e5, .5, 1.5e-3", NULL},
        {"SELECT 'caf\303\251' AS \303\251t\303\251", NULL},
        {"BEGINNING", NULL}, /* the server's syntax error, not ours */
        {"\"commit\"", NULL},
};

static const struct sample refused[] = {
        {"BEGIN", "begins with BEGIN"},
        {"begin transaction", "begins with BEGIN"},
        {"START TRANSACTION", "begins with START"},
        {"COMMIT", "begins with COMMIT"},
        {"cOmMiT AND CHAIN", "begins with COMMIT"},
        {"COMMIT;", "begins with COMMIT"},
        {"END", "begins with END"},
        {"ROLLBACK TO SAVEPOINT c", "begins with ROLLBACK"},
        {"ABORT", "begins with ABORT"},
        {"SAVEPOINT mine", "begins with SAVEPOINT"},
        {"RELEASE c", "begins with RELEASE"},
        {"PREPARE TRANSACTION 'x'", "begins with PREPARE"},
        {"EXECUTE i1", "begins with EXECUTE"},
        {"DEALLOCATE ALL", "begins with DEALLOCATE"},
        {"SET search_path = evil", "begins with SET"},
        {"SET LOCAL role x", "begins with SET"},
        {"RESET ALL", "begins with RESET"},
        {"DISCARD ALL", "begins with DISCARD"},
        {"LISTEN x", "begins with LISTEN"},
        {"UNLISTEN *", "begins with UNLISTEN"},
        {"LOAD 'x'", "begins with LOAD"},
        {"COPY t FROM STDIN", "begins with COPY"},
        {"VACUUM", "begins with VACUUM"},
        {" \f\v\r\n\tCOMMIT", "begins with COMMIT"},
        {"/* harmless */ COMMIT", "begins with COMMIT"},
        {"/**/COMMIT", "begins with COMMIT"},
        {"/* a /* b */ c */--x\nCOMMIT", "begins with COMMIT"},
        {"--x\rCOMMIT", "begins with COMMIT"},
        {"(COMMIT)", "begins with COMMIT"},
        {"( /* x */ ( COMMIT", "begins with COMMIT"},
        {"COMMIT--", "begins with COMMIT"},
        {"COMMIT/**/AND CHAIN", "begins with COMMIT"},
        {"", "is empty"},
        {"  -- nothing", "is empty"},
        {"; COMMIT", "is empty"},
        {"SELECT 1; COMMIT", MORE},
        {"SELECT 1;;", MORE},
        {"SELECT ';'; SELECT 1", MORE},
        {"SELECT E'\\''; COMMIT --'", MORE},
        {"SELECT '\\'; COMMIT --'", MORE},
        {"SELECT $a$ $$ $a$; COMMIT", MORE},
        {"SELECT $1; COMMIT", MORE},
        {"SELECT 1 /* x */; -- y\n COMMIT", MORE},
        {"SELECT 'abc", ENDS},
        {"SELECT E'abc\\'", ENDS},
        {"SELECT \"abc", ENDS},
        {"SELECT $$abc$", ENDS},
        {"SELECT $x$abc$y$", ENDS},
        {"SELECT 1 /* x /* y */", ENDS},
        {"/* x", ENDS},
        {"SELECT 1; /* x", ENDS},
        {"SELECT set_config('role', 'x', false)", SESSION},
        {"SELECT SET_CONFIG('role', 'x', true)", SESSION},
        {"SELECT pg_catalog.set_config('role', 'x', false)", SESSION},
        {"SELECT pg_catalog . /* x */ set_config ('role', 'x', false)", SESSION},
        {"SELECT \"set_config\"('role', 'x', false)", SESSION},
        {"INSERT INTO t SELECT set_config('a.b', 'c', false)", SESSION},
        {"SELECT pg_advisory_lock(1)", SESSION},
        {"SELECT pg_advisory_lock_shared(1)", SESSION},
        {"SELECT pg_try_advisory_lock(1)", SESSION},
        {"SELECT pg_try_advisory_lock_shared(1)", SESSION},
        {"SELECT pg_advisory_unlock(1)", SESSION},
        {"SELECT pg_advisory_unlock_all()", SESSION},
        {"DO $$ BEGIN PERFORM set_config('role', 'x', false); END $$", SESSION},
        {"do 'BEGIN PERFORM Set_Config(''role'', ''x'', false); END'", SESSION},
        {"DO $$ BEGIN SET ROLE x; END $$", SESSION},
        {"DO $x$ BEGIN PERFORM 1; /* x */ set local search_path = x; END $x$", SESSION},
        {"DO 'BEGIN IF true THEN RESET ALL; END IF; END'", SESSION},
        {"DO LANGUAGE plpgsql E'BEGIN LOOP LISTEN x; END LOOP; END'", SESSION},
        {"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $x$ SET ROLE x $x$", SESSION},
        {"CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $x$ SELECT pg_advisory_lock(1) $x$", SESSION},
        {"SELECT 1set_config('role', 'x', false)", SESSION},
        {"SELECT U&\"\\0073et_config\"('role', 'x', false)", "U&"},
        {"SELECT u&\"!0073et_config\" UESCAPE '!'", "U&"},
        {"EXPLAIN ANALYZE EXECUTE i1", "EXPLAIN"},
};

START_TEST(harmless_sql_is_accepted)
{
	struct error error = {0};

	ck_assert_msg(plugin_check_sql(accepted[_i].sql, false, &error), "%s: %s", accepted[_i].sql, error.text);
	ck_assert(plugin_check_sql(accepted[_i].sql, true, &error));
}
END_TEST

START_TEST(sql_that_reaches_beyond_its_event_is_refused)
{
	struct error error = {0};

	ck_assert_msg(!plugin_check_sql(refused[_i].sql, false, &error), "%s", refused[_i].sql);
	ck_assert_int_eq(error.code, ERROR_PLUGIN);
	ck_assert_msg(strstr(error.text, refused[_i].why), "%s: %s", refused[_i].sql, error.text);
}
END_TEST

START_TEST(isolation_permits_session_functions_and_nothing_else)
{
	bool is_session = strcmp(refused[_i].why, SESSION) == 0;

	ck_assert_int_eq(plugin_check_sql(refused[_i].sql, true, NULL), is_session);
}
END_TEST

/* Every prefix of every sample: no overrun (ASan), no endless loop. */
START_TEST(every_prefix_gets_an_answer)
{
	char text[256];
	size_t length = strlen(refused[_i].sql);

	for (size_t cut = 0; cut <= length; cut++) {
		memcpy(text, refused[_i].sql, cut);
		text[cut] = '\0';
		(void)!plugin_check_sql(text, false, NULL);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sql_check");
	TCase *tests = tcase_create("sql_check");
	int accepted_count = sizeof(accepted) / sizeof(accepted[0]),
	    refused_count = sizeof(refused) / sizeof(refused[0]);

	tcase_add_loop_test(tests, harmless_sql_is_accepted, 0, accepted_count);
	tcase_add_loop_test(tests, sql_that_reaches_beyond_its_event_is_refused, 0, refused_count);
	tcase_add_loop_test(tests, isolation_permits_session_functions_and_nothing_else, 0, refused_count);
	tcase_add_loop_test(tests, every_prefix_gets_an_answer, 0, refused_count);
	suite_add_tcase(suite, tests);
	return fixture_run(suite);
}
