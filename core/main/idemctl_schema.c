/* idemctl schema: the migrations. */
#include "core/db/schema.h"
#include "core/main/idemctl.h"

static int apply(const struct ctl *ctl, struct pg *pg)
{
	const char *schema = ctl->config->database.schema;
	struct error error;
	int version;

	if (!schema_apply(pg, schema, ctl->role, ctl->json ? NULL : stdout, &error) ||
	    !schema_version_found(pg, schema, &version, &error))
		return ctl_fail(&error);
	if (ctl->json)
		printf("{\"found\":%d,\"wanted\":%d}\n", version, schema_version_wanted());
	else
		printf("schema %s is at version %d\n", schema, version);
	return CTL_OK;
}

int ctl_schema_apply(const struct ctl *ctl)
{
	return ctl_with_database(ctl, apply);
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
	return ctl_with_database(ctl, print_status);
}
