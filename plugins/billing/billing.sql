-- What the plugin works on; the tables of idem itself come with `idemctl schema apply`.
CREATE TABLE orders (
	id bigint PRIMARY KEY,
	paid_amount bigint NOT NULL DEFAULT 0, -- cents
	status text NOT NULL DEFAULT 'NEW'
) WITH (fillfactor = 70);
