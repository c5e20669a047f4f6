/* The metrics of the plugins' own.  Their text comes from processes that run plugin code: each line is looked at, so
 * that nothing but whole samples of the pipeline itself gets into the answer. */
#include "core/admin/status.h"
#include "core/base/assert.h"
#include <stdlib.h>
#include <string.h>

#define PREFIX "idem_plugin_"

static bool is_printable(const char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			return false;
	return true;
}

/* The length of the metric's name at text, 0: none of a plugin's. */
static size_t name_length(const char *text)
{
	if (strncmp(text, PREFIX, sizeof(PREFIX) - 1) != 0)
		return 0;
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

/* name{pipeline="…"[,le="…"]} number */
static bool is_sample(const char *line, const char *pipeline)
{
	const char *labels = line + name_length(line), *value = strstr(labels, "\"} ");
	char wanted[300], *end;

	snprintf(wanted, sizeof(wanted), "{pipeline=\"%s\"", pipeline);
	if (labels == line || !value || strncmp(labels, wanted, strlen(wanted)) != 0)
		return false;
	labels += strlen(wanted) - 1;
	if (labels != value &&
	    (strncmp(labels, "\",le=\"", 6) != 0 || strcspn(labels + 6, "\"\\") != (size_t)(value - labels - 6)))
		return false;
	strtod(value + 3, &end);
	return end != value + 3 && !*end;
}

/* "# HELP name …", "# TYPE name …": once each in the whole answer, however many pipelines run the plugin. */
static bool is_new_comment(const char *line, const char *said)
{
	size_t head = strlen("# HELP "), name;
	char wanted[128];

	if (strncmp(line, "# HELP ", head) != 0 && strncmp(line, "# TYPE ", head) != 0)
		return false;
	name = name_length(line + head);
	if (name == 0 || line[head + name] != ' ' || head + name + 2 > sizeof(wanted))
		return false;
	snprintf(wanted, sizeof(wanted), "%.*s", (int)(head + name + 1), line);
	return strstr(said, wanted) == NULL;
}

/* said: what was printed by pipelines before this one. */
static void print_lines(char *text, const char *pipeline, const char *said, FILE *out)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		if (is_printable(line) && (is_sample(line, pipeline) || is_new_comment(line, said)))
			fprintf(out, "%s\n", line);
}

void admin_print_plugin_metrics(const struct admin_status *status, FILE *out)
{
	char *text = malloc(METRICS_TEXT_BYTES + 1), *said = NULL;
	size_t said_len;
	FILE *lines = open_memstream(&said, &said_len);

	ASSERT(text && lines);
	for (size_t i = 0; i < status->count; i++) {
		ASSERT(fflush(lines) == 0);
		(void)metrics_read_text(status->pipelines[i].page, text);
		print_lines(text, status->pipelines[i].name, said, lines);
	}
	ASSERT(fclose(lines) == 0);
	fputs(said, out);
	free(said);
	free(text);
}
