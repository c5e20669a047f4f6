#include "core/db/dedup_claim.h"

#include <endian.h>

#include "core/db/array.h"
#include "core/db/dedup_store.h"

struct place {
	const struct dedup_table *table; /* NULL: none, status says why */
	enum dedup_place_status status;
};

/* make: the day is made when it is missing. */
static bool dedup_place_key(struct dedup *dedup, struct pg *pg, const struct dedup_key *key, bool make,
                            struct place *out_place, struct error *error)
{
	struct place place = {NULL, DEDUP_PLACED};
	if (key->business_key.ptr)
		place.table = dedup_message_table(dedup);
	else
		place.status = dedup_place(dedup, key->time_ms, &place.table);
	if (place.status == DEDUP_DAY_MISSING && make) {
		if (!dedup_make_day(dedup, pg, key->time_ms, error))
			return false;
		place.status = dedup_place(dedup, key->time_ms, &place.table);
	}
	if (place.status == DEDUP_ID_TOO_OLD)
		place.table = dedup_other_table(dedup);
	*out_place = place;
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
	struct place place;
	if (!dedup_place_key(dedup, pg, key, false, &place, error))
		return false;
	if (place.table)
		return dedup_look_up(dedup, pg, place.table, key, out_claim, error);
	*out_claim = place.status == DEDUP_ID_IN_FUTURE ? DEDUP_CLAIM_TOO_NEW : DEDUP_CLAIM_NONE;
	return true;
}

static bool dedup_claim_once(struct dedup *dedup, struct pg *pg, const struct dedup_key *key,
                             enum dedup_claim *out_claim, struct error *error)
{
	struct place place;
	if (!dedup_place_key(dedup, pg, key, true, &place, error))
		return false;
	if (!place.table) {
		*out_claim = DEDUP_CLAIM_TOO_NEW;
		return place.status == DEDUP_ID_IN_FUTURE ||
		       error_set(error, ERROR_DB, "the day of an id is missing although it was made");
	}
	PGresult *result = dedup_run_key(dedup, pg, place.table, key, true, error);
	if (!result)
		return false;
	bool is_new = PQntuples(result) == 1;
	PQclear(result);
	if (!is_new)
		return dedup_look_up(dedup, pg, place.table, key, out_claim, error);
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
