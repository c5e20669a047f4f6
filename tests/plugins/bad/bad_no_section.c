/* Broken rule: the file carries no metadata. */
#include "bad.h"

BAD_ENTRY("bad_no_section", )
