/* What source and workers of a pipeline know together of its parked events.  Nothing here decides whether a key is
 * parked: that is asked in the transaction (ENGINE section 7). */
#ifndef IDEM_PIPELINE_PARKING_H
#define IDEM_PIPELINE_PARKING_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct parking {
	bool is_on; /* something may be parked: retry.mode says so, or it was when the process began */
	bool parks; /* what ends RETRY is parked: retry.mode, in ordered lanes */
	_Atomic int64_t
	        events; /* of the group, about: counted by the source once a second, then by what is parked here */
	_Atomic int64_t next_due_ms; /* monotonic: something parked here is due then, INT64_MAX: nothing */
};

static inline void parking_note_due(struct parking *parking, int64_t due_ms)
{
	int64_t known_ms = atomic_load(&parking->next_due_ms);
	while (due_ms < known_ms && !atomic_compare_exchange_weak(&parking->next_due_ms, &known_ms, due_ms))
		;
}
#endif
