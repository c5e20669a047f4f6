/* Broken rule: the name in the file has other letters than allowed. */
#include "bad.h"

BAD_PLUGIN("Bad Name", )
