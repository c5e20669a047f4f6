/* Broken rule: it calls a function that nobody has (linked without -z defs). */
#include "bad.h"

extern void function_that_nobody_has(void);
BAD_PLUGIN("bad_symbol", function_that_nobody_has())
