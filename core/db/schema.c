#include "core/db/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/db/migrations.h"

int schema_version_wanted(void)
{
	int count = 0;
	while (migrations[count].name)
		count++;
	return count;
}

static bool schema_run(struct pg *pg, const char *sql, const char *const *values, int count, struct error *error)
{
	PGresult *result = pg_run(pg, sql, values, count, error);
	PQclear(result);
	return result != NULL;
}

/* The answer of a statement of one row and one column, "" for NULL; freed by the caller. */
static char *schema_ask(struct pg *pg, const char *sql, const char *schema, struct error *error)
{
	PGresult *result = pg_run(pg, sql, &schema, 1, error);
	if (!result)
		return NULL;
	char *answer = strdup(PQntuples(result) == 1 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	ASSERT(answer);
	return answer;
}

static char *schema_quote(struct pg *pg, const char *name)
{
	char *quoted = PQescapeIdentifier(pg_handle(pg), name, strlen(name));
	ASSERT(quoted);
	return quoted;
}

bool schema_version_found(struct pg *pg, const char *schema, int *out_version, struct error *error)
{
	char *table = schema_ask(pg, "SELECT to_regclass(format('%I.idem_schema', $1::text))", schema, error);
	if (!table)
		return false;
	bool is_there = table[0] != '\0';
	free(table);
	if (!is_there) {
		*out_version = 0;
		return true;
	}
	char *quoted = schema_quote(pg, schema), sql[256];
	snprintf(sql, sizeof(sql), "SELECT coalesce(max(version), 0) FROM %s.idem_schema", quoted);
	PQfreemem(quoted);
	PGresult *result = pg_run(pg, sql, NULL, 0, error);
	if (!result)
		return false;
	*out_version = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return true;
}

/* One at a time; and whatever the scripts name or make is in that schema. */
static bool schema_enter(struct pg *pg, const char *schema, struct error *error)
{
	return schema_run(pg, "SELECT pg_advisory_xact_lock(hashtext('idem schema'))", NULL, 0, error) &&
	       schema_run(pg, "SELECT set_config('search_path', format('%I, pg_temp', $1::text), true)", &schema, 1,
	                  error);
}

/* Runs step in a transaction. */
struct schema_step {
	const char *schema, *role;
	int version; /* of a migration */
	FILE *progress;
};
static bool schema_in_transaction(struct pg *pg, const struct schema_step *step,
                                  bool (*run)(struct pg *, const struct schema_step *, struct error *),
                                  struct error *error)
{
	if (!pg_run_script(pg, "BEGIN ISOLATION LEVEL READ COMMITTED", error))
		return false;
	if (schema_enter(pg, step->schema, error) && run(pg, step, error) && pg_run_script(pg, "COMMIT", error))
		return true;
	PQclear(pg_run(pg, "ROLLBACK", NULL, 0, NULL)); /* the first error tells more than one of this */
	return false;
}

static bool schema_migrate(struct pg *pg, const struct schema_step *step, struct error *error)
{
	const struct migration *migration = &migrations[step->version - 1];
	char version[16];
	int found;
	if (!schema_version_found(pg, step->schema, &found, error))
		return false;
	if (found >= step->version) /* somebody else was quicker */
		return true;
	snprintf(version, sizeof(version), "%d", step->version);
	const char *const values[] = {version, migration->name};
	if (!pg_run_script(pg, migration->sql, error) ||
	    !schema_run(pg, "INSERT INTO idem_schema (version, name) VALUES ($1::int, $2)", values, 2, error))
		return error_wrap(error, "migration %04d_%s", step->version, migration->name);
	if (step->progress)
		fprintf(step->progress, "applied %04d_%s\n", step->version, migration->name);
	return true;
}

static bool schema_grant(struct pg *pg, const struct schema_step *step, struct error *error)
{
	const char *const values[] = {step->schema, step->role};
	if (!schema_run(pg, "SELECT set_config('idem.schema', $1, true), set_config('idem.role', $2, true)", values, 2,
	                error) ||
	    !pg_run_script(pg, migrations_grants, error))
		return error_wrap(error, "granting to role %s", step->role);
	if (step->progress)
		fprintf(step->progress, "granted to %s\n", step->role);
	return true;
}

/* CREATE SCHEMA IF NOT EXISTS would ask for the right to make it even when it is there. */
static bool schema_make(struct pg *pg, const char *schema, struct error *error)
{
	char *found = schema_ask(pg, "SELECT to_regnamespace(format('%I', $1::text))", schema, error);
	if (!found)
		return false;
	bool is_there = found[0] != '\0';
	free(found);
	if (is_there)
		return true;
	char *quoted = schema_quote(pg, schema), sql[256];
	snprintf(sql, sizeof(sql), "CREATE SCHEMA IF NOT EXISTS %s", quoted);
	PQfreemem(quoted);
	return pg_run_script(pg, sql, error);
}

static bool schema_newer(const char *schema, int found, struct error *error)
{
	return error_set(error, ERROR_INVALID,
	                 "schema \"%s\" is at version %d, this program knows versions up to %d: upgrade the program",
	                 schema, found, schema_version_wanted());
}

bool schema_apply(struct pg *pg, const char *schema, const char *role, FILE *progress, struct error *error)
{
	struct schema_step step = {.schema = schema, .role = role, .progress = progress};
	int found;
	if (!schema_make(pg, schema, error) || !schema_version_found(pg, schema, &found, error))
		return false;
	if (found > schema_version_wanted())
		return schema_newer(schema, found, error);
	for (step.version = found + 1; step.version <= schema_version_wanted(); step.version++)
		if (!schema_in_transaction(pg, &step, schema_migrate, error))
			return false;
	return !role || schema_in_transaction(pg, &step, schema_grant, error);
}

bool schema_check(struct pg *pg, const char *schema, struct error *error)
{
	int found, wanted = schema_version_wanted();
	if (!schema_version_found(pg, schema, &found, error))
		return error_wrap(error, "reading the version of schema \"%s\"", schema);
	if (found == wanted)
		return true;
	if (found > wanted)
		return schema_newer(schema, found, error);
	if (found == 0)
		return error_set(error, ERROR_INVALID,
		                 "schema \"%s\" has no tables of idem: run `idemctl schema apply`", schema);
	return error_set(error, ERROR_INVALID,
	                 "schema \"%s\" is at version %d, this program needs %d: run `idemctl schema apply`", schema,
	                 found, wanted);
}

bool schema_print_status(struct pg *pg, const char *schema, bool json, FILE *out, struct error *error)
{
	int found, wanted = schema_version_wanted();
	if (!schema_version_found(pg, schema, &found, error))
		return false;
	if (json) {
		fprintf(out, "{\"found\":%d,\"wanted\":%d,\"migrations\":[", found, wanted);
		for (int i = 0; i < wanted; i++)
			fprintf(out, "%s{\"version\":%d,\"name\":\"%s\",\"applied\":%s}", i ? "," : "", i + 1,
			        migrations[i].name, i < found ? "true" : "false");
		fprintf(out, "]}\n");
		return true;
	}
	fprintf(out, "schema \"%s\" is at version %d of %d\n", schema, found, wanted);
	for (int i = 0; i < wanted; i++)
		fprintf(out, "%04d_%-20s %s\n", i + 1, migrations[i].name, i < found ? "applied" : "missing");
	return true;
}
