-- The tables of the dedup store.  Names are unqualified: the schema is the one that `idemctl schema apply` was given.

CREATE TABLE idem_schema (
	version integer PRIMARY KEY,
	name text NOT NULL,
	applied_at timestamptz NOT NULL DEFAULT now()
);

-- What was processed, by the id of the event.  One partition per consumer group (processed_event_g<number>), and below it
-- one per day of the time inside the UUID v7 (dedup_make_day).  No DEFAULT partition, no index on processed_at.
CREATE TABLE processed_event (
	event_id uuid NOT NULL,
	consumer_group text NOT NULL,
	processed_at timestamptz NOT NULL DEFAULT now(),
	content_hash bigint NOT NULL,
	PRIMARY KEY (event_id, consumer_group)
) PARTITION BY LIST (consumer_group);

-- Ids that are no v7 or older than their group's base_day, of all groups: a table of its own, because a partition would
-- need bounds.  Autovacuum shall not analyze the tables of ids: statistics taken while one is small make a prepared
-- look-up scan it for as long as they last, and without any it always takes the primary key.
CREATE TABLE processed_event_other (
	event_id uuid NOT NULL,
	consumer_group text NOT NULL,
	processed_at timestamptz NOT NULL DEFAULT now(),
	content_hash bigint NOT NULL,
	PRIMARY KEY (event_id, consumer_group)
) WITH (autovacuum_analyze_threshold = 2147483647);
CREATE INDEX processed_event_other_processed_at ON processed_event_other USING brin (processed_at) WITH (autosummarize);

-- What was processed, by a business key.
CREATE TABLE processed_message (
	idempotency_key varchar(200) NOT NULL,
	consumer_name varchar(255) NOT NULL,
	processed_at timestamptz NOT NULL DEFAULT now(),
	content_hash bigint NOT NULL,
	PRIMARY KEY (idempotency_key, consumer_name)
) WITH (autovacuum_analyze_threshold = 2147483647);
CREATE INDEX processed_message_processed_at ON processed_message USING brin (processed_at) WITH (autosummarize);

-- Days are numbered from 1970 in units of day_ms, which never changes for a group: where an id lives must not change.
CREATE TABLE dedup_group (
	consumer_group text PRIMARY KEY,
	number integer GENERATED ALWAYS AS IDENTITY UNIQUE,
	day_ms bigint NOT NULL CHECK (day_ms >= 1000 AND day_ms % 1000 = 0),
	base_day bigint NOT NULL,                 -- fixed; older ids live in processed_event_other
	floor_day bigint NOT NULL,                -- days from base_day up to here were dropped and are never made again
	retention_ms bigint NOT NULL CHECK (retention_ms > 0),
	tended_ms bigint NOT NULL,                -- some host looked after this group
	alive_since_ms bigint NOT NULL            -- since then without a long break
);

CREATE TABLE dedup_day (
	number integer NOT NULL REFERENCES dedup_group (number),
	day bigint NOT NULL,
	table_name text NOT NULL,
	last_insert timestamptz,                  -- as found when somebody last wanted to drop it
	PRIMARY KEY (number, day)
);

-- Ids of dropped days that an operator released; their claim goes to processed_event_other.
CREATE TABLE dedup_allowed_old (
	event_id uuid NOT NULL,
	consumer_group text NOT NULL,
	allowed_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (event_id, consumer_group)
);

-- How far a group has come, written before the offset commit.  low_ms: nothing produced before it comes again.
CREATE TABLE partition_state (
	consumer_group text NOT NULL,
	topic text NOT NULL,
	partition integer NOT NULL,
	next_offset bigint NOT NULL,
	low_ms bigint,
	at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (consumer_group, topic, partition)
);
