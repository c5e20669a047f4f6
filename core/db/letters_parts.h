/* Private to the files of the index of the dead letters. */
#ifndef IDEM_DB_LETTERS_PARTS_H
#define IDEM_DB_LETTERS_PARTS_H
#include "core/db/letters.h"

struct letters {
	char *group, *schema; /* schema: quoted */
	struct pg_statement store;
};
#endif
