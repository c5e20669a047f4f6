-- Events that did not end processed.

-- Written in the transaction that releases the claim of the event, so that a record that comes again (a crash between the
-- acknowledgement of the retry or dead letter record and the offset commit) goes where it went before and is not handled
-- twice.  It goes when the event is processed or discarded, and when nothing from before it can come again.
CREATE TABLE event_attempt (
	consumer_group text NOT NULL,
	event_id text COLLATE "C" NOT NULL,       -- what is claimed: the id, or the business key
	round bigint NOT NULL,                    -- how often an operator replayed it
	attempt bigint NOT NULL,                  -- the one that failed, in this round
	route text NOT NULL CHECK (route IN ('in_place', 'retry', 'dead')),
	reason text NOT NULL,
	error text NOT NULL DEFAULT '',           -- how the process died
	deaths bigint NOT NULL DEFAULT 0,        -- of the process while it handled the event
	at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (consumer_group, event_id)
);
