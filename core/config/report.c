#include "core/config/report.h"
#include <stdlib.h>
#include <string.h>

void report_init(struct config_report *report)
{
	*report = (struct config_report){.count = 0};
	arena_init(&report->arena, 4096);
}

static struct config_mistake *report_next(struct config_report *report)
{
	struct config_mistake *grown;

	if (report->count == report->room) {
		report->room = report->room ? 2 * report->room : 8;
		grown = arena_alloc(&report->arena, report->room * sizeof(*grown));
		if (report->count)
			memcpy(grown, report->items, report->count * sizeof(*grown));
		report->items = grown;
	}
	return &report->items[report->count++];
}

void report_add(struct config_report *report, struct report_place place, bool warning, const char *format,
                va_list arguments)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, arguments);
	*report_next(report) = (struct config_mistake){
	        .file = place.file ? arena_printf(&report->arena, "%s", place.file) : NULL,
	        .line = place.line,
	        .warning = warning,
	        .text = arena_printf(&report->arena, "%s", text),
	};
	if (!warning)
		report->error_count++;
}

void report_error(struct config_report *report, struct report_place place, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report_add(report, place, false, format, arguments);
	va_end(arguments);
}

void report_warning(struct config_report *report, struct report_place place, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report_add(report, place, true, format, arguments);
	va_end(arguments);
}

static bool comes_after(const struct config_mistake *a, const struct config_mistake *b)
{
	int files = strcmp(a->file ? a->file : "", b->file ? b->file : "");

	return files ? files > 0 : a->line > b->line;
}

void report_sort(struct config_report *report)
{
	for (size_t i = 1; i < report->count; i++) { /* stable, and the list is short */
		struct config_mistake moved = report->items[i];
		size_t place = i;

		for (; place > 0 && comes_after(&report->items[place - 1], &moved); place--)
			report->items[place] = report->items[place - 1];
		report->items[place] = moved;
	}
}

void config_report_print(const struct config_report *report, const char *file, FILE *out)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct config_mistake *mistake = &report->items[i];
		const char *name = mistake->file ? mistake->file : file, *kind = mistake->warning ? "warning" : "error";

		if (mistake->line > 0)
			fprintf(out, "%s:%d: %s: %s\n", name, mistake->line, kind, mistake->text);
		else
			fprintf(out, "%s: %s: %s\n", name, kind, mistake->text);
	}
}

void config_report_done(struct config_report *report)
{
	arena_done(&report->arena);
	*report = (struct config_report){.count = 0};
}
