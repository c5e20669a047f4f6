#include "core/main/dlq_arguments.h"
#include "core/base/clock.h"
#include "core/config/value.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Decimal digits up to the end or to *end's stop; false: none, or above max. */
static bool read_number(const char *text, char stop, int64_t max, const char **out_rest, int64_t *out_number)
{
	int64_t number = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (number > (max - (*at - '0')) / 10)
			return false;
		number = number * 10 + (*at - '0');
	}
	if (at == text || (*at != '\0' && *at != stop))
		return false;
	*out_rest = at;
	*out_number = number;
	return true;
}

static bool read_count(const char *name, const char *text, int64_t least, int64_t *out_count, struct error *error)
{
	const char *rest;

	if (!text)
		return true;
	return (read_number(text, '\0', INT32_MAX, &rest, out_count) && *out_count >= least) ||
	       error_set(error, ERROR_INVALID, "--%s %s: a whole number from %d on is wanted", name, text, (int)least);
}

/* "2026-12-01", "2026-12-01T10:00:00", with or without seconds and Z; UTC. */
static bool read_date(const char *text, int64_t *out_ms)
{
	static const char *const formats[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%MZ",
	                                      "%Y-%m-%dT%H:%M", "%Y-%m-%d"};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm parts = {0};
		const char *end = strptime(text, formats[i], &parts);

		if (end && *end == '\0') {
			*out_ms = (int64_t)timegm(&parts) * 1000;
			return true;
		}
	}
	return false;
}

static bool read_time(const char *name, const char *text, int64_t *out_ms, struct error *error)
{
	int64_t ago_ms;

	if (!text || read_date(text, out_ms))
		return true;
	if (!value_parse_duration(text, false, &ago_ms, NULL))
		return error_set(error, ERROR_INVALID,
		                 "--%s %s: write 30m, 2h or 7d (ago), 2026-12-01 or 2026-12-01T10:00:00 (UTC)", name,
		                 text);
	*out_ms = clock_wall_ms() - ago_ms;
	return true;
}

/* PARTITION or PARTITION/OFFSET. */
static bool read_place(const char *text, int32_t *out_partition, int64_t *out_offset)
{
	const char *rest;
	int64_t partition;

	if (!read_number(text, '/', INT32_MAX, &rest, &partition))
		return false;
	*out_partition = (int32_t)partition;
	return *rest == '\0' || read_number(rest + 1, '\0', INT64_MAX, &rest, out_offset);
}

static bool read_at(const char *text, struct dead_letter_filter *filter, struct error *error)
{
	filter->offset = -1;
	if (!text || (read_place(text, &filter->partition, &filter->offset) && filter->offset >= 0))
		return true;
	return error_set(error, ERROR_INVALID, "--at %s: write PARTITION/OFFSET as dlq list shows it, e.g. 0/17", text);
}

static bool read_origin(const char *text, struct dlq_arguments *arguments, struct error *error)
{
	size_t len = text ? strcspn(text, "/") : 0;
	struct dead_letter_filter *filter = &arguments->filter;

	if (!text)
		return true;
	if (len == 0 || len >= sizeof(arguments->origin_topic) ||
	    (text[len] == '/' && !read_place(text + len + 1, &filter->origin_partition, &filter->origin_offset)))
		return error_set(error, ERROR_INVALID,
		                 "--origin %s: write TOPIC, TOPIC/PARTITION or TOPIC/PARTITION/OFFSET", text);
	memcpy(arguments->origin_topic, text, len);
	arguments->origin_topic[len] = '\0';
	filter->origin_topic = arguments->origin_topic;
	return true;
}

bool dlq_arguments_read(const struct ctl_dlq *given, int64_t default_limit, struct dlq_arguments *out_arguments,
                        struct error *error)
{
	*out_arguments = (struct dlq_arguments){
	        .filter =
	                {
	                        .ids = given->id_count ? given->ids : NULL,
	                        .id_count = given->id_count,
	                        .reason = given->reason,
	                        .origin_partition = -1,
	                        .origin_offset = -1,
	                        .since_ms = -1,
	                        .until_ms = -1,
	                        .partition = -1,
	                },
	        .limit = default_limit,
	};
	return read_count("limit", given->limit, 0, &out_arguments->limit, error) &&
	       read_count("rate", given->rate, 1, &out_arguments->per_second, error) &&
	       read_time("since", given->since, &out_arguments->filter.since_ms, error) &&
	       read_time("until", given->until, &out_arguments->filter.until_ms, error) &&
	       read_at(given->at, &out_arguments->filter, error) && read_origin(given->origin, out_arguments, error);
}
