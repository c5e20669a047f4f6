/* What a plugin's file says of itself: the lines of its section .idem_plugin, and its digest.  No code is run. */
#ifndef IDEM_PLUGIN_METADATA_H
#define IDEM_PLUGIN_METADATA_H
#include "core/plugin/elf_image.h"
#include "core/plugin/plugin.h"

#define METADATA_DIGEST_BYTES 65 /* SHA-256 in lower case hexadecimal, with the NUL */

/* The lines name= version= vendor= build_id= abi=MAJOR.MINOR min_host_minor=; unknown ones are ignored, a missing or
 * repeated one is refused. */
bool metadata_parse(struct bytes section, struct plugin_metadata *out_metadata, struct error *error) MUST_CHECK;
/* Can this host load it?  One sentence when not. */
bool metadata_check(const struct plugin_metadata *metadata, struct error *error) MUST_CHECK;
void metadata_digest(const struct elf_image *image, char out_digest[METADATA_DIGEST_BYTES]);
/* Also used for the description: lengths and letters. */
bool metadata_is_name(const char *name);
bool metadata_is_version(const char *version);
bool metadata_is_text(const char *text); /* vendor, build id */
#endif
