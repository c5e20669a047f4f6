/* idemctl parked: the keys that wait for another try, and trying them now. */
#include "core/db/parked_print.h"
#include "core/db/schema.h"
#include "core/main/idemctl.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LIST_LIMIT 100

static bool read_limit(const struct ctl *ctl, int64_t *out_limit)
{
	const char *text = ctl->dlq.limit;
	char *end;

	*out_limit = LIST_LIMIT;
	if (!text)
		return true;
	errno = 0;
	*out_limit = strtoll(text, &end, 10);
	if (errno == 0 && end != text && *end == '\0' && *out_limit >= 0)
		return true;
	fprintf(stderr, "idemctl: --limit: \"%s\" is no number\n", text);
	return false;
}

static struct parked_choice choice_of(const struct ctl *ctl, int64_t limit)
{
	return (struct parked_choice){.schema = ctl->config->database.schema,
	                              .group = ctl->dlq.pipeline,
	                              .key = ctl->key,
	                              .limit = limit,
	                              .is_json = ctl->json};
}

static int list(const struct ctl *ctl, struct pg *pg)
{
	struct parked_choice choice = choice_of(ctl, 0);
	struct error error;

	if (!read_limit(ctl, &choice.limit))
		return CTL_USAGE;
	if (!schema_check(pg, choice.schema, &error) || !parked_print(pg, &choice, stdout, &error))
		return ctl_fail(&error);
	return CTL_OK;
}

int ctl_parked_list(const struct ctl *ctl)
{
	return ctl_find_pipeline(ctl, ctl->dlq.pipeline) ? ctl_with_database(ctl, list) : CTL_NO;
}

/* Nothing to do is what --all may find; a key that was named should be there. */
static int tell_released(const struct ctl *ctl, size_t keys)
{
	const char *plural = keys == 1 ? "" : "s";

	if (ctl->json)
		printf("{\"matched\":%zu,\"dry_run\":%s}\n", keys, ctl->dlq.dry_run ? "true" : "false");
	else if (ctl->dlq.dry_run)
		printf("would release %zu key%s; nothing was changed\n", keys, plural);
	else
		printf("%zu key%s due now; a running host tries the first event of each within a second\n", keys,
		       keys == 1 ? " is" : "s are");
	if (keys > 0 || ctl->dlq.all)
		return CTL_OK;
	fprintf(stderr, "idemctl: key %s is not parked\n", ctl->key);
	return CTL_NO;
}

static int release(const struct ctl *ctl, struct pg *pg)
{
	struct parked_choice choice = choice_of(ctl, 0);
	struct error error;
	size_t keys;

	if (!schema_check(pg, choice.schema, &error) || !parked_release(pg, &choice, ctl->dlq.dry_run, &keys, &error))
		return ctl_fail(&error);
	return tell_released(ctl, keys);
}

int ctl_parked_release(const struct ctl *ctl)
{
	if (!ctl->key == !ctl->dlq.all) {
		fprintf(stderr, "idemctl: say which keys: --key, or --all\n");
		return CTL_USAGE;
	}
	return ctl_find_pipeline(ctl, ctl->dlq.pipeline) ? ctl_with_database(ctl, release) : CTL_NO;
}
