/* Time.  Wall time may be shifted for tests; monotonic time never is.  [any thread] */
#ifndef IDEM_BASE_CLOCK_H
#define IDEM_BASE_CLOCK_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

int64_t clock_wall_ms(void); /* since 1970, plus the offset */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);
/* The time that all hosts agree on, for what one of them writes and another one reads: the database's clock as it was
 * last told, carried on by the monotonic one, so that no step of the host's clock moves it; the wall clock until then.
 */
int64_t clock_shared_ms(void);
void clock_share(int64_t shared_ms);         /* what it is now */
void clock_set_offset_ms(int64_t offset_ms); /* [main] before threads start */
/* An absolute CLOCK_MONOTONIC time `ms` from now. */
struct timespec clock_deadline(int64_t ms);
/* Waits on cond with lock held, as pthread_cond_wait, at most until that time.  False: it is over.  May return early,
 * so look at what is waited for either way. */
bool clock_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until);
#endif
