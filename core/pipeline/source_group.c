#include "core/base/assert.h"
#include "core/base/log.h"
#include "core/kafka/admin.h"
#include "core/pipeline/source_parts.h"

enum { GROUP_CHECK_TIMEOUT_MS = 2000 };

static bool count_partitions(struct source *source, int64_t *out_total, struct error *error)
{
	const struct config_strings *topics = &source->options.pipeline->topics;
	int64_t total = 0;
	for (size_t i = 0; i < topics->count; i++) {
		int partitions;
		if (source->group_check.cancelled ||
		    !kafka_topic_partitions(kafka_consumer_handle(source->consumer), topics->items[i],
		                            GROUP_CHECK_TIMEOUT_MS, &partitions, error))
			return false;
		total += partitions;
	}
	*out_total = total;
	return true;
}

static void *check(void *self)
{
	struct source *source = self;
	const struct config_pipeline *pipeline = source->options.pipeline;
	struct error error;
	size_t members;
	int64_t partitions;
	if (count_partitions(source, &partitions, &error) &&
	    kafka_consumer_group_size(source->consumer, GROUP_CHECK_TIMEOUT_MS, &members, &error) &&
	    pipeline->workers * (int64_t)members > partitions)
		log_write(LOG_workers_idle,
		          "%zu members with %lld workers each, but %lld partitions to share: use fewer workers or "
		          "ordering = \"key\"",
		          members, (long long)pipeline->workers, (long long)partitions);
	source->group_check.running = false;
	return NULL;
}

/* Only where a partition is the unit of order: key lanes go beyond it.  The answer of one that runs is good enough. */
void source_group_check_start(struct source *source)
{
	struct source_group_check *group_check = &source->group_check;
	if (source->options.pipeline->ordering != CONFIG_ORDERING_PARTITION || group_check->running)
		return;
	source_group_check_done(source);
	group_check->cancelled = false;
	group_check->running = true;
	group_check->started = true;
	PTHREAD_OK(pthread_create(&group_check->thread, NULL, check, source));
}

void source_group_check_done(struct source *source)
{
	struct source_group_check *group_check = &source->group_check;
	if (!group_check->started)
		return;
	group_check->cancelled = true;
	PTHREAD_OK(pthread_join(group_check->thread, NULL));
	group_check->started = false;
}
