/* The options of idemctl dlq, from text. */
#ifndef IDEM_MAIN_DLQ_ARGUMENTS_H
#define IDEM_MAIN_DLQ_ARGUMENTS_H
#include "core/main/idemctl.h"
#include "core/retry/dead_letters.h"

struct dlq_arguments {
	struct dead_letter_filter filter;
	int64_t limit; /* 0: none */
	int64_t per_second;
	char origin_topic[256];
};

/* default_limit: when none was given.  out_arguments must not move: the filter points into it. */
bool dlq_arguments_read(const struct ctl_dlq *given, int64_t default_limit, struct dlq_arguments *out_arguments,
                        struct error *error) MUST_CHECK;
#endif
