/* Values that are kept elsewhere: in a file or in the environment. */
#ifndef IDEM_CONFIG_SECRET_H
#define IDEM_CONFIG_SECRET_H
#include "core/base/arena.h"
#include "core/base/error.h"

/* The whole file without line breaks at its end.  NULL and *error on failure. */
const char *secret_read_file(const char *path, struct arena *arena, struct error *error);
const char *secret_read_environment(const char *name, struct arena *arena, struct error *error);
#endif
