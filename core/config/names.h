/* Whether a text is what its kind of setting needs: a topic's name, a digest, an address, a connection string, a
 * template. */
#ifndef IDEM_CONFIG_NAMES_H
#define IDEM_CONFIG_NAMES_H
#include "core/config/settings.h"

bool names_check(enum setting_kind kind, const char *text, struct error *error) MUST_CHECK;
bool names_is_port(struct bytes text); /* 1 to 65535, digits only */
/* What the broker knows and the payload doesn't: offset, partition, topic, timestamp (IDEM-X2). */
bool names_is_position(const char *field);
#endif
