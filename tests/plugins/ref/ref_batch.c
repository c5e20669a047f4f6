/* The reference plugin for handle_batch: the events that say ok become rows of `effect` in one statement.  README.md
 * lists what else an event can say. */
#include "die.h"
#include <idem/sugar.h>
#include <unistd.h>

struct ref {
	const struct idem_host_api *api;
	uint32_t insert_effects, divide;
};

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	struct ref *ref = *out_self = calloc(1, sizeof(*ref));
	idem_status status;

	if (!ref)
		return IDEM_E_NOMEM;
	ref->api = api;
	status = idem_declare(api,
	                      "INSERT INTO effect (consumer, event_id, key, seq, pid, at) "
	                      "SELECT $1, id::uuid, key, seq, $2, clock_timestamp() "
	                      "FROM unnest($3::text[], $4::text[], $5::bigint[]) AS t (id, key, seq)",
	                      5, 0, &ref->insert_effects);
	return status == IDEM_OK ? idem_declare(api, "SELECT 1 / $1::int", 1, 0, &ref->divide) : status;
}

struct effects {
	struct idem_array ids, keys, seqs;
};

static idem_verdict add_effect(const struct ref *ref, const struct idem_item *item, struct effects *effects)
{
	int64_t seq;

	idem_array_text(&effects->ids, item->event->id);
	idem_array_text(&effects->keys, item->event->key);
	if (idem_json_int64(ref->api, item->call, "/seq", &seq) == IDEM_OK)
		idem_array_int64(&effects->seqs, seq);
	else
		idem_array_raw(&effects->seqs, idem_bytes_of("NULL"));
	return IDEM_DONE;
}

/* own: fails alone; break: takes the whole batch down until it is alone. */
static idem_status obey(const struct ref *ref, struct idem_call *batch, struct idem_item *item, struct effects *effects)
{
	struct idem_param zero = idem_param_string("0");
	struct idem_bytes deed = {"ok", 2};

	(void)idem_json_text(ref->api, item->call, "/do", &deed);
	die_if_told(deed, idem_bytes_of("1"));
	if (idem_equal_string(deed, "unset"))
		return IDEM_OK;
	if (idem_equal_string(deed, "fail"))
		item->verdict = idem_retry(ref->api, item->call, "the payload said fail");
	else if (idem_equal_string(deed, "fatal"))
		item->verdict = idem_reject(ref->api, item->call, "the payload said fatal");
	else
		item->verdict = add_effect(ref, item, effects);
	if (idem_equal_string(deed, "own"))
		return idem_queue(ref->api, item->call, ref->divide, &zero, 1);
	if (idem_equal_string(deed, "break"))
		return idem_queue(ref->api, batch, ref->divide, &zero, 1);
	return idem_equal_string(deed, "negative") ? IDEM_E_INVALID : IDEM_OK;
}

static idem_status insert(const struct ref *ref, struct idem_call *batch, const char *consumer, struct effects *effects)
{
	struct idem_digits pid;
	struct idem_param params[5] = {idem_param_string(consumer), idem_param_int64(getpid(), &pid)};
	int64_t rows = (int64_t)effects->ids.count;
	idem_status status;

	if (rows == 0)
		return IDEM_OK;
	if ((status = idem_array_param(&effects->ids, &params[2])) != IDEM_OK ||
	    (status = idem_array_param(&effects->keys, &params[3])) != IDEM_OK ||
	    (status = idem_array_param(&effects->seqs, &params[4])) != IDEM_OK)
		return status;
	return idem_queue_expect(ref->api, batch, ref->insert_effects, params, 5, rows, "fewer effects than events");
}

static idem_status handle_batch(void *opaque, struct idem_call *batch, struct idem_item *items, size_t n)
{
	const struct ref *ref = opaque;
	struct effects effects = {{0}, {0}, {0}};
	idem_status status = IDEM_OK;

	for (size_t i = 0; i < n && status == IDEM_OK; i++)
		status = obey(ref, batch, &items[i], &effects);
	if (status == IDEM_OK)
		status = insert(ref, batch, items[0].event->pipeline, &effects);
	idem_array_done(&effects.ids);
	idem_array_done(&effects.keys);
	idem_array_done(&effects.seqs);
	return status;
}

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	return idem_handle_one(((const struct ref *)self)->api, handle_batch, self, call, event);
}

static const char *const types[] = {"test.v1", NULL};

IDEM_PLUGIN_DEFINE("ref_batch", "1.0.0", "idem", "tests", .capabilities = IDEM_CAP_CONCURRENT, .event_types = types,
                   .create = create, .handle = handle, .handle_batch = handle_batch, .destroy = free);
