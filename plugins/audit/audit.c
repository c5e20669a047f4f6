/* audit: an account.posted.v1 event changes a balance and writes down the balance it saw before.  Reads before it
 * writes: the query waits for its rows, the writes are queued and go out when the verdict is DONE. */
#include <idem/sugar.h>

struct audit {
	const struct idem_host_api *api;
	uint32_t read_balance, write_balance, write_entry;
	uint32_t refused; /* a counter */
};

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct audit *self = *out_self = calloc(1, sizeof(*self));
	idem_status status;

	if (!self)
		return IDEM_E_NOMEM;
	self->api = api;
	/* FOR UPDATE: what is read must still be true when the transaction commits. */
	if ((status = idem_declare(api, "SELECT balance FROM account WHERE id = $1 FOR UPDATE", 1, 0,
	                           &self->read_balance)) != IDEM_OK ||
	    (status = idem_declare(api, "UPDATE account SET balance = $2 WHERE id = $1", 2, 1, &self->write_balance)) !=
	            IDEM_OK ||
	    (status = idem_declare(
	             api,
	             "INSERT INTO ledger (event_id, account_id, amount, balance_before) VALUES ($1::uuid, $2, $3, $4)",
	             4, 0, &self->write_entry)) != IDEM_OK)
		return status;
	return api->metrics->counter(api->host, "overdrafts_refused", "postings that would have overdrawn an account",
	                             &self->refused);
}

static idem_status write(const struct audit *self, struct idem_call *call, const struct idem_event *event,
                         int64_t account, int64_t amount, int64_t balance)
{
	struct idem_digits digits[4];
	const struct idem_param entry[] = {idem_param_text(event->id), idem_param_int64(account, &digits[0]),
	                                   idem_param_int64(amount, &digits[1]), idem_param_int64(balance, &digits[2])};
	const struct idem_param update[] = {entry[1], idem_param_int64(balance + amount, &digits[3])};
	idem_status status = idem_queue(self->api, call, self->write_entry, entry, 4);

	if (status != IDEM_OK)
		return status;
	return idem_queue_expect(self->api, call, self->write_balance, update, 2, 1, "the account vanished");
}

static idem_verdict handle(void *opaque, struct idem_call *call, const struct idem_event *event)
{
	const struct audit *self = opaque;
	const struct idem_host_api *api = self->api;
	const struct idem_rows *rows;
	struct idem_digits digits;
	int64_t account, amount, balance, after;

	if (idem_json_int64(api, call, "/accountId", &account) != IDEM_OK ||
	    idem_json_int64(api, call, "/amount", &amount) != IDEM_OK)
		return idem_reject(api, call, "accountId or amount is missing or no whole number");
	const struct idem_param id = idem_param_int64(account, &digits);
	idem_status status = idem_query(api, call, self->read_balance, &id, 1, &rows);
	if (status != IDEM_OK)
		return idem_verdict_of(api, call, status);
	if (idem_rows_int64(api, rows, 0, 0, &balance) != IDEM_OK)
		return idem_reject(api, call, "no such account");
	if (__builtin_add_overflow(balance, amount, &after))
		return idem_reject(api, call, "the balance would leave 64 bits");
	if (after < 0) {
		api->metrics->add(api->host, NULL, self->refused, 1); /* NULL: counts although nothing is committed */
		return idem_reject(api, call, "the account would be overdrawn");
	}
	return idem_verdict_of(api, call, write(self, call, event, account, amount, balance));
}

static const char *const types[] = {"account.posted.v1", NULL};

IDEM_PLUGIN_DEFINE("audit", "1.0.0", "idem", "example", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .create = create, .handle = handle, .destroy = free);
