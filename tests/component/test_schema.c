#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/assert.h"
#include "core/db/schema.h"
#include "tests/component/database.h"

static void apply(struct pg *pg, const char *role)
{
	struct error error;
	ck_assert_msg(schema_apply(pg, database_schema, role, NULL, &error), "%s", error.text);
}

static int version(struct pg *pg)
{
	struct error error;
	int found;
	ck_assert_msg(schema_version_found(pg, database_schema, &found, &error), "%s", error.text);
	return found;
}

START_TEST(nothing_applied_is_version_0_and_names_the_command)
{
	struct pg *pg = database_connect("postgres");
	struct error error;
	ck_assert_int_eq(version(pg), 0);
	ck_assert(!schema_check(pg, database_schema, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "idemctl schema apply"));
	pg_close(pg);
}
END_TEST

START_TEST(apply_makes_the_schema_and_everything_in_it)
{
	struct pg *pg = database_connect("postgres");
	struct error error;
	apply(pg, NULL);
	ck_assert_int_eq(version(pg), schema_version_wanted());
	ck_assert_msg(schema_check(pg, database_schema, &error), "%s", error.text);
	ck_assert_int_eq(database_number(pg, "SELECT count(*) FROM \"%s\".idem_schema", database_schema),
	                 schema_version_wanted());
	ck_assert_str_eq(database_ask(pg, "SELECT name FROM \"%s\".idem_schema WHERE version = 1", database_schema),
	                 "tables");
	pg_close(pg);
}
END_TEST

START_TEST(applying_again_changes_nothing)
{
	struct pg *pg = database_connect("postgres");
	char before[64];
	apply(pg, HOST_ROLE);
	snprintf(before, sizeof(before), "%s",
	         database_ask(pg, "SELECT max(applied_at) FROM \"%s\".idem_schema", database_schema));
	apply(pg, HOST_ROLE);
	ck_assert_str_eq(database_ask(pg, "SELECT max(applied_at) FROM \"%s\".idem_schema", database_schema), before);
	pg_close(pg);
}
END_TEST

static void *apply_in_thread(void *argument)
{
	struct pg *pg = argument;
	apply(pg, HOST_ROLE);
	return NULL;
}

START_TEST(four_at_once_apply_each_migration_once)
{
	pthread_t threads[4];
	struct pg *pg[4];
	struct pg *owner = database_connect("postgres");
	/* Makes them all arrive at the lock before anyone has it. */
	database_run(owner, "CREATE SCHEMA \"%s\"", database_schema);
	database_run(owner, "BEGIN");
	database_run(owner, "SELECT pg_advisory_xact_lock(hashtext('idem schema'))");
	for (int i = 0; i < 4; i++) {
		pg[i] = database_connect("postgres");
		PTHREAD_OK(pthread_create(&threads[i], NULL, apply_in_thread, pg[i]));
	}
	database_wait_for_waiters(owner, 4);
	database_run(owner, "COMMIT");
	for (int i = 0; i < 4; i++) {
		PTHREAD_OK(pthread_join(threads[i], NULL));
		pg_close(pg[i]);
	}
	ck_assert_int_eq(version(owner), schema_version_wanted());
	pg_close(owner);
}
END_TEST

START_TEST(a_failing_migration_leaves_nothing_behind)
{
	struct pg *pg = database_connect("postgres");
	struct error error;
	database_run(pg, "CREATE SCHEMA \"%s\"", database_schema);
	database_run(pg, "CREATE TABLE \"%s\".partition_state ()",
	             database_schema); /* in the way of 0001's last table */
	ck_assert(!schema_apply(pg, database_schema, NULL, NULL, &error));
	ck_assert_str_eq(error.sqlstate, "42P07");
	ck_assert_ptr_nonnull(strstr(error.text, "0001_tables"));
	ck_assert_int_eq(version(pg), 0);
	database_run(pg, "DROP TABLE \"%s\".partition_state", database_schema);
	apply(pg, NULL);
	pg_close(pg);
}
END_TEST

START_TEST(another_version_is_refused_in_both_directions)
{
	struct pg *pg = database_connect("postgres");
	struct error error;
	apply(pg, NULL);
	database_run(pg, "INSERT INTO \"%s\".idem_schema VALUES (%d, 'later')", database_schema,
	             schema_version_wanted() + 1);
	ck_assert(!schema_check(pg, database_schema, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "upgrade the program"));
	ck_assert(!schema_apply(pg, database_schema, NULL, NULL, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "upgrade the program"));
	database_run(pg, "DELETE FROM \"%s\".idem_schema WHERE version > 1", database_schema);
	ck_assert(!schema_check(pg, database_schema, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "idemctl schema apply"));
	pg_close(pg);
}
END_TEST

START_TEST(a_host_with_the_roles_rights_can_check_the_schema)
{
	struct pg *owner = database_connect("postgres"), *host = database_connect(HOST_ROLE);
	struct error error;
	apply(owner, HOST_ROLE);
	ck_assert_msg(schema_check(host, database_schema, &error), "%s", error.text);
	pg_close(host);
	pg_close(owner);
}
END_TEST

START_TEST(public_gets_nothing)
{
	struct pg *pg = database_connect("postgres");
	apply(pg, HOST_ROLE);
	ck_assert_str_eq(
	        database_ask(pg,
	                     "SELECT string_agg(p.proname, ' ') FROM pg_proc p WHERE p.pronamespace = "
	                     "'\"%s\"'::regnamespace AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) "
	                     "WHERE grantee = 0))",
	                     database_schema),
	        "");
	ck_assert_str_eq(database_ask(pg,
	                              "SELECT string_agg(c.relname, ' ') FROM pg_class c, aclexplode(c.relacl) a WHERE "
	                              "c.relnamespace = '\"%s\"'::regnamespace AND a.grantee = 0",
	                              database_schema),
	                 "");
	pg_close(pg);
}
END_TEST

START_TEST(every_function_that_runs_as_its_owner_has_a_fixed_search_path)
{
	struct pg *pg = database_connect("postgres");
	apply(pg, NULL);
	ck_assert_str_eq(
	        database_ask(pg,
	                     "SELECT string_agg(proname, ' ') FROM pg_proc WHERE pronamespace = '\"%s\"'::regnamespace "
	                     "AND prosecdef AND NOT coalesce(proconfig, '{}')::text LIKE '%%search_path=%%pg_temp%%'",
	                     database_schema),
	        "");
	pg_close(pg);
}
END_TEST

START_TEST(status_tells_what_is_missing)
{
	struct pg *pg = database_connect("postgres");
	struct error error;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert(schema_print_status(pg, database_schema, false, out, &error));
	apply(pg, NULL);
	ck_assert(schema_print_status(pg, database_schema, true, out, &error));
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "0001_tables               missing"));
	ck_assert_ptr_nonnull(strstr(text, "{\"version\":1,\"name\":\"tables\",\"applied\":true}"));
	free(text);
	pg_close(pg);
}
END_TEST

int main(int argc, char **argv)
{
	(void)argc;
	Suite *suite = suite_create("schema");
	TCase *tests = tcase_create("schema");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, database_setup_empty, database_teardown);
	tcase_add_test(tests, nothing_applied_is_version_0_and_names_the_command);
	tcase_add_test(tests, apply_makes_the_schema_and_everything_in_it);
	tcase_add_test(tests, applying_again_changes_nothing);
	tcase_add_test(tests, four_at_once_apply_each_migration_once);
	tcase_add_test(tests, a_failing_migration_leaves_nothing_behind);
	tcase_add_test(tests, another_version_is_refused_in_both_directions);
	tcase_add_test(tests, a_host_with_the_roles_rights_can_check_the_schema);
	tcase_add_test(tests, public_gets_nothing);
	tcase_add_test(tests, every_function_that_runs_as_its_owner_has_a_fixed_search_path);
	tcase_add_test(tests, status_tells_what_is_missing);
	suite_add_tcase(suite, tests);
	return database_main(argv, suite);
}
