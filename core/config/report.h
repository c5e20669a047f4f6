/* Collecting the mistakes of a configuration file. */
#ifndef IDEM_CONFIG_REPORT_H
#define IDEM_CONFIG_REPORT_H
#include "core/config/config.h"
#include <stdarg.h>

struct report_place {
	const char *file; /* NULL: the file that was loaded */
	int line;         /* 0: nowhere in particular */
};

void report_init(struct config_report *report);
void report_add(struct config_report *report, struct report_place place, bool warning, const char *format,
                va_list arguments) PRINTF_LIKE(4, 0);
void report_error(struct config_report *report, struct report_place place, const char *format, ...) PRINTF_LIKE(3, 4);
void report_warning(struct config_report *report, struct report_place place, const char *format, ...) PRINTF_LIKE(3, 4);
/* In order of line, the loaded file's own first. */
void report_sort(struct config_report *report);
#endif
