#include "core/kafka/record.h"

const struct kafka_header *kafka_record_header(const struct kafka_record *record, const char *name)
{
	struct bytes wanted = bytes_from_string(name);

	for (size_t i = record->header_count; i > 0; i--) {
		if (bytes_equal(record->headers[i - 1].name, wanted))
			return &record->headers[i - 1];
	}
	return NULL;
}
