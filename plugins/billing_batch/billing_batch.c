/* billing_batch: what billing does, for a whole batch in one statement.  The amounts are summed per order, the orders
 * are locked in the order of their ids, and an order that does not exist rejects its events alone. */
#include <idem/sugar.h>

struct billing {
	const struct idem_host_api *api;
	uint32_t pay;
};

struct payment {
	int64_t order, amount;
	int is_valid;
};

static const char pay_sql[] =
        "WITH paid AS (SELECT id, sum(amount)::bigint AS amount FROM unnest($1::bigint[], $2::bigint[]) AS t (id, "
        "amount) GROUP BY id), "
        "locked AS (SELECT id FROM orders WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE) "
        "UPDATE orders SET paid_amount = paid_amount + paid.amount, status = 'PAID' FROM paid JOIN locked USING (id) "
        "WHERE orders.id = paid.id RETURNING orders.id";

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct billing *self = *out_self = calloc(1, sizeof(*self));

	if (!self)
		return IDEM_E_NOMEM;
	self->api = api;
	return idem_declare(api, pay_sql, 2, 0, &self->pay);
}

static void read_payment(const struct billing *self, struct idem_item *item, struct payment *payment)
{
	payment->is_valid = idem_json_int64(self->api, item->call, "/orderId", &payment->order) == IDEM_OK &&
	                    idem_json_int64(self->api, item->call, "/totalAmount", &payment->amount) == IDEM_OK &&
	                    payment->amount >= 0;
	if (!payment->is_valid)
		item->verdict = idem_reject(self->api, item->call, "orderId or totalAmount is missing or out of range");
}

static int by_number(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

/* Pays all valid ones; *out_orders: the ids of the orders that exist, sorted. */
static idem_status pay(const struct billing *self, struct idem_call *batch, const struct payment *payments, size_t n,
                       int64_t *orders, size_t *out_count)
{
	struct idem_array ids = {0}, amounts = {0};
	struct idem_param params[2];
	const struct idem_rows *rows;
	idem_status status;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!payments[i].is_valid)
			continue;
		idem_array_int64(&ids, payments[i].order);
		idem_array_int64(&amounts, payments[i].amount);
	}
	if ((status = idem_array_param(&ids, &params[0])) == IDEM_OK &&
	    (status = idem_array_param(&amounts, &params[1])) == IDEM_OK &&
	    (status = idem_query(self->api, batch, self->pay, params, 2, &rows)) == IDEM_OK)
		count = self->api->tx->row_count(rows);
	for (size_t i = 0; i < count && status == IDEM_OK; i++)
		status = idem_rows_int64(self->api, rows, i, 0, &orders[i]);
	idem_array_done(&ids);
	idem_array_done(&amounts);
	if (status != IDEM_OK)
		return status;
	qsort(orders, count, sizeof(*orders), by_number);
	*out_count = count;
	return IDEM_OK;
}

static idem_status handle_batch(void *opaque, struct idem_call *batch, struct idem_item *items, size_t n)
{
	const struct billing *self = opaque;
	struct payment *payments = calloc(n, sizeof(*payments));
	int64_t *orders = calloc(n, sizeof(*orders));
	size_t count = 0;
	idem_status status = IDEM_E_NOMEM;

	if (!payments || !orders)
		goto done;
	for (size_t i = 0; i < n; i++)
		read_payment(self, &items[i], &payments[i]);
	if ((status = pay(self, batch, payments, n, orders, &count)) != IDEM_OK)
		goto done;
	for (size_t i = 0; i < n; i++) {
		if (!payments[i].is_valid)
			continue;
		items[i].verdict = bsearch(&payments[i].order, orders, count, sizeof(*orders), by_number)
		                           ? IDEM_DONE
		                           : idem_reject(self->api, items[i].call, "no such order");
	}
done:
	free(payments);
	free(orders);
	return status;
}

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	return idem_handle_one(((const struct billing *)self)->api, handle_batch, self, call, event);
}

static const char *const types[] = {"order.confirmed.v1", NULL};

IDEM_PLUGIN_DEFINE("billing_batch", "1.0.0", "idem", "example", .capabilities = IDEM_CAP_CONCURRENT,
                   .event_types = types, .create = create, .handle = handle, .handle_batch = handle_batch,
                   .destroy = free);
