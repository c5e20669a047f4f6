#include "core/db/parked_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/escape.h"
#include "core/db/parked.h"

#define NAMED                                                                                                          \
	"consumer_group = $1 AND ($2::text IS NULL OR key = ANY (ARRAY[convert_to('key:' || $2, 'UTF8'), "             \
	"convert_to($2, 'UTF8')]))"
#define TIME(column) "to_char(" column " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
#define COLUMNS                                                                                                        \
	"SELECT k.key, k.events, " TIME("k.due") ", e.attempt, e.reason, e.event_id, e.topic, e.partition, "           \
	                                         "e.\"offset\", " TIME("e.at") ", count(*) OVER () "

enum { KEY, EVENTS, DUE, ATTEMPT, REASON, EVENT_ID, TOPIC, PARTITION, OFFSET, PARKED, MATCHED };

static PGresult *run(struct pg *pg, const struct parked_choice *choice, const char *text, const char *const *values,
                     int count, struct error *error)
{
	char *sql = parked_sql(pg, text, choice->schema);
	PGresult *result = pg_run(pg, sql, values, count, error);
	free(sql);
	return result;
}

static const char keys_sql[] = COLUMNS
        "FROM @.parked_key k, LATERAL (SELECT * FROM @.parked_event e WHERE e.consumer_group = k.consumer_group "
        "AND e.key = k.key ORDER BY e.place LIMIT 1) e WHERE k.consumer_group = $1 AND $2::text IS NULL "
        "ORDER BY k.due, k.key LIMIT nullif($3::bigint, 0)";
static const char events_sql[] =
        COLUMNS "FROM @.parked_key k JOIN @.parked_event e USING (consumer_group, key) WHERE " NAMED
                " ORDER BY key, e.place LIMIT nullif($3::bigint, 0)";

static struct bytes field(const PGresult *result, int row, int column)
{
	return (struct bytes){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

/* Escaped and filled up with spaces. */
static void print_column(struct bytes text, int width, FILE *out)
{
	char *shown;
	size_t len;
	FILE *memory = open_memstream(&shown, &len);
	ASSERT(memory);
	escape_text_cut(text, 60, memory);
	ASSERT(fclose(memory) == 0);
	fprintf(out, "%-*s ", width, shown);
	free(shown);
}

static void print_line(const PGresult *result, int row, struct bytes key, FILE *out)
{
	char origin[320];
	snprintf(origin, sizeof(origin), "%s/%s/%s", PQgetvalue(result, row, TOPIC), PQgetvalue(result, row, PARTITION),
	         PQgetvalue(result, row, OFFSET));
	print_column(key, 24, out);
	fprintf(out, "%7s %-24s %7s ", PQgetvalue(result, row, EVENTS), PQgetvalue(result, row, DUE),
	        PQgetvalue(result, row, ATTEMPT));
	print_column(field(result, row, REASON), 20, out);
	print_column(field(result, row, EVENT_ID), 36, out);
	print_column(bytes_from_string(origin), 32, out);
	fprintf(out, "%s\n", PQgetvalue(result, row, PARKED));
}

static void print_member(const char *name, struct bytes text, FILE *out)
{
	fprintf(out, ",\"%s\":", name);
	escape_json(text, out);
}

static void print_json(const PGresult *result, int row, struct bytes key, FILE *out)
{
	fputs("{\"key\":", out);
	escape_json(key, out);
	fputs(",\"key_base64\":", out);
	escape_json_base64(key, out);
	fprintf(out, ",\"events\":%s", PQgetvalue(result, row, EVENTS));
	print_member("due", field(result, row, DUE), out);
	fprintf(out, ",\"attempts\":%s", PQgetvalue(result, row, ATTEMPT));
	print_member("reason", field(result, row, REASON), out);
	print_member("event_id", field(result, row, EVENT_ID), out);
	fputs(",\"origin\":{\"topic\":", out);
	escape_json(field(result, row, TOPIC), out);
	fprintf(out, ",\"partition\":%s,\"offset\":%s}", PQgetvalue(result, row, PARTITION),
	        PQgetvalue(result, row, OFFSET));
	print_member("parked", field(result, row, PARKED), out);
	putc('}', out);
}

static void print_row(const PGresult *result, int row, bool is_json, FILE *out)
{
	size_t len;
	unsigned char *key = PQunescapeBytea((unsigned char *)PQgetvalue(result, row, KEY), &len);
	ASSERT(key);
	if (is_json)
		print_json(result, row, (struct bytes){(char *)key, len}, out);
	else
		print_line(result, row, (struct bytes){(char *)key, len}, out);
	PQfreemem(key);
}

bool parked_print(struct pg *pg, const struct parked_choice *choice, FILE *out, struct error *error)
{
	char limit[24];
	snprintf(limit, sizeof(limit), "%" PRId64, choice->limit);
	const char *const values[] = {choice->group, choice->key, limit};
	PGresult *result = run(pg, choice, choice->key ? events_sql : keys_sql, values, 3, error);
	if (!result)
		return error_wrap(error, "listing what is parked");
	int rows = PQntuples(result);
	const char *matched = rows ? PQgetvalue(result, 0, MATCHED) : "0";
	if (choice->is_json)
		fputs("{\"parked\":[", out);
	else if (rows > 0)
		fprintf(out, "%-24s %7s %-24s %7s %-20s %-36s %-32s %s\n", "key", "events", "due", "tries", "reason",
		        "first event", "origin", "parked");
	for (int row = 0; row < rows; row++) {
		if (choice->is_json && row > 0)
			fputs(",\n", out);
		print_row(result, row, choice->is_json, out);
	}
	if (choice->is_json)
		fprintf(out, "],\"matched\":%s}\n", matched);
	else
		fprintf(out, "%s %s%s%s\n", matched, choice->key ? "event" : "key",
		        strcmp(matched, "1") == 0 ? "" : "s",
		        rows < strtol(matched, NULL, 10) ? ", not all of them shown: see --limit" : "");
	PQclear(result);
	return true;
}

bool parked_release(struct pg *pg, const struct parked_choice *choice, bool dry_run, size_t *out_keys,
                    struct error *error)
{
	const char *const values[] = {choice->group, choice->key};
	PGresult *result = run(pg, choice,
	                       dry_run ? "SELECT key FROM @.parked_key WHERE " NAMED
	                               : "WITH chosen AS (SELECT consumer_group, key FROM @.parked_key WHERE " NAMED
	                                 " ORDER BY key FOR UPDATE) UPDATE @.parked_key k SET due = clock_timestamp() "
	                                 "FROM chosen c WHERE k.consumer_group = c.consumer_group AND k.key = c.key "
	                                 "RETURNING k.key",
	                       values, 2, error);
	if (!result)
		return error_wrap(error, "releasing what is parked");
	*out_keys = (size_t)PQntuples(result);
	PQclear(result);
	return true;
}
