/* idemctl status and lag: what the running host's admin port tells, as tables. */
#include "core/base/assert.h"
#include "core/main/http_get.h"
#include "core/main/idemctl.h"
#include <stdio.h>
#include <stdlib.h>
#include <yajl/yajl_tree.h>

/* The parsed answer, or NULL with *out_status: told already. */
static yajl_val ask(const struct ctl *ctl, int *out_status)
{
	struct error error;
	char *body, why[256];
	yajl_val tree;

	if (!http_get(&ctl->config->admin, "/api/v1/status", &body, &error)) {
		*out_status = ctl_fail(&error);
		return NULL;
	}
	*out_status = CTL_OK;
	tree = ctl->json ? NULL : yajl_tree_parse(body, why, sizeof(why));
	if (ctl->json) {
		fputs(body, stdout);
	} else if (!tree) {
		fprintf(stderr, "idemctl: the admin port's answer is not understood: %s\n", why);
		*out_status = CTL_NO;
	}
	free(body);
	return tree;
}

static const char *text_of(yajl_val object, const char **path)
{
	yajl_val value = yajl_tree_get(object, path, yajl_t_string);

	return value ? YAJL_GET_STRING(value) : "";
}

static const char *text_at(yajl_val object, const char *name)
{
	const char *path[] = {name, NULL};

	return text_of(object, path);
}

static long long number_at(yajl_val object, const char *outer, const char *inner)
{
	const char *path[] = {outer, inner, NULL};
	yajl_val value = yajl_tree_get(object, path, yajl_t_number);

	return value && YAJL_IS_INTEGER(value) ? YAJL_GET_INTEGER(value) : 0;
}

static bool is_ready(yajl_val pipeline)
{
	const char *path[] = {"ready", NULL};

	return YAJL_IS_TRUE(yajl_tree_get(pipeline, path, yajl_t_true));
}

static yajl_val list_at(yajl_val object, const char *name)
{
	const char *path[] = {name, NULL};

	return yajl_tree_get(object, path, yajl_t_array);
}

static void print_pipeline(yajl_val pipeline)
{
	const char *version[] = {"plugin", "version", NULL}, *name[] = {"plugin", "name", NULL};
	char plugin[128];

	snprintf(plugin, sizeof(plugin), "%s %s", text_of(pipeline, name), text_of(pipeline, version));
	printf("%-32s %-24s %-9s %-5s %8lld %10lld %10lld %10lld %8lld %8lld %8lld %8lld %8lld  %s\n",
	       text_at(pipeline, "name"), plugin, text_at(pipeline, "state"), is_ready(pipeline) ? "yes" : "no",
	       number_at(pipeline, "restarts", NULL), number_at(pipeline, "lag", NULL),
	       number_at(pipeline, "counters", "consumed"), number_at(pipeline, "counters", "processed"),
	       number_at(pipeline, "counters", "duplicates"), number_at(pipeline, "counters", "ignored"),
	       number_at(pipeline, "counters", "retried"), number_at(pipeline, "counters", "parked"),
	       number_at(pipeline, "counters", "dead"), text_at(pipeline, "reason"));
}

int ctl_status(const struct ctl *ctl)
{
	int status;
	yajl_val tree = ask(ctl, &status), pipelines = tree ? list_at(tree, "pipelines") : NULL;

	if (pipelines)
		printf("%-32s %-24s %-9s %-5s %8s %10s %10s %10s %8s %8s %8s %8s %8s  %s\n", "pipeline", "plugin",
		       "state", "ready", "restarts", "lag", "consumed", "processed", "dup", "ignored", "retried",
		       "parked", "dead", "why");
	for (size_t i = 0; pipelines && i < YAJL_GET_ARRAY(pipelines)->len; i++)
		print_pipeline(YAJL_GET_ARRAY(pipelines)->values[i]);
	yajl_tree_free(tree);
	return status;
}

static void print_lag(yajl_val pipeline)
{
	yajl_val partitions = list_at(pipeline, "partitions");

	for (size_t i = 0; partitions && i < YAJL_GET_ARRAY(partitions)->len; i++) {
		yajl_val row = YAJL_GET_ARRAY(partitions)->values[i];

		printf("%-32s %-40s %9lld %10lld\n", text_at(pipeline, "name"), text_at(row, "topic"),
		       number_at(row, "partition", NULL), number_at(row, "lag", NULL));
	}
}

int ctl_lag(const struct ctl *ctl)
{
	int status;
	yajl_val tree = ask(ctl, &status), pipelines = tree ? list_at(tree, "pipelines") : NULL;

	if (pipelines)
		printf("%-32s %-40s %9s %10s\n", "pipeline", "topic", "partition", "lag");
	for (size_t i = 0; pipelines && i < YAJL_GET_ARRAY(pipelines)->len; i++)
		print_lag(YAJL_GET_ARRAY(pipelines)->values[i]);
	yajl_tree_free(tree);
	return status;
}
