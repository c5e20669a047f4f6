-- Tables of the reference plugin.  effect has no unique key, so that a double application shows.
CREATE TABLE effect (consumer text NOT NULL, event_id uuid NOT NULL, key text, seq bigint, pid int NOT NULL, at timestamptz NOT NULL);
CREATE TABLE balance (key text PRIMARY KEY, amount bigint NOT NULL);
