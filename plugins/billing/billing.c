/* billing: an order.confirmed.v1 event adds its amount to the order it names, once. */
#include <idem/sugar.h>

struct billing {
	const struct idem_host_api *api;
	struct idem_bytes currency; /* the only one accepted; empty: any */
	uint32_t pay;
};

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct billing *self = *out_self = calloc(1, sizeof(*self));

	if (!self)
		return IDEM_E_NOMEM;
	self->api = api;
	self->currency = idem_option_text(api, "currency");
	return idem_declare(api, "UPDATE orders SET paid_amount = paid_amount + $1, status = 'PAID' WHERE id = $2", 2,
	                    2, &self->pay);
}

static int is_other_currency(const struct billing *self, struct idem_call *call)
{
	struct idem_bytes currency;

	return self->currency.len > 0 && (idem_json_text(self->api, call, "/currency", &currency) != IDEM_OK ||
	                                  !idem_equal(currency, self->currency));
}

static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
{
	const struct billing *self = opaque;
	int64_t order, amount;

	(void)event;
	if (idem_json_int64(self->api, call, "/orderId", &order) != IDEM_OK)
		return idem_reject(self->api, call, "orderId is missing or no whole number");
	if (idem_json_int64(self->api, call, "/totalAmount", &amount) != IDEM_OK)
		return idem_reject(self->api, call, "totalAmount is missing or no whole number of cents");
	if (amount < 0)
		return idem_reject(self->api, call, "totalAmount is negative");
	if (is_other_currency(self, call))
		return idem_reject(self->api, call, "the currency is not the one this pipeline bills in");

	struct idem_digits amount_digits, order_digits;
	const struct idem_param params[] = {idem_param_int64(amount, &amount_digits),
	                                    idem_param_int64(order, &order_digits)};
	return idem_verdict_of(self->api, call,
	                       idem_queue_expect(self->api, call, self->pay, params, 2, 1, "no such order"));
}

static const char *const types[] = {"order.confirmed.v1", NULL};
static const struct idem_option options[] = {
        {"currency", "string", "", "reject orders in any other currency, e.g. \"EUR\"; \"\": take all"}, {0}};

IDEM_PLUGIN_DEFINE("billing", "1.0.0", "idem", "example", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .options = options, .create = create, .handle = handle, .destroy = free);
