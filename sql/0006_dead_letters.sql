-- The index of the dead letters.

-- Written once the DLQ has acknowledged a record and before the offset of what it came from may be committed, so that a
-- list needs no topic, a record that comes again makes no second dead letter, and what an operator did is remembered.
-- Autovacuum shall not analyze it: see processed_event_other.
CREATE TABLE dead_letter (
	consumer_group text NOT NULL,
	dlq_partition integer NOT NULL,
	dlq_offset bigint NOT NULL,
	died_at timestamptz NOT NULL,             -- as the record in the DLQ says
	event_id text COLLATE "C",                -- what is claimed: the id, or the business key; NULL: it has none
	event_uuid uuid,                          -- also beside a business key
	given_id text,                            -- what stood where the id belongs and is none
	content_hash bigint NOT NULL,
	event_type text,
	reason text NOT NULL,
	error text NOT NULL,
	origin_topic text NOT NULL,
	origin_partition integer NOT NULL,
	origin_offset bigint NOT NULL,
	origin_at timestamptz,
	attempt bigint NOT NULL,
	round bigint NOT NULL,
	state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'replayed', 'discarded')),
	state_at timestamptz,                     -- when somebody replayed or discarded it last
	state_by text,
	payload bytea,                            -- only of what did not fit a record of the DLQ
	PRIMARY KEY (consumer_group, dlq_partition, dlq_offset)
) WITH (autovacuum_analyze_threshold = 2147483647);
CREATE INDEX dead_letter_event ON dead_letter (consumer_group, event_id);

-- Who did what and when with which dead letter; rows are only added.
CREATE TABLE dead_letter_action (
	number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at timestamptz NOT NULL DEFAULT now(),
	actor text NOT NULL,                      -- the user of the machine, and the role of the database
	action text NOT NULL CHECK (action IN ('replayed', 'discarded')),
	consumer_group text NOT NULL,
	event_id text COLLATE "C",
	dlq_partition integer NOT NULL,
	dlq_offset bigint NOT NULL
);
