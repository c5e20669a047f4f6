#include "core/base/log.h"
#include "core/base/clock.h"
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 2048
#define LIMIT_MS 1000

static const struct {
	const char *name;
	enum log_level level;
} events[LOG_EVENT_COUNT] = {
#define LOG_EVENT(name, level, help) [LOG_##name] = {#name, LOG_LEVEL_##level},
#include "core/base/log_events.def"
#undef LOG_EVENT
};

static char origin[256] = "process=idem"; /* written before threads start */
static _Atomic int threshold = LOG_LEVEL_NOTICE;

static struct {
	_Atomic int64_t next_ms; /* no line before this monotonic time */
	_Atomic int64_t left_out;
} limits[LOG_EVENT_COUNT];

static const char *level_name(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_ERROR:
		return "error";
	case LOG_LEVEL_WARNING:
		return "warning";
	case LOG_LEVEL_NOTICE:
		return "notice";
	case LOG_LEVEL_INFO:
		return "info";
	case LOG_LEVEL_DEBUG:
		return "debug";
	}
	return "error";
}

void log_open(const char *who, enum log_level new_threshold)
{
	snprintf(origin, sizeof(origin), "%s=%s", strcmp(who, "supervisor") == 0 ? "process" : "pipeline", who);
	threshold = (int)new_threshold;
}

/* A line stays a line, whatever a plugin or a server put into its text. */
static void replace_controls(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
}

static size_t line_head(char *line, size_t size, enum log_event_id event, enum log_level level)
{
	int64_t now_ms = clock_wall_ms();
	time_t seconds = (time_t)(now_ms / 1000);
	struct tm parts;
	char stamp[32];

	gmtime_r(&seconds, &parts);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &parts);
	return (size_t)snprintf(line, size, "%s.%03dZ %s %s event=%s ", stamp, (int)(now_ms % 1000), level_name(level),
	                        origin, events[event].name);
}

static void line_write(char *line, size_t len)
{
	ssize_t written;

	replace_controls(line, len);
	line[len] = '\n';
	do
		written = write(STDERR_FILENO, line, len + 1);
	while (written < 0 && errno == EINTR); /* any other failure: there is nobody left to tell */
}

static void log_line(enum log_event_id event, enum log_level level, int64_t left_out, const char *format,
                     va_list arguments) PRINTF_LIKE(4, 0);
static void log_line(enum log_event_id event, enum log_level level, int64_t left_out, const char *format,
                     va_list arguments)
{
	char line[LINE_BYTES];
	size_t room = sizeof(line) - 1, len = line_head(line, room, event, level);
	int added = vsnprintf(line + len, room - len, format, arguments);

	if (added > 0)
		len += (size_t)added < room - len ? (size_t)added : room - len - 1;
	if (left_out > 0) {
		added = snprintf(line + len, room - len, " (%lld more left out)", (long long)left_out);
		len += (size_t)added < room - len ? (size_t)added : room - len - 1;
	}
	line_write(line, len);
}

void log_write(enum log_event_id event, const char *format, ...)
{
	va_list arguments;

	if ((int)events[event].level > threshold)
		return;
	va_start(arguments, format);
	log_line(event, events[event].level, 0, format, arguments);
	va_end(arguments);
}

void log_write_limited(enum log_event_id event, const char *format, ...)
{
	int64_t now_ms = clock_monotonic_ms(), next_ms = limits[event].next_ms;
	va_list arguments;

	if ((int)events[event].level > threshold)
		return;
	if (now_ms < next_ms || !atomic_compare_exchange_strong(&limits[event].next_ms, &next_ms, now_ms + LIMIT_MS)) {
		limits[event].left_out++;
		return;
	}
	va_start(arguments, format);
	log_line(event, events[event].level, atomic_exchange(&limits[event].left_out, 0), format, arguments);
	va_end(arguments);
}

static void log_at(enum log_event_id event, enum log_level level, const char *format, ...) PRINTF_LIKE(3, 4);

static void log_at(enum log_event_id event, enum log_level level, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_line(event, level, 0, format, arguments);
	va_end(arguments);
}

void log_plugin(const char *plugin, enum log_level level, const char *text, size_t len)
{
	if ((int)level > threshold)
		return;
	log_at(LOG_plugin_says, level, "plugin=%s %.*s", plugin, len < LINE_BYTES ? (int)len : LINE_BYTES,
	       text ? text : "");
}
