/* Foreign text for people and programs: never a control character to somebody's terminal, always valid JSON.
 * [any thread] */
#ifndef IDEM_BASE_ESCAPE_H
#define IDEM_BASE_ESCAPE_H
#include "core/base/bytes.h"
#include <stdio.h>

/* What can be seen as it is; backslash as \\, the rest as \n, \t, \r, \xNN (bytes that are no UTF-8 too) or \u{NNNN}
 * (what turns or hides text).  Nothing for absent. */
void escape_text(struct bytes text, FILE *out);
/* The same, of at most max_bytes bytes, not ending inside a character, with "…" for the rest. */
void escape_text_cut(struct bytes text, size_t max_bytes, FILE *out);
/* A JSON string, in ASCII; null for absent; bytes that are no UTF-8 as U+FFFD. */
void escape_json(struct bytes text, FILE *out);
/* A JSON string in base64; null for absent. */
void escape_json_base64(struct bytes bytes, FILE *out);
/* Can escape_json hold it whole?  Absent can. */
bool escape_is_utf8(struct bytes text);
#endif
