/* A record on its way to a retry topic or the DLQ: key, value and headers as they came, and one instance of each header
 * of ours.  Private to core/retry. */
#ifndef IDEM_RETRY_OUTGOING_H
#define IDEM_RETRY_OUTGOING_H
#include "core/base/arena.h"
#include "core/event/event.h"
#include "core/kafka/record.h"
#include "core/retry/letter.h"
#include "core/retry/router.h"

#define OUTGOING_REASON_MAX 64  /* bytes of x-reason */
#define OUTGOING_ERROR_MAX 1024 /* bytes of x-error: cut between characters */

struct outgoing {
	struct outgoing *next; /* while kept for another try */
	int64_t due_ms;        /* monotonic, of that try */
	void *opaque;          /* of router_send */
	enum route route;
	bool has_error_header; /* the last header is x-error */
	bool alone;            /* sent with no other: it was, or was beside, a record that is too large */
	struct kafka_record record;
	struct letter letter; /* of ROUTE_DEAD: its row, but for its place */
	struct arena arena;   /* holds all that record points to */
};

/* Never NULL.  topic is borrowed. */
struct outgoing *outgoing_create(const struct router_options *options, const char *topic, const struct event *event,
                                 enum route route, const char *reason, struct bytes error_text);
/* A dead letter as its group shall get it again: a round later, at the first attempt, without what it died of. */
struct outgoing *outgoing_create_replay(const char *group, const char *topic, const struct event *event);
/* The record becomes smaller: by the header that is only for people; then a dead letter by its value, which goes into
 * its row of the index, and the record says so.  False: there is nothing left to take. */
bool outgoing_shrink(struct outgoing *outgoing);
/* At most max bytes, not ending inside a UTF-8 character. */
struct bytes outgoing_cut(struct bytes text, size_t max);
void outgoing_destroy(struct outgoing *outgoing);
#endif
