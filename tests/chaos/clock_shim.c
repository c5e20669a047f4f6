/* LD_PRELOAD for a host under chaos: its wall clock is the real one plus the milliseconds that stand in the file
 * IDEM_CLOCK_FILE (one int64_t, mapped), so that a living process is stepped by a write to that file.  Deadlines given
 * by the wall clock are taken back to the real one.  A wait that has begun does not notice a step; CLOCK_MONOTONIC is
 * real. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SHIM __attribute__((visibility("default")))
#define BILLION 1000000000

static const int64_t nowhere;
static const volatile int64_t *offset_ms = &nowhere;

__attribute__((constructor)) static void map_offset(void)
{
	const char *path = getenv("IDEM_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *page;

	if (fd < 0)
		return;
	page = mmap(NULL, sizeof(*offset_ms), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		offset_ms = page;
}

static void add_ms(struct timespec *time, int64_t ms)
{
	int64_t nanoseconds = time->tv_nsec + ms % 1000 * 1000000;

	time->tv_sec += ms / 1000;
	if (nanoseconds < 0) {
		nanoseconds += BILLION;
		time->tv_sec--;
	}
	time->tv_sec += nanoseconds / BILLION;
	time->tv_nsec = nanoseconds % BILLION;
}

static int real_time(clockid_t clock, struct timespec *time)
{
	static int (*real)(clockid_t, struct timespec *);

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))(uintptr_t)dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, time);
}

SHIM int clock_gettime(clockid_t clock, struct timespec *out_time)
{
	int result = real_time(clock, out_time);

	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		add_ms(out_time, *offset_ms);
	return result;
}

SHIM int gettimeofday(struct timeval *restrict out_time, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	out_time->tv_sec = now.tv_sec;
	out_time->tv_usec = now.tv_nsec / 1000;
	return 0;
}

SHIM time_t time(time_t *out_time)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (out_time)
		*out_time = now.tv_sec;
	return now.tv_sec;
}

SHIM int timespec_get(struct timespec *out_time, int base)
{
	return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, out_time) == 0 ? base : 0;
}

SHIM int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict lock, const struct timespec *restrict until)
{
	static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
	struct timespec deadline = *until;

	if (!real)
		real = (int (*)(cnd_t *, mtx_t *, const struct timespec *))(uintptr_t)dlsym(RTLD_NEXT, "cnd_timedwait");
	add_ms(&deadline, -*offset_ms);
	return real(cond, lock, &deadline);
}
