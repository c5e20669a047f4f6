/* idemctl dlq index: the index of the dead letters anew from the topic.  A row that is there keeps its state. */
#include "core/base/assert.h"
#include "core/base/clock.h"
#include "core/main/dlq.h"
#include "core/retry/letter.h"
#include <stdlib.h>

#define INDEX_MARGIN_MS 60000 /* clocks differ */
#define INDEX_ROWS 1000       /* at once */

struct indexing {
	struct dlq *dlq;
	struct letter letters[INDEX_ROWS];
	size_t count;
	struct arena arena; /* of their texts */
	struct letter_place *places;
	size_t place_count, place_room;
};

static bool store_letters(struct indexing *indexing)
{
	const struct letter *rows[INDEX_ROWS];
	struct dlq *dlq = indexing->dlq;

	for (size_t i = 0; i < indexing->count; i++)
		rows[i] = &indexing->letters[i];
	bool is_stored = letters_store(dlq->index, dlq->pg, rows, indexing->count, &dlq->error);
	indexing->count = 0;
	arena_reset(&indexing->arena);
	return is_stored;
}

static bool index_letter(void *self, const struct dead_letter *letter)
{
	struct indexing *indexing = self;
	const struct kafka_record *record = &letter->event->record;
	struct letter *row = &indexing->letters[indexing->count++];

	if (indexing->place_count == indexing->place_room) {
		indexing->place_room = indexing->place_room ? indexing->place_room * 2 : 1024;
		indexing->places = realloc(indexing->places, indexing->place_room * sizeof(*indexing->places));
		ASSERT(indexing->places);
	}
	indexing->places[indexing->place_count++] = (struct letter_place){record->partition, record->offset};
	*row = letter_of_event(letter->event, letter->reason, letter->error_text, &indexing->arena);
	row->partition = record->partition;
	row->offset = record->offset;
	row->died_ms = record->timestamp_ms;
	return indexing->count < INDEX_ROWS || store_letters(indexing);
}

/* What died since this began may stand behind what was read. */
static int index_topic(struct indexing *indexing, size_t *out_forgotten)
{
	struct dlq *dlq = indexing->dlq;
	int64_t begun_ms = clock_wall_ms();
	struct error error;

	if (!dead_letters_all(dlq->letters, index_letter, indexing, &error))
		return ctl_fail(&error);
	if (dlq->error.code || !store_letters(indexing))
		return ctl_fail(&dlq->error);
	const struct letter_places places = {indexing->places, indexing->place_count};
	if (!letters_keep_only(dlq->index, dlq->pg, places, begun_ms - INDEX_MARGIN_MS, out_forgotten, &error))
		return ctl_fail(&error);
	return CTL_OK;
}

int ctl_dlq_index(const struct ctl *ctl)
{
	static struct indexing indexing;
	struct dlq dlq;
	size_t forgotten = 0;
	int status = dlq_open(ctl, 0, &dlq);

	indexing.dlq = &dlq;
	arena_init(&indexing.arena, 65536);
	if (status == CTL_OK)
		status = dlq_open_index(&dlq);
	if (status == CTL_OK)
		status = dlq_open_topic(&dlq, false);
	if (status == CTL_OK)
		status = index_topic(&indexing, &forgotten);
	if (status == CTL_OK && ctl->json)
		printf("{\"indexed\":%zu,\"forgotten\":%zu}\n", indexing.place_count, forgotten);
	else if (status == CTL_OK)
		printf("%zu records of topic %s are indexed, %zu rows of records that are gone were deleted\n",
		       indexing.place_count, dlq.pipeline->dlq_topic, forgotten);
	arena_done(&indexing.arena);
	free(indexing.places);
	dlq_close(&dlq);
	return status;
}
