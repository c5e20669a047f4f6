/* Results of queries as plugins see them: a handle of a row set that is never freed and used again by its call. */
#ifndef IDEM_PLUGIN_ROWS_H
#define IDEM_PLUGIN_ROWS_H
#include "core/plugin/call.h"

/* Takes the result.  The handle dies with the run. */
const struct idem_rows *rows_give(struct idem_call *call, PGresult *result);
/* At the end of a run: clears the results. */
void rows_release_all(struct idem_call *call);

/* The accessors of idem_tx_api. */
size_t rows_row_count(const struct idem_rows *rows);
size_t rows_column_count(const struct idem_rows *rows);
idem_status rows_column(const struct idem_rows *rows, size_t column, struct idem_bytes *out_name, uint32_t *out_type);
int64_t rows_affected(const struct idem_rows *rows);
idem_status rows_value(const struct idem_rows *rows, size_t row, size_t column, struct idem_bytes *out);
void rows_release(const struct idem_rows *rows);
#endif
