#include "core/base/failpoint.h"

#ifdef IDEM_FAILPOINTS
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POINTS_MAX 16

enum action { ACTION_FAIL, ACTION_KILL, ACTION_KILLGROUP };

struct point {
	char name[64];
	enum action action;
	bool always;
	_Atomic long countdown;
};

static struct point points[POINTS_MAX]; /* names and actions are written before threads start */
static size_t point_count;

static bool action_parse(const char *text, enum action *out_action)
{
	static const char *const names[] = {"fail", "kill", "killgroup"};

	for (int i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			*out_action = (enum action)i;
			return true;
		}
	}
	return false;
}

/* One "name=action[:countdown]"; cut into its parts in place. */
static bool point_parse(char *text, struct point *point)
{
	char *action = strchr(text, '='), *count, *end;

	if (!action || action == text)
		return false;
	*action++ = '\0';
	count = strchr(action, ':');
	if (count)
		*count++ = '\0';
	point->always = count && strcmp(count, "always") == 0;
	point->countdown = 1;
	if (count && !point->always) {
		point->countdown = strtol(count, &end, 10);
		if (end == count || *end || point->countdown < 1)
			return false;
	}
	return snprintf(point->name, sizeof(point->name), "%s", text) < (int)sizeof(point->name) &&
	       action_parse(action, &point->action);
}

bool failpoint_arm(const char *spec, struct error *error)
{
	char copy[1024], *rest = copy, *one;

	point_count = 0;
	if (!spec || !spec[0])
		return true;
	if (snprintf(copy, sizeof(copy), "%s", spec) >= (int)sizeof(copy))
		return error_set(error, ERROR_INVALID, "fail points: the list is too long");
	while ((one = strsep(&rest, ",")) != NULL) {
		if (point_count == POINTS_MAX)
			return error_set(error, ERROR_INVALID, "fail points: more than %d", POINTS_MAX);
		if (!point_parse(one, &points[point_count]))
			return error_set(error, ERROR_INVALID,
			                 "fail point %s: write name=kill|killgroup|fail[:count|:always]", one);
		point_count++;
	}
	return true;
}

static bool point_act(struct point *point)
{
	if (!point->always && atomic_fetch_sub(&point->countdown, 1) != 1)
		return false;
	if (point->action != ACTION_FAIL)
		kill(point->action == ACTION_KILL ? getpid() : 0, SIGKILL);
	return true;
}

bool failpoint_hit(const char *name)
{
	bool fail = false;

	for (size_t i = 0; i < point_count; i++)
		if (strcmp(points[i].name, name) == 0)
			fail |= point_act(&points[i]);
	return fail;
}
#endif
