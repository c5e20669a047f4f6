/* One GET of the admin port: HTTP/1.0 over a plain socket, the whole body in memory. */
#ifndef IDEM_MAIN_HTTP_GET_H
#define IDEM_MAIN_HTTP_GET_H
#include "core/base/error.h"
#include "core/config/config.h"

/* admin->listen says where (an any-address means this machine), its token file what to send.  *out_body: malloc'ed,
 * NUL-terminated; at most 16 MiB.  false: not reached (ERROR_IO), or answered another status than 200 (ERROR_INVALID).
 */
bool http_get(const struct config_admin *admin, const char *path, char **out_body, struct error *error) MUST_CHECK;
#endif
