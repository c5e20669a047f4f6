/* A record as parked_event keeps it: all of it, in bytes that a later program can read.  Key, value and header values
 * that are null stay apart from empty ones. */
#ifndef IDEM_RETRY_PARKED_RECORD_H
#define IDEM_RETRY_PARKED_RECORD_H
#include "core/base/arena.h"
#include "core/kafka/record.h"

struct bytes parked_record_pack(struct arena *arena, const struct kafka_record *record);
/* *out_record points into packed and the arena; topic, partition and offset are the caller's to fill in.  False: this
 * is no such record. */
bool parked_record_unpack(struct bytes packed, struct arena *arena, struct kafka_record *out_record) MUST_CHECK;
#endif
