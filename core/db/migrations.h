/* The files of sql/, turned into C by embed_sql.sh when the program is built. */
#ifndef IDEM_DB_MIGRATIONS_H
#define IDEM_DB_MIGRATIONS_H

struct migration {
	const char *name, *sql;
};
extern const struct migration migrations[]; /* version 1 first; ended by a NULL name */
extern const char *const migrations_grants; /* reads the settings idem.schema and idem.role */
#endif
