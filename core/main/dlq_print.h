/* How idemctl dlq shows a dead letter.  Everything in it is somebody else's text. */
#ifndef IDEM_MAIN_DLQ_PRINT_H
#define IDEM_MAIN_DLQ_PRINT_H
#include "core/retry/dead_letters.h"
#include <stdio.h>

/* The table's head, and a line of it.  claimed: a word for people. */
void dlq_print_head(FILE *out);
void dlq_print_line(const struct dead_letter *letter, const char *claimed, FILE *out);
/* Every field for people, with headers, key and payload. */
void dlq_print_whole(const struct dead_letter *letter, const char *claimed, FILE *out);
/* An object; claimed NULL: null; whole: with headers, key and payload. */
void dlq_print_json(const struct dead_letter *letter, const char *claimed, bool whole, FILE *out);
#endif
