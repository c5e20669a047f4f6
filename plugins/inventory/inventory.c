/* inventory: a stock.reserve.v1 event reserves a quantity of an article.  A whole batch is two statements: the articles
 * are read and locked in the order of their sku, the plugin decides event by event, and one UPDATE writes the sums. */
#include <idem/sugar.h>

struct inventory {
	const struct idem_host_api *api;
	uint32_t lock, reserve;
};

struct article { /* a row of stock, locked */
	struct idem_bytes sku;
	int64_t available, reserved_now;
};

struct stock { /* sorted by sku, byte by byte, as the query answers it */
	struct article *articles;
	size_t count;
};

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct inventory *self = *out_self = calloc(1, sizeof(*self));
	idem_status status;

	if (!self)
		return IDEM_E_NOMEM;
	self->api = api;
	/* Every batch locks in the same order, so two of them can wait for each other, but never in a circle. */
	status = idem_declare(
	        api,
	        "SELECT sku, available FROM stock WHERE sku = ANY ($1::text[]) ORDER BY sku COLLATE \"C\" FOR UPDATE",
	        1, 0, &self->lock);
	if (status != IDEM_OK)
		return status;
	return idem_declare(api,
	                    "UPDATE stock SET available = available - t.quantity, reserved = reserved + t.quantity "
	                    "FROM unnest($1::text[], $2::bigint[]) AS t (sku, quantity) WHERE stock.sku = t.sku",
	                    2, 0, &self->reserve);
}

/* ---- reading ---- */

static idem_status lock_articles(const struct inventory *self, struct idem_call *batch, const struct idem_item *items,
                                 size_t n, const struct idem_rows **out_rows)
{
	struct idem_array skus = {0};
	struct idem_param param;
	struct idem_bytes sku;
	idem_status status;

	for (size_t i = 0; i < n; i++)
		if (idem_json_text(self->api, items[i].call, "/sku", &sku) == IDEM_OK)
			idem_array_text(&skus, sku);
	status = idem_array_param(&skus, &param);
	if (status == IDEM_OK)
		status = idem_query(self->api, batch, self->lock, &param, 1, out_rows);
	idem_array_done(&skus);
	return status;
}

static idem_status read_stock(const struct inventory *self, const struct idem_rows *rows, struct stock *stock)
{
	size_t count = self->api->tx->row_count(rows);

	stock->articles = calloc(count + 1, sizeof(*stock->articles));
	if (!stock->articles)
		return IDEM_E_NOMEM;
	for (; stock->count < count; stock->count++) {
		struct article *article = &stock->articles[stock->count];
		idem_status status = self->api->tx->value(rows, stock->count, 0, &article->sku);
		if (status == IDEM_OK)
			status = idem_rows_int64(self->api, rows, stock->count, 1, &article->available);
		if (status != IDEM_OK)
			return status;
	}
	return IDEM_OK;
}

static int by_sku(const void *key, const void *element)
{
	const struct idem_bytes *sku = key;
	const struct article *article = element;
	size_t shorter = sku->len < article->sku.len ? sku->len : article->sku.len;
	int order = memcmp(sku->ptr, article->sku.ptr, shorter);

	return order != 0 ? order : sku->len < article->sku.len ? -1 : sku->len > article->sku.len;
}

/* ---- deciding ---- */

static idem_verdict decide(const struct inventory *self, struct idem_call *call, struct stock *stock)
{
	struct idem_bytes sku;
	int64_t quantity;

	if (idem_json_text(self->api, call, "/sku", &sku) != IDEM_OK)
		return idem_reject(self->api, call, "sku is missing or no text");
	if (idem_json_int64(self->api, call, "/quantity", &quantity) != IDEM_OK || quantity < 1)
		return idem_reject(self->api, call, "quantity is missing or less than 1");
	struct article *article = bsearch(&sku, stock->articles, stock->count, sizeof(*article), by_sku);
	if (!article)
		return idem_reject(self->api, call, "no such article");
	if (article->available - article->reserved_now < quantity)
		return idem_reject(self->api, call, "not enough in stock");
	article->reserved_now += quantity;
	return IDEM_DONE;
}

/* ---- writing ---- */

static idem_status reserve(const struct inventory *self, struct idem_call *batch, const struct stock *stock)
{
	struct idem_array skus = {0}, quantities = {0};
	struct idem_param params[2];
	idem_status status;

	for (size_t i = 0; i < stock->count; i++) {
		if (stock->articles[i].reserved_now == 0)
			continue;
		idem_array_text(&skus, stock->articles[i].sku);
		idem_array_int64(&quantities, stock->articles[i].reserved_now);
	}
	int64_t rows = (int64_t)skus.count;
	if ((status = idem_array_param(&skus, &params[0])) == IDEM_OK &&
	    (status = idem_array_param(&quantities, &params[1])) == IDEM_OK && rows > 0)
		status = idem_queue_expect(self->api, batch, self->reserve, params, 2, rows,
		                           "an article vanished while it was locked");
	idem_array_done(&skus);
	idem_array_done(&quantities);
	return status;
}

static idem_status handle_batch(void *opaque, struct idem_call *batch, struct idem_item *items, size_t n)
{
	const struct inventory *self = opaque;
	const struct idem_rows *rows;
	struct stock stock = {0};
	idem_status status = lock_articles(self, batch, items, n, &rows);

	if (status == IDEM_OK)
		status = read_stock(self, rows, &stock);
	for (size_t i = 0; i < n && status == IDEM_OK; i++)
		items[i].verdict = decide(self, items[i].call, &stock);
	if (status == IDEM_OK)
		status = reserve(self, batch, &stock);
	free(stock.articles);
	return status;
}

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	return idem_handle_one(((const struct inventory *)self)->api, handle_batch, self, call, event);
}

static const char *const types[] = {"stock.reserve.v1", NULL};

IDEM_PLUGIN_DEFINE("inventory", "1.0.0", "idem", "example", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .create = create, .handle = handle, .handle_batch = handle_batch, .destroy = free);
