#include "core/config/nearest.h"
#include <stdio.h>
#include <string.h>

#define LONGEST 96

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters have to be put in, taken out, changed or swapped with their neighbour. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][LONGEST + 1], *older = rows[0], *above = rows[1], *row = rows[2], *spare;

	for (size_t j = 0; j <= b_length; j++)
		above[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], older[j - 2] + 1);
		}
		spare = older;
		older = above;
		above = row;
		row = spare;
	}
	return above[b_length];
}

void nearest_offer(struct nearest *nearest, const char *wanted, const char *candidate)
{
	size_t wanted_length = strlen(wanted), length = strlen(candidate), distance;

	if (wanted_length > LONGEST || length > LONGEST || wanted_length == 0 || length == 0)
		return;
	distance = edit_distance(wanted, wanted_length, candidate, length);
	if (distance > 1 + wanted_length / 4 || distance >= length ||
	    (nearest->text[0] && distance >= nearest->distance))
		return;
	nearest->distance = distance;
	snprintf(nearest->text, sizeof(nearest->text), "%s", candidate);
}

const char *nearest_hint(const struct nearest *nearest, char *out, size_t size)
{
	if (nearest->text[0])
		snprintf(out, size, "; did you mean %s?", nearest->text);
	else
		out[0] = '\0';
	return out;
}
