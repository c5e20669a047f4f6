#include "core/pipeline/side.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"

#define SIDE_TEND_MS 60000
#define SIDE_SKEW_MAX_MS 60000
#define SIDE_LETTERS_MS 100        /* between two statements: what comes meanwhile goes together */
#define SIDE_LETTERS_AGAIN_MS 1000 /* after one that failed */
#define SIDE_LETTERS_MAX 1000      /* in one */

enum answer { ANSWER_NONE, ANSWER_WRITTEN, ANSWER_FAILED };

struct side_request {
	struct dedup_progress *rows; /* owned; NULL: none */
	size_t count;
};

struct side_letter { /* waits for its row */
	struct side_letter *next;
	void *opaque;
	struct letter letter;
	struct arena arena; /* of its texts */
};

struct side {
	struct engine *engine;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stopping;
	struct side_request progress; /* answered by on_written */
	struct side_request waited;   /* of side_progress_wait, answered by `answer`: neither takes the other's */
	enum answer answer;
	struct parked_take *take; /* owned; NULL: none */
	struct pg *pg;
	int64_t next_tend_ms;
	struct side_letter *letters, **letters_end; /* in order of acknowledgement */
	int64_t next_letters_ms;
	struct side_answers answers;
};

/* ---- requests ---- */

static void side_free_rows(struct dedup_progress *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)rows[i].topic);
	free(rows);
}

static void side_ask(struct side *side, struct side_request *request, const struct dedup_progress *rows, size_t count)
{
	side_free_rows(request->rows, request->count); /* of a wait that timed out */
	request->rows = calloc(count ? count : 1, sizeof(*rows));
	ASSERT(request->rows);
	for (size_t i = 0; i < count; i++) {
		request->rows[i] = rows[i];
		request->rows[i].topic = strdup(rows[i].topic);
		ASSERT(request->rows[i].topic);
	}
	request->count = count;
	PTHREAD_OK(pthread_cond_broadcast(&side->changed));
}

void side_progress(struct side *side, const struct dedup_progress *rows, size_t count)
{
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	side_ask(side, &side->progress, rows, count);
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
}

bool side_progress_wait(struct side *side, const struct dedup_progress *rows, size_t count, int timeout_ms)
{
	struct timespec until = clock_deadline(timeout_ms);
	bool is_in_time = true;
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	side->answer = ANSWER_NONE;
	side_ask(side, &side->waited, rows, count);
	while (side->answer == ANSWER_NONE && is_in_time)
		is_in_time = clock_wait_until(&side->changed, &side->lock, &until);
	bool is_written = side->answer == ANSWER_WRITTEN;
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
	return is_written;
}

void side_take_parked(struct side *side, struct parked_take *take)
{
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	ASSERT(!side->take);
	side->take = take;
	PTHREAD_OK(pthread_cond_broadcast(&side->changed));
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
}

/* ---- dead letters ---- */

static void side_copy_letter(struct side_letter *copy, const struct letter *letter)
{
	struct arena *arena = &copy->arena;
	arena_init(arena, 1024 + letter->error_text.len + letter->payload.len);
	copy->letter = *letter;
	copy->letter.key = arena_copy(arena, letter->key);
	copy->letter.uuid = arena_copy(arena, letter->uuid);
	copy->letter.given_id = arena_copy(arena, letter->given_id);
	copy->letter.type = arena_copy(arena, letter->type);
	copy->letter.reason = arena_copy(arena, letter->reason);
	copy->letter.error_text = arena_copy(arena, letter->error_text);
	copy->letter.payload = arena_copy(arena, letter->payload);
	copy->letter.origin_topic = arena_string(arena, bytes_from_string(letter->origin_topic));
}

void side_index(struct side *side, const struct letter *letter, void *opaque)
{
	struct side_letter *copy = calloc(1, sizeof(*copy));
	ASSERT(copy);
	copy->opaque = opaque;
	side_copy_letter(copy, letter);
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	*side->letters_end = copy;
	side->letters_end = &copy->next;
	PTHREAD_OK(pthread_cond_broadcast(&side->changed));
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
}

static void side_free_letter(struct side_letter *letter)
{
	arena_done(&letter->arena);
	free(letter);
}

/* ---- the thread ---- */

static bool side_connect(struct side *side, struct error *error)
{
	char name[128];
	if (side->pg && !pg_is_broken(side->pg))
		return true;
	pg_close(side->pg);
	snprintf(name, sizeof(name), "idem %.40s side", side->engine->pipeline->name);
	side->pg = pg_open(&side->engine->config->database, name, engine_idle_in_transaction_ms(side->engine), error);
	return side->pg != NULL;
}

static void side_tend(struct side *side)
{
	struct error error;
	size_t dropped = 0;
	side->next_tend_ms = clock_monotonic_ms() + SIDE_TEND_MS;
	if (!side_connect(side, &error) || !dedup_tend(side->engine->dedup, side->pg, &dropped, &error)) {
		log_write_limited(LOG_dedup_failed, "%s", error.text);
		return;
	}
	int64_t skew_ms = dedup_clock_skew_ms(side->engine->dedup);
	if (skew_ms > SIDE_SKEW_MAX_MS || skew_ms < -SIDE_SKEW_MAX_MS)
		log_write_limited(LOG_clock_skew, "the host's clock is %" PRId64 " ms ahead of the database's",
		                  skew_ms);
	metrics_set(side->engine->metrics, METRIC_dedup_days, (int64_t)dedup_day_count(side->engine->dedup));
}

/* Called with the lock, which is let go while the database works.  The rows, with its answers, are in *out_taken, to be
 * freed. */
static bool side_write(struct side *side, struct side_request *request, struct side_request *out_taken)
{
	struct side_request taken = *request;
	struct error error;
	*request = (struct side_request){0};
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
	bool is_written = side_connect(side, &error) &&
	                  dedup_report_progress(side->engine->dedup, side->pg, taken.rows, taken.count, &error);
	if (!is_written)
		log_write_limited(LOG_dedup_failed, "writing the progress: %s", error.text);
	*out_taken = taken;
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	return is_written;
}

static bool side_write_letters(struct side *side, const struct letter *const *rows, size_t count)
{
	struct error error;
	(void)FAILPOINT("before_index");
	if (side_connect(side, &error) && letters_store(side->engine->letters, side->pg, rows, count, &error)) {
		(void)FAILPOINT("after_index");
		return true;
	}
	log_write_limited(LOG_index_failed, "%zu events are held: %s", count, error.text);
	return false;
}

/* Called with the lock, which is let go while the database works: what comes meanwhile is put behind. */
static void side_index_some(struct side *side)
{
	const struct letter *rows[SIDE_LETTERS_MAX];
	size_t count = 0;
	for (struct side_letter *at = side->letters; at && count < SIDE_LETTERS_MAX; at = at->next)
		rows[count++] = &at->letter;
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
	bool is_written = side_write_letters(side, rows, count);
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	side->next_letters_ms = clock_monotonic_ms() + (is_written ? SIDE_LETTERS_MS : SIDE_LETTERS_AGAIN_MS);
	for (; is_written && count > 0; count--) {
		struct side_letter *written = side->letters;
		side->letters = written->next;
		if (!side->letters)
			side->letters_end = &side->letters;
		side->answers.on_indexed(side->answers.self, written->opaque);
		side_free_letter(written);
	}
}

static bool side_went_back(const struct side_request *taken)
{
	for (size_t i = 0; i < taken->count; i++)
		if (taken->rows[i].went_back_to >= 0)
			return true;
	return false;
}

static void side_answer_wait(struct side *side)
{
	struct side_request taken;
	bool is_written = side_write(side, &side->waited, &taken) && !side_went_back(&taken);
	side_free_rows(taken.rows, taken.count);
	if (side->waited.rows)
		return; /* the wait timed out and there is a new one: this is not its answer */
	side->answer = is_written ? ANSWER_WRITTEN : ANSWER_FAILED;
	PTHREAD_OK(pthread_cond_broadcast(&side->changed));
}

static void side_answer_progress(struct side *side)
{
	struct side_request taken;
	bool is_written = side_write(side, &side->progress, &taken);
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
	side->answers.on_written(side->answers.self, is_written, taken.rows, taken.count);
	side_free_rows(taken.rows, taken.count);
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
}

static void side_answer_parked(struct side *side)
{
	struct parked_take *take = side->take;
	struct error error;
	side->take = NULL;
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
	if (!side_connect(side, &error) || !parked_take_due(side->engine->parked, side->pg, take, &error))
		log_write_limited(LOG_parked_failed, "%s", error.text);
	side->answers.on_parked(side->answers.self, take);
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
}

static void *side_main(void *argument)
{
	struct side *side = argument;
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	while (!side->stopping) {
		int64_t now_ms = clock_monotonic_ms(), wake_ms = side->next_tend_ms;
		if (side->letters && side->next_letters_ms < wake_ms)
			wake_ms = side->next_letters_ms;
		if (side->waited.rows) {
			side_answer_wait(side);
		} else if (side->progress.rows) {
			side_answer_progress(side);
		} else if (side->take) {
			side_answer_parked(side);
		} else if (side->letters && side->next_letters_ms <= now_ms) {
			side_index_some(side);
		} else if (wake_ms <= now_ms) {
			PTHREAD_OK(pthread_mutex_unlock(&side->lock));
			side_tend(side);
			PTHREAD_OK(pthread_mutex_lock(&side->lock));
		} else {
			struct timespec until = clock_deadline(wake_ms - now_ms);
			(void)clock_wait_until(&side->changed, &side->lock, &until);
		}
	}
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
	return NULL;
}

struct side *side_start(struct engine *engine, struct pg *pg, const struct side_answers *answers)
{
	struct side *side = calloc(1, sizeof(*side));
	ASSERT(side);
	side->engine = engine;
	side->pg = pg;
	side->answers = *answers;
	side->letters_end = &side->letters;
	side->next_tend_ms = clock_monotonic_ms() + SIDE_TEND_MS;
	PTHREAD_OK(pthread_mutex_init(&side->lock, NULL));
	PTHREAD_OK(pthread_cond_init(&side->changed, NULL));
	PTHREAD_OK(pthread_create(&side->thread, NULL, side_main, side));
	return side;
}

void side_stop(struct side *side)
{
	if (!side)
		return;
	PTHREAD_OK(pthread_mutex_lock(&side->lock));
	side->stopping = true;
	PTHREAD_OK(pthread_cond_broadcast(&side->changed));
	PTHREAD_OK(pthread_mutex_unlock(&side->lock));
	PTHREAD_OK(pthread_join(side->thread, NULL));
	PTHREAD_OK(pthread_cond_destroy(&side->changed));
	PTHREAD_OK(pthread_mutex_destroy(&side->lock));
	side_free_rows(side->progress.rows, side->progress.count);
	side_free_rows(side->waited.rows, side->waited.count);
	parked_take_destroy(side->take);
	while (side->letters) {
		struct side_letter *letter = side->letters;
		side->letters = letter->next;
		side_free_letter(letter);
	}
	pg_close(side->pg);
	free(side);
}
