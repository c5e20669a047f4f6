#include "core/plugin/rows.h"
#include "core/base/assert.h"
#include "core/plugin/handle.h"
#include <stdlib.h>

struct idem_rows {
	struct idem_rows *next; /* in its call's rows or free_rows */
	struct idem_call *call; /* for ever the same */
	uint32_t run;           /* of the call, that it belongs to */
	PGresult *result;       /* owned; NULL: released */
};

const struct idem_rows *rows_give(struct idem_call *call, PGresult *result)
{
	struct idem_rows *rows = call->free_rows;

	if (rows) {
		call->free_rows = rows->next;
	} else {
		rows = calloc(1, sizeof(*rows));
		ASSERT(rows);
		rows->call = call;
	}
	rows->run = call->runs;
	rows->result = result;
	rows->next = call->rows;
	call->rows = rows;
	return (const struct idem_rows *)handle_make(rows, rows->run);
}

/* Released ones stay in the list until the run ends: were they given out again, a kept handle would show other rows. */
void rows_release_all(struct idem_call *call)
{
	while (call->rows) {
		struct idem_rows *rows = call->rows;
		call->rows = rows->next;
		PQclear(rows->result);
		rows->result = NULL;
		rows->next = call->free_rows;
		call->free_rows = rows;
	}
}

static struct idem_rows *rows_of_handle(const struct idem_rows *handle)
{
	struct idem_rows *rows = (struct idem_rows *)handle_address(handle);

	if (!rows) {
		call_breach("rows were used that a query did not answer");
		return NULL;
	}
	/* The call's own handle of this run tells whether thread and run are right. */
	if (!call_of_handle((const struct idem_call *)((uintptr_t)rows->call | ((uintptr_t)handle & ~HANDLE_ADDRESS))))
		return NULL;
	if (rows->result && handle_is_of(handle, rows->run))
		return rows;
	call_breach("rows were used after they had been released");
	return NULL;
}

size_t rows_row_count(const struct idem_rows *handle)
{
	const struct idem_rows *rows = rows_of_handle(handle);

	return rows ? (size_t)PQntuples(rows->result) : 0;
}

size_t rows_column_count(const struct idem_rows *handle)
{
	const struct idem_rows *rows = rows_of_handle(handle);

	return rows ? (size_t)PQnfields(rows->result) : 0;
}

idem_status rows_column(const struct idem_rows *handle, size_t column, struct idem_bytes *out_name, uint32_t *out_type)
{
	const struct idem_rows *rows = rows_of_handle(handle);

	if (!rows || column >= (size_t)PQnfields(rows->result))
		return IDEM_E_INVALID;
	const char *name = PQfname(rows->result, (int)column);
	if (out_name)
		*out_name = (struct idem_bytes){name, strlen(name)};
	if (out_type)
		*out_type = PQftype(rows->result, (int)column);
	return IDEM_OK;
}

int64_t rows_affected(const struct idem_rows *handle)
{
	const struct idem_rows *rows = rows_of_handle(handle);

	if (!rows)
		return IDEM_E_INVALID;
	/* A SELECT's tag counts too, but it affects nothing. */
	return strncmp(PQcmdStatus(rows->result), "SELECT", 6) == 0 ? 0 : strtoll(PQcmdTuples(rows->result), NULL, 10);
}

idem_status rows_value(const struct idem_rows *handle, size_t row, size_t column, struct idem_bytes *out)
{
	const struct idem_rows *rows = rows_of_handle(handle);

	if (!rows || !out || row >= (size_t)PQntuples(rows->result) || column >= (size_t)PQnfields(rows->result))
		return IDEM_E_INVALID;
	if (PQgetisnull(rows->result, (int)row, (int)column))
		*out = (struct idem_bytes){NULL, 0};
	else
		*out = (struct idem_bytes){PQgetvalue(rows->result, (int)row, (int)column),
		                           (size_t)PQgetlength(rows->result, (int)row, (int)column)};
	return IDEM_OK;
}

void rows_release(const struct idem_rows *handle)
{
	struct idem_rows *rows = rows_of_handle(handle);

	if (!rows)
		return;
	PQclear(rows->result);
	rows->result = NULL;
}
