#include "core/db/dedup_claim.h"

#include <endian.h>

#include "core/db/array.h"
#include "core/db/dedup_store.h"

/* NULL in *out_table: no place.  make: the day is made when it is missing. */
static bool dedup_place_key(struct dedup *dedup, struct pg *pg, const struct dedup_key *key, bool make,
                            const struct dedup_table **out_table, enum dedup_place_status *out_status,
                            struct error *error)
{
	*out_table = NULL;
	*out_status = DEDUP_PLACED;
	if (key->business_key.ptr) {
		*out_table = dedup_message_table(dedup);
		return true;
	}
	*out_status = dedup_place(dedup, key->time_ms, out_table);
	if (*out_status == DEDUP_DAY_MISSING && make) {
		if (!dedup_make_day(dedup, pg, key->time_ms, error))
			return false;
		*out_status = dedup_place(dedup, key->time_ms, out_table);
	}
	if (*out_status == DEDUP_ID_TOO_OLD)
		*out_table = dedup_other_table(dedup);
	return true;
}

/* The statement's one result, NULL: failed. */
static PGresult *dedup_answer(struct pg *pg, struct error *error)
{
	PGresult *result, *end;
	if (!pg_sync(pg, error) || !pg_next(pg, &result, error))
		return NULL;
	if (!pg_next(pg, &end, error)) {
		PQclear(result);
		return NULL;
	}
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;
	pg_result_error(result, "claiming an id", error);
	PQclear(result);
	return NULL;
}

static PGresult *dedup_run_key(struct dedup *dedup, struct pg *pg, const struct dedup_table *table,
                               const struct dedup_key *key, bool is_claim, struct error *error)
{
	struct arena arena;
	arena_init(&arena, 1024);
	struct bytes keys = table->is_text ? array_from_bytes(&arena, ARRAY_TEXT, &key->business_key, 1)
	                                   : array_from_bytes(&arena, ARRAY_UUID, &key->id, 1);
	struct bytes hashes = array_from_int8(&arena, &key->content_hash, 1);
	const char *values[] = {keys.ptr, is_claim ? hashes.ptr : dedup->group, dedup->group};
	const int lengths[] = {(int)keys.len, (int)hashes.len, 0};
	const int formats[] = {1, is_claim, 0};
	struct pg_params params = {values, lengths, formats, is_claim ? 3 : 2};
	PGresult *result = NULL;
	if (pg_queue(pg, is_claim ? &table->claim : &table->look_up, &params, error))
		result = dedup_answer(pg, error);
	arena_done(&arena);
	return result;
}

static bool dedup_look_up(struct dedup *dedup, struct pg *pg, const struct dedup_table *table,
                          const struct dedup_key *key, enum dedup_claim *out_claim, struct error *error)
{
	uint64_t stored;
	PGresult *result = dedup_run_key(dedup, pg, table, key, false, error);
	if (!result)
		return false;
	*out_claim = DEDUP_CLAIM_NONE;
	if (PQntuples(result) == 1 && PQgetlength(result, 0, 1) == sizeof(stored)) {
		memcpy(&stored, PQgetvalue(result, 0, 1), sizeof(stored));
		*out_claim = (int64_t)be64toh(stored) == key->content_hash ? DEDUP_CLAIM_SAME : DEDUP_CLAIM_OTHER;
	}
	PQclear(result);
	return true;
}

bool dedup_look_up_key(struct dedup *dedup, struct pg *pg, const struct dedup_key *key, enum dedup_claim *out_claim,
                       struct error *error)
{
	const struct dedup_table *table;
	enum dedup_place_status status;
	if (!dedup_place_key(dedup, pg, key, false, &table, &status, error))
		return false;
	if (table)
		return dedup_look_up(dedup, pg, table, key, out_claim, error);
	*out_claim = status == DEDUP_ID_IN_FUTURE ? DEDUP_CLAIM_TOO_NEW : DEDUP_CLAIM_NONE;
	return true;
}

static bool dedup_claim_once(struct dedup *dedup, struct pg *pg, const struct dedup_key *key,
                             enum dedup_claim *out_claim, struct error *error)
{
	const struct dedup_table *table;
	enum dedup_place_status status;
	if (!dedup_place_key(dedup, pg, key, true, &table, &status, error))
		return false;
	if (!table) {
		*out_claim = DEDUP_CLAIM_TOO_NEW;
		return status == DEDUP_ID_IN_FUTURE ||
		       error_set(error, ERROR_DB, "the day of an id is missing although it was made");
	}
	PGresult *result = dedup_run_key(dedup, pg, table, key, true, error);
	if (!result)
		return false;
	bool is_new = PQntuples(result) == 1;
	PQclear(result);
	if (!is_new)
		return dedup_look_up(dedup, pg, table, key, out_claim, error);
	*out_claim = DEDUP_CLAIM_MADE;
	return true;
}

/* 42P01: a host forgot that day just now. */
bool dedup_claim_key(struct dedup *dedup, struct pg *pg, const struct dedup_key *key, enum dedup_claim *out_claim,
                     struct error *error)
{
	struct error failure;
	if (dedup_claim_once(dedup, pg, key, out_claim, &failure))
		return true;
	if (strcmp(failure.sqlstate, "42P01") == 0 && dedup_refresh(dedup, pg, &failure))
		return dedup_claim_once(dedup, pg, key, out_claim, error);
	if (error)
		*error = failure;
	return false;
}
