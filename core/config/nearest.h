/* The valid name a misspelt one was probably meant to be. */
#ifndef IDEM_CONFIG_NEAREST_H
#define IDEM_CONFIG_NEAREST_H
#include <stddef.h>

struct nearest {
	char text[128]; /* the best so far, "" none is near */
	size_t distance;
};

void nearest_offer(struct nearest *nearest, const char *wanted, const char *candidate);
/* "; did you mean X?", or "" */
const char *nearest_hint(const struct nearest *nearest, char *out, size_t size);
#endif
