-- Events of an ordered lane that wait for another try, and those behind them (ENGINE 7).

-- The whole record, so that its offset may be committed.  It goes when the event is processed, or when its dead letter is
-- acknowledged.
CREATE TABLE parked_event (
	consumer_group text NOT NULL,
	event_id text COLLATE "C" NOT NULL,       -- what is claimed: the id, or the business key
	key bytea NOT NULL,                       -- of its lane: "key:" and the ordering key, or "partition:" and topic/number
	place bigint GENERATED ALWAYS AS IDENTITY, -- the order within the key
	topic text NOT NULL,                      -- where it was read
	partition integer NOT NULL,
	"offset" bigint NOT NULL,
	produced_ms bigint NOT NULL,              -- Kafka's timestamp; without one, when it was parked
	record bytea NOT NULL,                    -- timestamp, key, value, headers: core/retry/parked_record.h
	attempt bigint NOT NULL,                  -- tries so far; 0: it waits behind another one
	reason text NOT NULL,
	at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (consumer_group, event_id)
);
CREATE INDEX parked_event_order ON parked_event (consumer_group, key, place);
CREATE INDEX parked_event_produced ON parked_event (consumer_group, produced_ms);

-- A key with parked events.  Whoever parks behind it or releases holds the row FOR UPDATE; the last event and the key go
-- together.
CREATE TABLE parked_key (
	consumer_group text NOT NULL,
	key bytea NOT NULL,
	due timestamptz NOT NULL,                 -- of its first event
	events bigint NOT NULL,
	topic text NOT NULL,                      -- of the event that parked it: whoever reads that partition releases
	partition integer NOT NULL,
	PRIMARY KEY (consumer_group, key)
);
CREATE INDEX parked_key_due ON parked_key (consumer_group, due);

-- An event may be parked behind others without having been tried.
ALTER TABLE event_attempt DROP CONSTRAINT event_attempt_route_check;
ALTER TABLE event_attempt ADD CONSTRAINT event_attempt_route_check
	CHECK (route IN ('in_place', 'retry', 'dead', 'parked'));

-- As before, and what is parked is still to be judged: its day is kept.
CREATE OR REPLACE FUNCTION dedup_horizon_ms(p_group text, p_now_ms bigint) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT
AS $$
	SELECT CASE WHEN bool_and(s.low_ms IS NOT NULL) THEN least(p_now_ms - max(g.retention_ms), min(s.low_ms - g.day_ms),
		(SELECT min(e.produced_ms) FROM parked_event e WHERE e.consumer_group = p_group) - max(g.day_ms)) END
	FROM dedup_group g JOIN partition_state s USING (consumer_group)
	WHERE g.consumer_group = p_group
	AND (s.at >= to_timestamp((p_now_ms - g.retention_ms) / 1000.0) OR g.alive_since_ms >= p_now_ms - g.retention_ms)
$$;
