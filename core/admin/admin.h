/* The admin port of the parent: metrics, health and the read-only API, over libmicrohttpd driven by the supervisor's
 * own loop (no thread).  Everything is [main].  GET and HEAD only; no caching; nothing may be framed or loaded.
 *   /metrics         Prometheus text
 *   /healthz         200 while the process answers
 *   /readyz          200 when every pipeline is ready, else 503; one line per pipeline
 *   /api/v1/status   JSON; wants "Authorization: Bearer <token>" when a token file is configured, and is refused to
 *                    addresses other than loopback when none is */
#ifndef IDEM_ADMIN_ADMIN_H
#define IDEM_ADMIN_ADMIN_H
#include "core/admin/status.h"
#include "core/base/error.h"
#include "core/config/config.h"

struct admin_options {
	const struct config_admin *config; /* read during the call only */
	/* Fills what is known now; what it points to stays valid until the callback's caller returns. */
	void (*look)(void *self, struct admin_status *out_status);
	void *self;
};
struct admin;
/* Binds and listens; NULL: *error says which address and why. */
struct admin *admin_create(const struct admin_options *options, struct error *error);
/* A new token, when the configuration was reloaded; on failure the old one stays. */
bool admin_set_token_file(struct admin *admin, const char *token_file, struct error *error) MUST_CHECK;
int admin_poll_fd(const struct admin *admin);    /* readable: call admin_run */
int admin_timeout_ms(const struct admin *admin); /* until admin_run is due all the same; -1: not at all */
void admin_run(struct admin *admin);             /* never blocks */
uint16_t admin_port(const struct admin *admin);
void admin_destroy(struct admin *admin); /* NULL allowed */
#endif
