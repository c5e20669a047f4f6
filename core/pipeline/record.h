/* One Kafka record on its way through a pipeline. */
#ifndef IDEM_PIPELINE_RECORD_H
#define IDEM_PIPELINE_RECORD_H
#include <librdkafka/rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lane;
struct partition;
struct released;

/* Who holds a record:
 *   poll thread -> lanes (queued) -> a worker (taken) -> tracker says finished -> freed with its last reference
 *   taken -> put back (not begun, or held for a retry in place) -> queued
 *   taken -> router (retry or DLQ record not acknowledged yet) -> finished
 *   parked and due -> lanes (queued) -> a worker (taken) -> dropped: its offset was finished when it was parked
 * It is made with one reference, which belongs to whoever has to call record_finish or record_drop.  lanes_take adds
 * one that lanes_give_back drops: what a worker took stays readable until then, even when its acknowledgement came
 * meanwhile. */
enum pace {
	PACE_UNKNOWN, /* not begun, or called together with others */
	PACE_QUICK,
	PACE_SLOW /* alone it used up the time that a batch may take (batch.max_ms) */
};

struct record {
	rd_kafka_message_t *message; /* owned; NULL: it was parked, see released */
	struct released *released;   /* owned: what it is taken from instead; its tracker does not know it */
	struct partition *partition; /* a reference */
	struct lane *lane;           /* while queued or taken */
	struct record *next;         /* in its lane's queue */
	uint64_t slot;               /* its place in the partition's tracker */
	uint32_t attempt;            /* of in place retries, from 1; 0: take it from the headers */
	int64_t fetched_us;          /* monotonic, for the latency histogram */
	size_t bytes;                /* what it counts against queue.max_bytes */
	bool park_sent;              /* a COMMIT that parks it was sent and its outcome is unknown */
	uint32_t redone;             /* transactions of it alone that met a dead-lock */
	bool commit_sent;            /* a COMMIT that held it as DONE was sent and its outcome is unknown */
	enum pace pace;              /* of its handler, the last time */
	bool is_suspect;             /* the process died while it was handled: it runs alone */
	int64_t suspect_ms;          /* monotonic: since then it waits for its turn; 0: does not */
	_Atomic uint32_t references;
};
#endif
