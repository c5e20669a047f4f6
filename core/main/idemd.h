/* What idemd's files share. */
#ifndef IDEM_MAIN_IDEMD_H
#define IDEM_MAIN_IDEMD_H
#include "core/config/config.h"
#include <stdbool.h>
#include <stdio.h>

enum { IDEM_EXIT_USAGE = 64, IDEM_EXIT_SERVICE_MISSING = 69, IDEM_EXIT_INTERNAL = 70, IDEM_EXIT_CONFIGURATION = 78 };

/* The child's life: reads its configuration from descriptor 3, maps the metrics page at 4, runs the pipeline, says 'S'
 * at 5 when it stopped cleanly.  Never returns. */
_Noreturn void child_main(const char *name, const char *plugin_path);
/* --check --connect: tells every finding; an exit status. */
int check_services(const struct config *config, FILE *out);
#endif
