#include "core/base/clock.h"
#include "core/base/assert.h"
#include <errno.h>
#include <stdatomic.h>

static int64_t wall_offset_ms;                       /* written before threads start */
static _Atomic int64_t shared_offset_ms = INT64_MIN; /* to monotonic time; INT64_MIN: not told */

static struct timespec now(clockid_t clock)
{
	struct timespec time;

	ASSERT(clock_gettime(clock, &time) == 0);
	return time;
}

int64_t clock_wall_ms(void)
{
	struct timespec time = now(CLOCK_REALTIME);

	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000 + wall_offset_ms;
}

int64_t clock_monotonic_ms(void)
{
	return clock_monotonic_us() / 1000;
}

int64_t clock_monotonic_us(void)
{
	struct timespec time = now(CLOCK_MONOTONIC);

	return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

int64_t clock_shared_ms(void)
{
	int64_t offset_ms = atomic_load(&shared_offset_ms);

	return offset_ms == INT64_MIN ? clock_wall_ms() : clock_monotonic_ms() + offset_ms;
}

void clock_share(int64_t shared_ms)
{
	atomic_store(&shared_offset_ms, shared_ms - clock_monotonic_ms());
}

void clock_set_offset_ms(int64_t offset_ms)
{
	wall_offset_ms = offset_ms;
}

struct timespec clock_deadline(int64_t ms)
{
	struct timespec time = now(CLOCK_MONOTONIC);

	if (ms <= 0)
		return time;
	time.tv_sec += (time_t)(ms / 1000);
	time.tv_nsec += (long)(ms % 1000) * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_nsec -= 1000000000;
		time.tv_sec++;
	}
	return time;
}

bool clock_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until)
{
	int result = pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, until);

	ASSERT(result == 0 || result == ETIMEDOUT);
	return result == 0;
}
