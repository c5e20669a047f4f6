/* Broken rule: the metadata lacks lines. */
#include "bad.h"

__attribute__((section(IDEM_METADATA_SECTION), used)) static const char metadata[] = "name=bad_metadata_short\n";
BAD_ENTRY("bad_metadata_short", )
