#include "core/db/dedup_print.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/db/dedup_store.h"

static char *dedup_quote(struct pg *pg, const char *schema)
{
	char *quoted = PQescapeIdentifier(pg_handle(pg), schema, strlen(schema));
	ASSERT(quoted);
	return quoted;
}

static bool dedup_print_json(struct pg *pg, const char *schema, const char *group, FILE *out, struct error *error)
{
	PGresult *result =
	        dedup_run(pg, DEDUP_VALUES(group), error,
	                  "SELECT json_build_object('groups', "
	                  "coalesce((SELECT json_agg(g ORDER BY consumer_group) FROM %s.dedup_group_status g "
	                  "WHERE $1::text IS NULL OR consumer_group = $1), '[]'), 'days', "
	                  "coalesce((SELECT json_agg(d ORDER BY consumer_group, starts) FROM %s.dedup_day_status d "
	                  "WHERE $1::text IS NULL OR consumer_group = $1), '[]'))",
	                  schema, schema);
	if (result)
		fprintf(out, "%s\n", PQgetvalue(result, 0, 0));
	PQclear(result);
	return result != NULL;
}

static bool dedup_print_days(struct pg *pg, const char *schema, const char *group, FILE *out, struct error *error)
{
	PGresult *result =
	        dedup_run(pg, DEDUP_VALUES(group), error,
	                  "SELECT table_name, starts, coalesce(pg_size_pretty(bytes), 'gone') FROM %s.dedup_day_status "
	                  "WHERE consumer_group = $1 ORDER BY starts",
	                  schema);
	if (!result)
		return false;
	for (int row = 0; row < PQntuples(result); row++)
		fprintf(out, "  %-40s from %s  %10s\n", PQgetvalue(result, row, 0), PQgetvalue(result, row, 1),
		        PQgetvalue(result, row, 2));
	PQclear(result);
	return true;
}

static bool dedup_print_text(struct pg *pg, const char *schema, const char *group, FILE *out, struct error *error)
{
	PGresult *result = dedup_run(pg, DEDUP_VALUES(group), error,
	                             "SELECT consumer_group, retention, base, floor, coalesce(forgets_before::text, "
	                             "'(nothing yet)'), coalesce(furthest_behind, '(no partition)') "
	                             "FROM %s.dedup_group_status WHERE $1::text IS NULL OR consumer_group = $1 "
	                             "ORDER BY consumer_group",
	                             schema);
	bool is_fine = result != NULL;
	for (int row = 0; is_fine && row < PQntuples(result); row++) {
		fprintf(out,
		        "group %s: retention %s, base %s, floor %s, forgets what was processed before %s, furthest "
		        "behind %s\n",
		        PQgetvalue(result, row, 0), PQgetvalue(result, row, 1), PQgetvalue(result, row, 2),
		        PQgetvalue(result, row, 3), PQgetvalue(result, row, 4), PQgetvalue(result, row, 5));
		is_fine = dedup_print_days(pg, schema, PQgetvalue(result, row, 0), out, error);
	}
	PQclear(result);
	return is_fine;
}

bool dedup_print_status(struct pg *pg, const char *schema, const char *group, bool json, FILE *out, struct error *error)
{
	char *quoted = dedup_quote(pg, schema);
	bool is_fine = json ? dedup_print_json(pg, quoted, group, out, error)
	                    : dedup_print_text(pg, quoted, group, out, error);
	PQfreemem(quoted);
	return is_fine;
}

bool dedup_print_expire(struct pg *pg, const struct dedup_options *options, bool json, FILE *out, struct error *error)
{
	size_t dropped;
	struct dedup *dedup = dedup_open(pg, options, error);
	bool is_fine = dedup && dedup_tend(dedup, pg, &dropped, error);
	if (is_fine && json)
		fprintf(out, "{\"group\":\"%s\",\"days_forgotten\":%zu,\"days_left\":%zu}\n", options->group, dropped,
		        dedup_day_count(dedup));
	else if (is_fine)
		fprintf(out, "group %s: %zu days forgotten, %zu left\n", options->group, dropped,
		        dedup_day_count(dedup));
	dedup_close(dedup);
	return is_fine;
}
