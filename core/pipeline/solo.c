#include "core/pipeline/solo.h"

#include "core/base/assert.h"

void solo_init(struct solo *solo)
{
	*solo = (struct solo){0};
	PTHREAD_OK(pthread_mutex_init(&solo->lock, NULL));
	PTHREAD_OK(pthread_cond_init(&solo->changed, NULL));
}

void solo_done(struct solo *solo)
{
	PTHREAD_OK(pthread_cond_destroy(&solo->changed));
	PTHREAD_OK(pthread_mutex_destroy(&solo->lock));
}

/* Who wants to be alone goes first, or it would never be its turn. */
static bool solo_may_run(const struct solo *solo, bool is_alone)
{
	if (is_alone)
		return solo->running == 0;
	return !solo->is_alone && solo->waiting == 0;
}

void solo_enter(struct solo *solo, bool is_alone)
{
	PTHREAD_OK(pthread_mutex_lock(&solo->lock));
	solo->waiting += is_alone;
	while (!solo_may_run(solo, is_alone))
		PTHREAD_OK(pthread_cond_wait(&solo->changed, &solo->lock));
	solo->waiting -= is_alone;
	solo->running++;
	solo->is_alone = is_alone;
	PTHREAD_OK(pthread_mutex_unlock(&solo->lock));
}

void solo_leave(struct solo *solo)
{
	PTHREAD_OK(pthread_mutex_lock(&solo->lock));
	solo->running--;
	solo->is_alone = false;
	if (solo->running == 0)
		PTHREAD_OK(pthread_cond_broadcast(&solo->changed));
	PTHREAD_OK(pthread_mutex_unlock(&solo->lock));
}
