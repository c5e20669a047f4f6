-- What the plugin works on; the tables of idem itself come with `idemctl schema apply`.
CREATE TABLE account (
	id bigint PRIMARY KEY,
	balance bigint NOT NULL DEFAULT 0 CHECK (balance >= 0)
) WITH (fillfactor = 70);
CREATE TABLE ledger (
	event_id uuid NOT NULL,
	account_id bigint NOT NULL REFERENCES account (id),
	amount bigint NOT NULL,
	balance_before bigint NOT NULL,
	at timestamptz NOT NULL DEFAULT now()
);
