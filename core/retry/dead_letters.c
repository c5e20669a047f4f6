#include "core/retry/dead_letters.h"
#include "core/base/assert.h"
#include "core/kafka/reader.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A dead letter as the index keeps it. */
struct entry {
	uint32_t origin_topic; /* in topics */
	int32_t origin_partition;
	int64_t origin_offset;
	int32_t partition; /* its own place */
	uint32_t round;
	int64_t offset;
	uint32_t copies;
};

struct dead_letters {
	const struct config_pipeline *pipeline;
	const struct dead_letter_filter *filter;
	struct config_event config; /* what envelope points to */
	struct event_types *types;
	struct envelope envelope;
	struct kafka_reader *reader;
	struct arena arena;  /* of one event */
	struct arena names;  /* of topics */
	const char **topics; /* where the events came from; few */
	size_t topic_count, topic_room;
	struct entry *entries; /* once indexed: one per event, sorted by origin */
	size_t count, room;
	size_t of_others;
	dead_letters_payload *find_payload;
	void *self;
	struct error failure; /* of find_payload; code 0: none */
};

static struct bytes header_value(const struct kafka_record *record, const char *name)
{
	const struct kafka_header *header = kafka_record_header(record, name);
	return header ? header->value : BYTES_NONE;
}

/* ---- the index ---- */

static bool find_topic(const struct dead_letters *letters, const char *name, uint32_t *out_number)
{
	for (size_t i = letters->topic_count; i-- > 0;)
		if (strcmp(letters->topics[i], name) == 0) {
			*out_number = (uint32_t)i;
			return true;
		}
	return false;
}

static uint32_t number_topic(struct dead_letters *letters, const char *name)
{
	uint32_t number;
	if (find_topic(letters, name, &number))
		return number;
	if (letters->topic_count == letters->topic_room) {
		letters->topic_room = letters->topic_room ? letters->topic_room * 2 : 16;
		letters->topics = realloc(letters->topics, letters->topic_room * sizeof(*letters->topics));
		ASSERT(letters->topics);
	}
	letters->topics[letters->topic_count] = arena_string(&letters->names, bytes_from_string(name));
	return (uint32_t)letters->topic_count++;
}

static int compare_origin(const struct entry *a, const struct entry *b)
{
	if (a->origin_topic != b->origin_topic)
		return a->origin_topic < b->origin_topic ? -1 : 1;
	if (a->origin_partition != b->origin_partition)
		return a->origin_partition < b->origin_partition ? -1 : 1;
	return (a->origin_offset > b->origin_offset) - (a->origin_offset < b->origin_offset);
}

/* Of one event the newest first; of equals, which are a crash's copies, the first one. */
static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = compare_origin(a, b);
	if (order != 0)
		return order;
	if (a->round != b->round)
		return a->round > b->round ? -1 : 1;
	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static struct entry entry_of(uint32_t origin_topic, const struct event *event)
{
	return (struct entry){
	        .origin_topic = origin_topic,
	        .origin_partition = event->origin_partition,
	        .origin_offset = event->origin_offset,
	        .partition = event->record.partition,
	        .round = event->round,
	        .offset = event->record.offset,
	        .copies = 1,
	};
}

static bool is_read(const struct dead_letter_filter *filter, const struct kafka_record *record)
{
	return (filter->since_ms < 0 || record->timestamp_ms >= filter->since_ms) &&
	       (filter->until_ms < 0 || record->timestamp_ms < filter->until_ms) &&
	       (filter->partition < 0 || (record->partition == filter->partition && record->offset == filter->offset));
}

static bool is_of_group(const struct dead_letters *letters, const struct kafka_record *record)
{
	return bytes_equal_string(header_value(record, HEADER_GROUP), letters->pipeline->name);
}

static bool index_record(void *self, const struct kafka_record *record)
{
	struct dead_letters *letters = self;
	struct event event;
	if (!is_of_group(letters, record)) {
		letters->of_others++;
		return true;
	}
	if (!is_read(letters->filter, record))
		return true;
	if (letters->count == DEAD_LETTERS_MAX)
		return false;
	if (letters->count == letters->room) {
		letters->room = letters->room ? letters->room * 2 : 1024;
		letters->entries = realloc(letters->entries, letters->room * sizeof(*letters->entries));
		ASSERT(letters->entries);
	}
	arena_reset(&letters->arena);
	envelope_open(&letters->envelope, record, &letters->arena, &event);
	letters->entries[letters->count++] = entry_of(number_topic(letters, event.origin_topic), &event);
	return true;
}

static void collapse(struct dead_letters *letters)
{
	size_t kept = 0;
	if (letters->count == 0)
		return;
	qsort(letters->entries, letters->count, sizeof(*letters->entries), compare);
	for (size_t i = 1; i < letters->count; i++) {
		if (compare_origin(&letters->entries[kept], &letters->entries[i]) == 0)
			letters->entries[kept].copies++;
		else
			letters->entries[++kept] = letters->entries[i];
	}
	letters->count = kept + 1;
}

static bool make_index(struct dead_letters *letters, struct error *error)
{
	if (!kafka_reader_run(letters->reader, index_record, letters, error))
		return false;
	if (letters->count == DEAD_LETTERS_MAX)
		return error_set(error, ERROR_LIMIT,
		                 "topic %s holds %d dead letters or more: take them in parts, by the time they died "
		                 "(--since, --until)",
		                 letters->pipeline->dlq_topic, DEAD_LETTERS_MAX);
	collapse(letters);
	return true;
}

/* ---- opening ---- */

/* As the pipeline reads events, only that every type is known and a tombstone is an event: they are dead already. */
static bool open_envelope(struct dead_letters *letters, struct error *error)
{
	letters->config = letters->pipeline->event;
	letters->config.tombstone = CONFIG_TOMBSTONE_DELIVER;
	letters->types = event_types_create(NULL, NULL, error);
	return letters->types &&
	       envelope_init(&letters->envelope, &letters->config, letters->pipeline->name, letters->types, error);
}

struct dead_letters *dead_letters_open(const struct dead_letters_options *options, struct error *error)
{
	struct dead_letters *letters = calloc(1, sizeof(*letters));
	ASSERT(letters);
	letters->pipeline = options->pipeline;
	letters->filter = options->filter;
	letters->find_payload = options->find_payload;
	letters->self = options->self;
	arena_init(&letters->arena, 65536);
	arena_init(&letters->names, 4096);
	if (open_envelope(letters, error))
		letters->reader = kafka_reader_create(options->properties, options->property_count,
		                                      options->pipeline->dlq_topic, error);
	if (!letters->reader || (letters->filter && !make_index(letters, error))) {
		dead_letters_close(letters);
		return NULL;
	}
	return letters;
}

size_t dead_letters_of_others(const struct dead_letters *letters)
{
	return letters->of_others;
}

void dead_letters_close(struct dead_letters *letters)
{
	if (!letters)
		return;
	kafka_reader_destroy(letters->reader);
	envelope_done(&letters->envelope);
	event_types_destroy(letters->types);
	arena_done(&letters->arena);
	arena_done(&letters->names);
	free(letters->topics);
	free(letters->entries);
	free(letters);
}

/* ---- looking ---- */

/* Also an id that is none, as it stands in the header. */
static bool has_id(const struct event *event, const char *id)
{
	struct bytes raw = header_value(&event->record, HEADER_EVENT_ID);
	return bytes_equal_string(event->business_key, id) || bytes_equal_string(raw, id) ||
	       (event->has_uuid && strcasecmp(event->id_text.ptr, id) == 0);
}

static bool has_one_of(const struct event *event, const char *const *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_id(event, ids[i]))
			return true;
	return false;
}

static bool passes(const struct dead_letter_filter *filter, const struct dead_letter *letter)
{
	const struct event *event = letter->event;
	return (!filter->ids || has_one_of(event, filter->ids, filter->id_count)) &&
	       (!filter->reason || bytes_equal_string(letter->reason, filter->reason)) &&
	       (!filter->origin_topic || strcmp(event->origin_topic, filter->origin_topic) == 0) &&
	       (filter->origin_partition < 0 || event->origin_partition == filter->origin_partition) &&
	       (filter->origin_offset < 0 || event->origin_offset == filter->origin_offset);
}

/* NULL: it is not its event's newest, or came after the index was made. */
static const struct entry *find_newest(const struct dead_letters *letters, const struct event *event)
{
	uint32_t topic;
	if (!find_topic(letters, event->origin_topic, &topic))
		return NULL;
	struct entry wanted = entry_of(topic, event);
	size_t low = 0, high = letters->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(&letters->entries[middle], &wanted);
		if (order == 0)
			return &letters->entries[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* As the pipeline saw it, also where its payload is kept in the index. */
static bool open_letter(struct dead_letters *letters, const struct kafka_record *record, struct event *out_event)
{
	struct kafka_record whole = *record;
	arena_reset(&letters->arena);
	if (letters->find_payload && kafka_record_header(record, HEADER_PAYLOAD) &&
	    !letters->find_payload(letters->self, record, &letters->arena, &whole.value, &letters->failure))
		return false;
	envelope_open(&letters->envelope, &whole, &letters->arena, out_event);
	return true;
}

struct walk {
	struct dead_letters *letters;
	dead_letters_visit *visit;
	void *self;
};

static bool walk_record(void *self, const struct kafka_record *record)
{
	struct walk *walk = self;
	struct dead_letters *letters = walk->letters;
	struct event event;
	if (!is_of_group(letters, record))
		return true;
	if (!open_letter(letters, record, &event))
		return false;
	const struct entry *entry = letters->filter ? find_newest(letters, &event) : NULL;
	if (letters->filter && !entry)
		return true;
	struct dead_letter letter = {
	        .event = &event,
	        .reason = header_value(record, HEADER_REASON),
	        .error_text = header_value(record, HEADER_ERROR),
	        .copies = entry ? entry->copies : 1,
	};
	return (letters->filter && !passes(letters->filter, &letter)) || walk->visit(walk->self, &letter);
}

static bool end_walk(struct dead_letters *letters, bool is_fine, struct error *error)
{
	if (is_fine && letters->failure.code) {
		*error = letters->failure;
		return false;
	}
	return is_fine;
}

bool dead_letters_pick(struct dead_letters *letters, const struct kafka_place *places, size_t count,
                       dead_letters_visit *visit, void *self, struct error *error)
{
	struct walk walk = {letters, visit, self};
	return end_walk(letters, kafka_reader_pick(letters->reader, places, count, walk_record, &walk, error), error);
}

bool dead_letters_all(struct dead_letters *letters, dead_letters_visit *visit, void *self, struct error *error)
{
	struct walk walk = {letters, visit, self};
	return end_walk(letters, kafka_reader_run(letters->reader, walk_record, &walk, error), error);
}

bool dead_letters_each(struct dead_letters *letters, dead_letters_visit *visit, void *self, struct error *error)
{
	struct walk walk = {letters, visit, self};
	return letters->count == 0 || kafka_reader_run(letters->reader, walk_record, &walk, error);
}
