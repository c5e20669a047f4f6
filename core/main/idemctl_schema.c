/* idemctl schema: the migrations. */
#include "core/db/schema.h"
#include "core/main/idemctl.h"

/* NULL: told on stderr, *out_status says how to exit. */
static struct pg *open_database(const struct ctl *ctl, int *out_status)
{
	struct config_database database = ctl_database(ctl);
	struct error error;
	struct pg *pg = pg_open(&database, "idemctl", 0, &error);

	if (!pg) {
		ctl_fail(&error);
		*out_status = CTL_SERVICE_MISSING;
	}
	return pg;
}

static int print_json_result(int version)
{
	printf("{\"version\":%d,\"wanted\":%d}\n", version, schema_version_wanted());
	return CTL_OK;
}

static int apply(const struct ctl *ctl, struct pg *pg)
{
	const char *schema = ctl->config->database.schema;
	struct error error;
	int version;

	if (!schema_apply(pg, schema, ctl->role, ctl->json ? NULL : stdout, &error) ||
	    !schema_version_found(pg, schema, &version, &error))
		return ctl_fail(&error);
	if (ctl->json)
		return print_json_result(version);
	printf("schema %s is at version %d\n", schema, version);
	if (!ctl->role)
		puts("no role was granted anything: give --role NAME when idemd connects as another role");
	return CTL_OK;
}

int ctl_schema_apply(const struct ctl *ctl)
{
	int status;
	struct pg *pg = open_database(ctl, &status);

	if (!pg)
		return status;
	status = apply(ctl, pg);
	pg_close(pg);
	return status;
}

static int print_status(const struct ctl *ctl, struct pg *pg)
{
	const char *schema = ctl->config->database.schema;
	struct error error;
	int version;

	if (!schema_print_status(pg, schema, ctl->json, stdout, &error) ||
	    !schema_version_found(pg, schema, &version, &error))
		return ctl_fail(&error);
	return version == schema_version_wanted() ? CTL_OK : CTL_NO;
}

int ctl_schema_status(const struct ctl *ctl)
{
	int status;
	struct pg *pg = open_database(ctl, &status);

	if (!pg)
		return status;
	status = print_status(ctl, pg);
	pg_close(pg);
	return status;
}
