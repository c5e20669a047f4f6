/* The text is looked at before libconfig sees it: a folder that `@include` names would make it end the process, a pipe
 * would make it wait for ever, and it cuts large numbers.  Inside config/ only. */
#ifndef IDEM_CONFIG_INCLUDES_H
#define IDEM_CONFIG_INCLUDES_H
#include "core/config/reader.h"

/* The whole text, from arena; NULL and *error when it can't be read, is too large or is no text. */
char *includes_read_text(int fd, struct arena *arena, struct error *error);
/* Reports every file included, at any depth, that can't be, and every number that would be cut. */
void includes_check(struct reader *reader, const char *text);
#endif
