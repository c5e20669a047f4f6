/* Time.  Wall time may be shifted for tests; monotonic time never is.  [any thread] */
#ifndef IDEM_BASE_CLOCK_H
#define IDEM_BASE_CLOCK_H
#include <stdint.h>
#include <time.h>

int64_t clock_wall_ms(void); /* since 1970, plus the offset */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);
void clock_set_offset_ms(int64_t offset_ms); /* [main] before threads start */
/* An absolute CLOCK_MONOTONIC time `ms` from now, for pthread_cond_clockwait and the like. */
struct timespec clock_deadline(int64_t ms);
#endif
