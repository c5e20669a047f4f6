#include "core/pipeline/gate.h"

#include "core/base/assert.h"
#include "core/base/clock.h"

void gate_init(struct gate *gate, void (*on_change)(void *self, bool down), void *self)
{
	*gate = (struct gate){.on_change = on_change, .self = self};
	PTHREAD_OK(pthread_mutex_init(&gate->lock, NULL));
	PTHREAD_OK(pthread_cond_init(&gate->changed, NULL));
}

void gate_done(struct gate *gate)
{
	PTHREAD_OK(pthread_cond_destroy(&gate->changed));
	PTHREAD_OK(pthread_mutex_destroy(&gate->lock));
}

static void gate_set(struct gate *gate, bool down)
{
	if (gate->down != down && gate->on_change)
		gate->on_change(gate->self, down);
	gate->down = down;
	gate->probing = false;
	PTHREAD_OK(pthread_cond_broadcast(&gate->changed));
}

void gate_lost(struct gate *gate)
{
	PTHREAD_OK(pthread_mutex_lock(&gate->lock));
	gate->next_try_ms = clock_monotonic_ms() + GATE_RETRY_MS;
	gate_set(gate, true);
	PTHREAD_OK(pthread_mutex_unlock(&gate->lock));
}

void gate_found(struct gate *gate)
{
	PTHREAD_OK(pthread_mutex_lock(&gate->lock));
	gate_set(gate, false);
	PTHREAD_OK(pthread_mutex_unlock(&gate->lock));
}

bool gate_wait(struct gate *gate)
{
	PTHREAD_OK(pthread_mutex_lock(&gate->lock));
	while (gate->down && !gate->closed) {
		int64_t left_ms = gate->next_try_ms - clock_monotonic_ms();
		if (left_ms <= 0 && !gate->probing) {
			gate->probing = true;
			break;
		}
		struct timespec until = clock_deadline(gate->probing || left_ms <= 0 ? GATE_RETRY_MS : left_ms);
		(void)clock_wait_until(&gate->changed, &gate->lock, &until);
	}
	bool open = !gate->closed;
	PTHREAD_OK(pthread_mutex_unlock(&gate->lock));
	return open;
}

void gate_close(struct gate *gate)
{
	PTHREAD_OK(pthread_mutex_lock(&gate->lock));
	gate->closed = true;
	PTHREAD_OK(pthread_cond_broadcast(&gate->changed));
	PTHREAD_OK(pthread_mutex_unlock(&gate->lock));
}
