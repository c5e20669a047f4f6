/* The care of the tables: progress reported, days made ahead, what is old forgotten. */
#include <inttypes.h>
#include <string.h>

#include "core/base/log.h"
#include "core/db/dedup_store.h"

/* Rows per DELETE, and DELETEs per call: the side connection has other work too. */
#define DELETE_ROWS "10000"
#define DELETES_MAX 20

static bool dedup_queue_progress(struct dedup *dedup, struct pg *side, const struct dedup_progress *row,
                                 struct error *error)
{
	struct dedup_number partition = dedup_number(row->partition), next_offset = dedup_number(row->next_offset),
	                    low = dedup_number(row->oldest_ms), now = dedup_number(dedup_now_ms(dedup)),
	                    known = dedup_number(row->known_offset);
	const char *const values[] = {dedup->group,
	                              row->topic,
	                              partition.text,
	                              next_offset.text,
	                              row->oldest_ms < 0 ? NULL : low.text,
	                              now.text,
	                              known.text,
	                              row->by_group ? "t" : "f"};
	return pg_queue(side, &dedup->report, &(struct pg_params){.values = values, .count = 8}, error);
}

/* Up to and with the sync point; the first failure is told. */
static bool dedup_read_reports(struct pg *side, struct dedup_progress *rows, struct error *error)
{
	bool is_fine = true;
	PGresult *result;
	do {
		if (!pg_next(side, &result, error))
			return false;
		if (result && PQresultStatus(result) != PGRES_TUPLES_OK && is_fine)
			is_fine = pg_result_error(result, "reporting progress", error);
		if (result && PQntuples(result) == 1)
			rows->went_back_to = dedup_int64(result, 0, 0);
		rows++;
		PQclear(result);
	} while (result);
	return is_fine;
}

bool dedup_report_progress(struct dedup *dedup, struct pg *side, struct dedup_progress *rows, size_t count,
                           struct error *error)
{
	for (size_t i = 0; i < count; i++) {
		rows[i].went_back_to = -1;
		if (!dedup_queue_progress(dedup, side, &rows[i], error))
			return false;
	}
	return count == 0 || (pg_sync(side, error) && dedup_read_reports(side, rows, error));
}

/* One transaction each, so that nobody waits for more than one DROP; somebody works on the day: the next call tries
 * again. */
static bool dedup_drop_days(struct dedup *dedup, struct pg *side, size_t *out_dropped, struct error *error)
{
	for (size_t dropped = 0;; dropped++) {
		struct dedup_number now = dedup_number(dedup_now_ms(dedup));
		struct error failure;
		PGresult *result = dedup_run(side, DEDUP_VALUES(dedup->group, now.text), &failure,
		                             "SELECT %s.dedup_drop_oldest($1, $2)", dedup->schema);
		bool is_none = result && PQgetisnull(result, 0, 0);
		if (result && !is_none)
			log_write(LOG_dedup_day_dropped, "%s", PQgetvalue(result, 0, 0));
		PQclear(result);
		*out_dropped = dropped;
		if (is_none)
			return true;
		if (!result && strcmp(failure.sqlstate, "55P03") == 0)
			return true;
		if (!result) {
			if (error)
				*error = failure;
			return error_wrap(error, "forgetting a day of group %s", dedup->group);
		}
	}
}

static bool dedup_delete_rows(struct dedup *dedup, struct pg *side, struct error *error)
{
	for (int i = 0; i < DELETES_MAX; i++) {
		struct dedup_number now = dedup_number(dedup_now_ms(dedup));
		PGresult *result = dedup_run(side, DEDUP_VALUES(dedup->group, now.text), error,
		                             "SELECT %s.dedup_delete_old($1, $2, " DELETE_ROWS ")", dedup->schema);
		if (!result)
			return error_wrap(error, "deleting old rows of group %s", dedup->group);
		int64_t deleted = dedup_int64(result, 0, 0);
		PQclear(result);
		if (deleted == 0)
			break;
	}
	return true;
}

/* Attempts of events whose records can't come again. */
static bool dedup_delete_attempts(struct dedup *dedup, struct pg *side, struct error *error)
{
	struct dedup_number now = dedup_number(dedup_now_ms(dedup));
	PGresult *result = dedup_run(side, DEDUP_VALUES(dedup->group, now.text), error,
	                             "DELETE FROM %s.event_attempt WHERE consumer_group = $1 "
	                             "AND at < to_timestamp(%s.dedup_horizon_ms($1, $2) / 1000.0)",
	                             dedup->schema, dedup->schema);
	PQclear(result);
	return result || error_wrap(error, "deleting old attempts of group %s", dedup->group);
}

bool dedup_tend(struct dedup *dedup, struct pg *side, size_t *out_dropped, struct error *error)
{
	if (!dedup_measure_clock(dedup, side, error) || !dedup_make_ahead(dedup, side, error))
		return false;
	struct dedup_number now = dedup_number(dedup_now_ms(dedup));
	PGresult *result = dedup_run(side, DEDUP_VALUES(dedup->group, now.text), error, "SELECT %s.dedup_alive($1, $2)",
	                             dedup->schema);
	PQclear(result);
	size_t dropped = 0;
	if (!result || !dedup_drop_days(dedup, side, &dropped, error) || !dedup_delete_rows(dedup, side, error) ||
	    !dedup_delete_attempts(dedup, side, error) || !dedup_refresh(dedup, side, error))
		return false;
	*out_dropped = dropped;
	return true;
}

bool dedup_allow_old(struct dedup *dedup, struct pg *side, const char *event_id, struct error *error)
{
	struct dedup_number now = dedup_number(dedup_now_ms(dedup));
	PGresult *result = dedup_run(side, DEDUP_VALUES(event_id, dedup->group, now.text), error,
	                             "INSERT INTO %s.dedup_allowed_old (event_id, consumer_group, allowed_at) "
	                             "VALUES ($1, $2, to_timestamp($3 / 1000.0)) ON CONFLICT DO NOTHING",
	                             dedup->schema);
	PQclear(result);
	return result ? dedup_refresh(dedup, side, error) : error_wrap(error, "releasing event %s", event_id);
}
