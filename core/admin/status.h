/* What the admin port tells, and its three spellings.  Pure functions of their input.  [main] */
#ifndef IDEM_ADMIN_STATUS_H
#define IDEM_ADMIN_STATUS_H
#include "core/base/metrics.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct admin_pipeline {
	const char *name;
	const char *plugin_name, *plugin_version; /* as the file says; "" when it says nothing */
	const char *state;                        /* waiting, running, stopping, down */
	const char *reason;                       /* why it is in that state, for people; "" none */
	bool running;                             /* a process is there that was not asked to stop */
	int64_t pid;                              /* 0: none */
	int64_t restarts, uptime_ms;
	int64_t latency_p95_us;          /* of the last minute or two */
	const struct metrics_page *page; /* written by the child, which runs plugin code: its strings are not trusted */
};
struct admin_status {
	const struct admin_pipeline *pipelines;
	size_t count;
	bool draining;
	int64_t reloads, reload_failures;
};

/* Ready: a running child whose page says so; else out_why (at least 1 byte) says why not. */
bool admin_pipeline_is_ready(const struct admin_pipeline *pipeline, char *out_why, size_t size);
/* The topic of a lag row, made safe to print. */
#define ADMIN_TOPIC_BYTES 256
void admin_lag_topic(const struct metrics_lag *row, char *out, size_t size);
/* True when all are; one line per pipeline. */
bool admin_print_ready(const struct admin_status *status, FILE *out);
void admin_print_plugin_metrics(const struct admin_status *status, FILE *out);
void admin_print_metrics(const struct admin_status *status, FILE *out);
void admin_print_status(const struct admin_status *status, FILE *out);
#endif
