/* One line per event on stderr:
 *   2026-12-01T00:00:00.000Z error pipeline=billing event=batch_failed text
 * What can be logged is a table (log_events.def: name, level, help), which the manual prints.  Ids are logged, payloads
 * and secrets never.  [any thread]; one write(2) per line. */
#ifndef IDEM_BASE_LOG_H
#define IDEM_BASE_LOG_H
#include "core/base/error.h"
#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};

enum log_event_id {
#define LOG_EVENT(name, level, help) LOG_##name,
#include "core/base/log_events.def"
#undef LOG_EVENT
	LOG_EVENT_COUNT
};

/* who: "supervisor", or the pipeline's name; copied.  [main] */
void log_open(const char *who, enum log_level threshold);
void log_write(enum log_event_id event, const char *format, ...) PRINTF_LIKE(2, 3);
/* At most one line of this event per second; the next one says how many were left out. */
void log_write_limited(enum log_event_id event, const char *format, ...) PRINTF_LIKE(2, 3);
/* A plugin's own line: level as in enum log_level. */
void log_plugin(const char *plugin, enum log_level level, const char *text, size_t len);
#endif
