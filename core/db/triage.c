#include "core/db/triage.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *prefix;
	enum triage triage;
} triage_rows[] = {
        /* longer prefixes first */
        {"40001", TRIAGE_AGAIN},    {"40P01", TRIAGE_AGAIN},  {"55P03", TRIAGE_AGAIN}, {"57014", TRIAGE_RETRY},
        {"25006", TRIAGE_DATABASE}, {"57P", TRIAGE_DATABASE}, {"08", TRIAGE_DATABASE}, {"28", TRIAGE_DATABASE},
        {"3D", TRIAGE_DATABASE},    {"53", TRIAGE_DATABASE},  {"58", TRIAGE_DATABASE}, {"XX", TRIAGE_DATABASE},
        {"3F", TRIAGE_UNDECIDED},   {"42", TRIAGE_UNDECIDED},
};

enum triage triage_sqlstate(const char *sqlstate)
{
	if (!sqlstate || !*sqlstate)
		return TRIAGE_DATABASE;
	for (size_t i = 0; i < sizeof(triage_rows) / sizeof(triage_rows[0]); i++)
		if (strncmp(sqlstate, triage_rows[i].prefix, strlen(triage_rows[i].prefix)) == 0)
			return triage_rows[i].triage;
	return TRIAGE_REJECT;
}
