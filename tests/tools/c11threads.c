/* C11 threads over POSIX ones, linked in under ThreadSanitizer: librdkafka starts its threads by thrd_create, which the
 * sanitizer of gcc 12 does not know; it crashes in the first of them.  Through this it sees threads, locks and
 * conditions. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t), "glibc on LP64");

static pthread_mutex_t *mutex_of(mtx_t *mutex)
{
	return (pthread_mutex_t *)(void *)mutex;
}

static pthread_cond_t *cond_of(cnd_t *cond)
{
	return (pthread_cond_t *)(void *)cond;
}

static int result_of(int code)
{
	return code == 0 ? thrd_success : code == ETIMEDOUT ? thrd_timedout : code == EBUSY ? thrd_busy : thrd_error;
}

struct start {
	thrd_start_t function;
	void *argument;
};

static void *run(void *self)
{
	struct start start = *(struct start *)self;
	free(self);
	return (void *)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
	struct start *start = malloc(sizeof(*start));
	if (!start)
		return thrd_nomem;
	*start = (struct start){function, argument};
	int code = pthread_create(thread, NULL, run, start);
	if (code)
		free(start);
	return result_of(code);
}

int thrd_join(thrd_t thread, int *out_result)
{
	void *result = NULL;
	int code = pthread_join(thread, &result);
	if (out_result)
		*out_result = (int)(intptr_t)result;
	return result_of(code);
}

int mtx_init(mtx_t *mutex, int type)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
	int code = pthread_mutex_init(mutex_of(mutex), &attributes);
	pthread_mutexattr_destroy(&attributes);
	return result_of(code);
}

void mtx_destroy(mtx_t *mutex)
{
	pthread_mutex_destroy(mutex_of(mutex));
}

int mtx_lock(mtx_t *mutex)
{
	return result_of(pthread_mutex_lock(mutex_of(mutex)));
}

int mtx_unlock(mtx_t *mutex)
{
	return result_of(pthread_mutex_unlock(mutex_of(mutex)));
}

int cnd_init(cnd_t *cond)
{
	return result_of(pthread_cond_init(cond_of(cond), NULL));
}

void cnd_destroy(cnd_t *cond)
{
	pthread_cond_destroy(cond_of(cond));
}

int cnd_signal(cnd_t *cond)
{
	return result_of(pthread_cond_signal(cond_of(cond)));
}

int cnd_broadcast(cnd_t *cond)
{
	return result_of(pthread_cond_broadcast(cond_of(cond)));
}

int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	return result_of(pthread_cond_wait(cond_of(cond), mutex_of(mutex)));
}

int cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *until)
{
	return result_of(pthread_cond_timedwait(cond_of(cond), mutex_of(mutex), until));
}
