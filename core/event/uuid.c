#include "core/event/uuid.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#define uuid_compare libuuid_compare /* the header's own uuid_compare has another type; not called */
#include <uuid/uuid.h>
#undef uuid_compare

#include "core/base/assert.h"

#define MS_MAX INT64_C(0xffffffffffff)
#define COUNTER_LOW_BITS 62
#define COUNTER_LOW_MAX ((UINT64_C(1) << COUNTER_LOW_BITS) - 1)
#define COUNTER_HIGH_MAX 0xfffu

_Static_assert(sizeof(struct uuid) == sizeof(uuid_t), "libuuid reads and writes our bytes");

bool uuid_from_text(struct bytes text, struct uuid *out_uuid)
{
	struct uuid uuid;

	/* Takes the 36 character form alone. */
	if (!text.ptr || uuid_parse_range(text.ptr, text.ptr + text.len, uuid.byte) != 0)
		return false;
	*out_uuid = uuid;
	return true;
}

void uuid_to_text(const struct uuid *uuid, char out_text[UUID_TEXT_BYTES])
{
	uuid_unparse_lower(uuid->byte, out_text);
}

int uuid_version(const struct uuid *uuid)
{
	return (uuid->byte[8] & 0xc0) == 0x80 ? uuid->byte[6] >> 4 : 0;
}

int64_t uuid_time_ms(const struct uuid *uuid)
{
	int64_t ms = 0;

	for (int i = 0; i < 6; i++)
		ms = ms << 8 | uuid->byte[i];
	return ms;
}

/* ms: 48 bits; high: 12, low: 62. */
static void put_v7(int64_t ms, uint32_t high, uint64_t low, struct uuid *out_uuid)
{
	for (int i = 0; i < 6; i++)
		out_uuid->byte[i] = (uint8_t)(ms >> (40 - 8 * i));
	out_uuid->byte[6] = (uint8_t)(0x70 | high >> 8);
	out_uuid->byte[7] = (uint8_t)high;
	for (int i = 0; i < 8; i++)
		out_uuid->byte[8 + i] = (uint8_t)(low >> (56 - 8 * i));
	out_uuid->byte[8] = (uint8_t)(0x80 | (out_uuid->byte[8] & 0x3f));
}

static int64_t clamp_ms(int64_t ms)
{
	if (ms < 0)
		return 0;
	return ms < MS_MAX ? ms : MS_MAX;
}

int uuid_compare(const struct uuid *a, const struct uuid *b)
{
	return memcmp(a->byte, b->byte, sizeof(a->byte));
}

/* The last id made, as a number of 48 + 12 + 62 bits: the next one is greater, whatever the clock says. */
static struct {
	pthread_mutex_t lock;
	int64_t ms;
	uint32_t high;
	uint64_t low;
	uint64_t random[128]; /* a system call for 128 words, not for each */
	size_t random_left;
} last = {.lock = PTHREAD_MUTEX_INITIALIZER, .ms = -1};

static uint64_t random_word(void)
{
	if (last.random_left == 0) {
		uint8_t *at = (uint8_t *)last.random;
		size_t left = sizeof(last.random);
		while (left > 0) {
			ssize_t got = getrandom(at, left, 0);
			ASSERT(got > 0 || errno == EINTR);
			if (got > 0) {
				at += got;
				left -= (size_t)got;
			}
		}
		last.random_left = sizeof(last.random) / sizeof(*last.random);
	}
	return last.random[--last.random_left];
}

/* Upper half of the counter's range stays free, so that a millisecond does not run out of numbers. */
static void begin_ms(int64_t ms)
{
	last.ms = ms;
	last.high = (uint32_t)random_word() & (COUNTER_HIGH_MAX >> 1);
	last.low = random_word() & COUNTER_LOW_MAX;
}

static void count_on(void)
{
	last.low += 1 + (random_word() >> 32); /* the next id can't be guessed from this one */
	if (last.low <= COUNTER_LOW_MAX)
		return;
	last.low &= COUNTER_LOW_MAX;
	if (++last.high > COUNTER_HIGH_MAX)
		begin_ms(last.ms + 1);
}

void uuid_make_v7(int64_t now_ms, struct uuid *out_uuid)
{
	now_ms = clamp_ms(now_ms);
	PTHREAD_OK(pthread_mutex_lock(&last.lock));
	if (now_ms > last.ms)
		begin_ms(now_ms);
	else
		count_on();
	put_v7(last.ms, last.high, last.low, out_uuid);
	PTHREAD_OK(pthread_mutex_unlock(&last.lock));
}
