/* What the operator's tool does with the index. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/db/letters_parts.h"

enum { NUMBER_BYTES = 24 };

struct number { /* as a parameter; absent for -1 */
	char text[NUMBER_BYTES];
};

static struct number number_of(int64_t value)
{
	struct number number;
	snprintf(number.text, sizeof(number.text), "%" PRId64, value);
	return number;
}

static const char *given(const struct number *number)
{
	return strcmp(number->text, "-1") == 0 ? NULL : number->text;
}

/* ---- arrays as text: what is in them is quoted ---- */

static void put_quoted(const char *text, FILE *out)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('"', out);
}

static char *array_of_texts(const char *const *items, size_t count)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	ASSERT(out);
	for (size_t i = 0; i < count; i++) {
		putc(i ? ',' : '{', out);
		put_quoted(items[i], out);
	}
	fputs(count ? "}" : "{}", out);
	ASSERT(fclose(out) == 0);
	return text;
}

static char *array_of_places(struct letter_places places, bool offsets)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	ASSERT(out);
	putc('{', out);
	for (size_t i = 0; i < places.count; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "",
		        offsets ? places.items[i].offset : (int64_t)places.items[i].partition);
	putc('}', out);
	ASSERT(fclose(out) == 0);
	return text;
}

/* ---- reading ---- */

enum {
	ROW_PARTITION,
	ROW_OFFSET,
	ROW_DIED,
	ROW_KEY,
	ROW_UUID,
	ROW_GIVEN_ID,
	ROW_HASH,
	ROW_TYPE,
	ROW_REASON,
	ROW_ERROR,
	ROW_TOPIC,
	ROW_ORIGIN_PARTITION,
	ROW_ORIGIN_OFFSET,
	ROW_ORIGIN_MS,
	ROW_ATTEMPT,
	ROW_ROUND,
	ROW_STATE,
	ROW_HAS_PAYLOAD,
	ROW_COPIES
};

#define EACH                                                                                                           \
	"SELECT * FROM (SELECT DISTINCT ON (i.ident) i.dlq_partition, i.dlq_offset, "                                  \
	"(extract(epoch FROM i.died_at) * 1000)::bigint, i.event_id, i.event_uuid, i.given_id, i.content_hash, "       \
	"i.event_type, i.reason, i.error, i.origin_topic, i.origin_partition, i.origin_offset, "                       \
	"(extract(epoch FROM i.origin_at) * 1000)::bigint, i.attempt, i.round, i.state, i.payload IS NOT NULL, "       \
	"count(*) OVER (PARTITION BY i.ident) FROM (SELECT d.*, coalesce(event_id || ' ' || content_hash, "            \
	"concat_ws('/', origin_topic, origin_partition, origin_offset)) COLLATE \"C\" AS ident "                       \
	"FROM %s.dead_letter d WHERE consumer_group = $1 "                                                             \
	"AND ($2::bigint IS NULL OR died_at >= to_timestamp($2::bigint / 1000.0)) "                                    \
	"AND ($3::bigint IS NULL OR died_at < to_timestamp($3::bigint / 1000.0)) "                                     \
	"AND ($4::integer IS NULL OR (dlq_partition, dlq_offset) = ($4::integer, $5::bigint))) i "                     \
	"ORDER BY i.ident, i.round DESC, i.dlq_partition, i.dlq_offset) l "                                            \
	"WHERE ($6::text[] IS NULL OR event_id = ANY ($6::text[]) OR given_id = ANY ($6::text[]) "                     \
	"OR event_uuid::text = ANY (lower($6::text[]::text)::text[])) AND ($7::text IS NULL OR reason = $7) "          \
	"AND ($8::text IS NULL OR origin_topic = $8) AND ($9::integer IS NULL OR origin_partition = $9::integer) "     \
	"AND ($10::bigint IS NULL OR origin_offset = $10::bigint) AND ($11::boolean IS NOT TRUE OR state = 'open') "   \
	"ORDER BY dlq_partition, dlq_offset LIMIT $12::bigint"

static struct bytes field(const PGresult *result, int row, int column)
{
	if (PQgetisnull(result, row, column))
		return BYTES_NONE;
	return (struct bytes){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

static int64_t number_in(const PGresult *result, int row, int column)
{
	return PQgetisnull(result, row, column) ? -1 : strtoll(PQgetvalue(result, row, column), NULL, 10);
}

static struct letter_row row_of(const PGresult *result, int row)
{
	return (struct letter_row){
	        .letter =
	                {
	                        .partition = (int32_t)number_in(result, row, ROW_PARTITION),
	                        .offset = number_in(result, row, ROW_OFFSET),
	                        .died_ms = number_in(result, row, ROW_DIED),
	                        .key = field(result, row, ROW_KEY),
	                        .uuid = field(result, row, ROW_UUID),
	                        .given_id = field(result, row, ROW_GIVEN_ID),
	                        .type = field(result, row, ROW_TYPE),
	                        .reason = field(result, row, ROW_REASON),
	                        .error_text = field(result, row, ROW_ERROR),
	                        .content_hash = strtoll(PQgetvalue(result, row, ROW_HASH), NULL, 10),
	                        .origin_topic = PQgetvalue(result, row, ROW_TOPIC),
	                        .origin_partition = (int32_t)number_in(result, row, ROW_ORIGIN_PARTITION),
	                        .origin_offset = number_in(result, row, ROW_ORIGIN_OFFSET),
	                        .origin_ms = number_in(result, row, ROW_ORIGIN_MS),
	                        .attempt = (uint32_t)number_in(result, row, ROW_ATTEMPT),
	                        .round = (uint32_t)number_in(result, row, ROW_ROUND),
	                },
	        .has_payload = PQgetvalue(result, row, ROW_HAS_PAYLOAD)[0] == 't',
	        .copies = (size_t)number_in(result, row, ROW_COPIES),
	        .state = PQgetvalue(result, row, ROW_STATE),
	};
}

static PGresult *select_each(const struct letters *letters, struct pg *pg, const struct letter_filter *filter,
                             struct error *error)
{
	struct number since = number_of(filter->since_ms), until = number_of(filter->until_ms),
	              partition = number_of(filter->partition), offset = number_of(filter->offset),
	              origin_partition = number_of(filter->origin_partition),
	              origin_offset = number_of(filter->origin_offset), limit = number_of((int64_t)LETTERS_MAX + 1);
	char *ids = filter->ids ? array_of_texts(filter->ids, filter->id_count) : NULL, *sql;
	const char *const values[] = {letters->group,
	                              given(&since),
	                              given(&until),
	                              given(&partition),
	                              given(&offset),
	                              ids,
	                              filter->reason,
	                              filter->origin_topic,
	                              given(&origin_partition),
	                              given(&origin_offset),
	                              filter->open ? "t" : "f",
	                              limit.text};
	ASSERT(asprintf(&sql, EACH, letters->schema) > 0);
	PGresult *result = pg_run(pg, sql, values, sizeof(values) / sizeof(values[0]), error);
	free(ids);
	free(sql);
	return result;
}

bool letters_each(struct letters *letters, struct pg *pg, const struct letter_filter *filter, letters_visit *visit,
                  void *self, struct error *error)
{
	PGresult *result = select_each(letters, pg, filter, error);
	if (!result)
		return error_wrap(error, "reading the dead letters of group %s", letters->group);
	size_t count = (size_t)PQntuples(result);
	bool is_fine =
	        count <= LETTERS_MAX || error_set(error, ERROR_LIMIT,
	                                          "group %s has more than %d dead letters: take them in parts, by the "
	                                          "time they died (--since, --until)",
	                                          letters->group, LETTERS_MAX);
	bool goes_on = is_fine;
	for (int i = 0; goes_on && i < (int)count; i++) {
		struct letter_row row = row_of(result, i);
		goes_on = visit(self, &row);
	}
	PQclear(result);
	return is_fine;
}

bool letters_payload(struct letters *letters, struct pg *pg, struct letter_place place, struct arena *arena,
                     struct bytes *out_payload, struct error *error)
{
	struct number partition = number_of(place.partition), offset = number_of(place.offset);
	const char *const values[] = {letters->group, partition.text, offset.text};
	char *sql;
	ASSERT(asprintf(&sql,
	                "SELECT payload FROM %s.dead_letter WHERE consumer_group = $1 AND dlq_partition = $2::integer "
	                "AND dlq_offset = $3::bigint AND payload IS NOT NULL",
	                letters->schema) > 0);
	PGresult *result = pg_run(pg, sql, values, 3, error);
	free(sql);
	if (!result)
		return error_wrap(error, "reading the payload of dead letter %s/%s", partition.text, offset.text);
	*out_payload = BYTES_NONE;
	if (PQntuples(result) == 1) {
		size_t len;
		unsigned char *bytes = PQunescapeBytea((unsigned char *)PQgetvalue(result, 0, 0), &len);
		ASSERT(bytes);
		*out_payload = arena_copy(arena, (struct bytes){(char *)bytes, len});
		PQfreemem(bytes);
	}
	PQclear(result);
	return true;
}

/* ---- writing ---- */

/* $1 the group, $2 and $3 the places, $4 and $5 more. */
static PGresult *run_on(const struct letters *letters, struct pg *pg, const char *sql, const char *const more[2],
                        struct letter_places places, struct error *error)
{
	char *partitions = array_of_places(places, false), *offsets = array_of_places(places, true);
	const char *const values[] = {letters->group, partitions, offsets, more[0], more[1]};
	PGresult *result = pg_run(pg, sql, values, 5, error);
	free(partitions);
	free(offsets);
	return result;
}

#define MARK                                                                                                           \
	"WITH marked AS (UPDATE %s.dead_letter d SET state = $4, state_at = now(), "                                   \
	"state_by = concat_ws(', ', $5::text, current_user) FROM unnest($2::bigint[], $3::bigint[]) AS u (partition, " \
	"at) "                                                                                                         \
	"WHERE d.consumer_group = $1 AND d.dlq_partition = u.partition AND d.dlq_offset = u.at "                       \
	"RETURNING d.event_id, d.dlq_partition, d.dlq_offset) "                                                        \
	"INSERT INTO %s.dead_letter_action (actor, action, consumer_group, event_id, dlq_partition, dlq_offset) "      \
	"SELECT concat_ws(', ', $5::text, current_user), $4, $1, event_id, dlq_partition, dlq_offset FROM marked"

#define KEEP_ONLY                                                                                                      \
	"DELETE FROM %s.dead_letter d WHERE d.consumer_group = $1 "                                                    \
	"AND d.died_at < to_timestamp($4::bigint / 1000.0) AND $5::text IS NULL AND NOT EXISTS (SELECT FROM "          \
	"unnest($2::bigint[], $3::bigint[]) AS u (partition, at) WHERE u.partition = d.dlq_partition "                 \
	"AND u.at = d.dlq_offset)"

bool letters_mark(struct letters *letters, struct pg *pg, const char *action, const char *actor,
                  struct letter_places places, struct error *error)
{
	const char *const more[] = {action, actor};
	char *sql;
	ASSERT(asprintf(&sql, MARK, letters->schema, letters->schema) > 0);
	PGresult *result = run_on(letters, pg, sql, more, places, error);
	free(sql);
	PQclear(result);
	return result || error_wrap(error, "noting what was %s", action);
}

bool letters_keep_only(struct letters *letters, struct pg *pg, struct letter_places places, int64_t before_ms,
                       size_t *out_count, struct error *error)
{
	struct number before = number_of(before_ms);
	const char *const more[] = {before.text, NULL};
	char *sql;
	ASSERT(asprintf(&sql, KEEP_ONLY, letters->schema) > 0);
	PGresult *result = run_on(letters, pg, sql, more, places, error);
	free(sql);
	if (!result)
		return error_wrap(error, "forgetting rows of dead letters that are gone");
	*out_count = (size_t)strtoull(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	return true;
}
