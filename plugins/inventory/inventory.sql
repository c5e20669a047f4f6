-- What the plugin works on; the tables of idem itself come with `idemctl schema apply`.
CREATE TABLE stock (
	sku text PRIMARY KEY,
	available bigint NOT NULL CHECK (available >= 0),
	reserved bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
