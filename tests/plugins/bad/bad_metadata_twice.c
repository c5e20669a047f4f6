/* Broken rule: a line of the metadata is there twice. */
#include "bad.h"

__attribute__((section(IDEM_METADATA_SECTION), used)) static const char more[] = "name=other\n";
BAD_PLUGIN("bad_metadata_twice", )
