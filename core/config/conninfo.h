/* What database.conninfo says, as far as it can be looked at without a server. */
#ifndef IDEM_CONFIG_CONNINFO_H
#define IDEM_CONFIG_CONNINFO_H
#include "core/base/error.h"

/* Syntax, names and ports; looks at no file.  *error holds no password. */
bool conninfo_check(const char *text, struct error *error) MUST_CHECK;
/* The files of TLS that it names can be read.  libpq would do without some of them in silence, and miss the others when
 * the first connection is made.  Relative to the folder of the process, as libpq takes them. */
bool conninfo_check_files(const char *text, struct error *error) MUST_CHECK;
#endif
