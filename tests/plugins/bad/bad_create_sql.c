/* Broken rule: it declares a statement that ends the transaction. */
#include "bad.h"

static idem_status declare_commit(const struct idem_host_api *api, void **out_self)
{
	struct idem_statement statement = {.struct_size = sizeof(statement), .sql = "/* just */ commit"};
	uint32_t number;

	(void)out_self;
	return api->tx->declare(api->host, &statement, &number);
}
BAD_PLUGIN("bad_create_sql", plugin.create = declare_commit)
