/* What idemctl shows of a plugin's file. */
#include "core/base/escape.h"
#include "core/plugin/internal.h"
#include "core/plugin/metadata.h"
#include <stdio.h>

/* A file may call its symbols anything. */
static void print_exports(const struct elf_image *image, void (*print)(struct bytes text, FILE *out),
                          const char *separator, FILE *out)
{
	struct elf_exports exports;
	const char *symbol, *before = "";

	elf_exports_begin(&exports, image);
	for (; (symbol = elf_exports_next(&exports)); before = separator) {
		fputs(before, out);
		print(bytes_from_string(symbol), out);
	}
}

static void print_json(const char *file, const struct plugin_metadata *metadata, const char *digest,
                       const struct elf_image *image, FILE *out)
{
	const struct {
		const char *name, *value;
	} texts[] = {{"file", file},
	             {"name", metadata->name},
	             {"version", metadata->version},
	             {"vendor", metadata->vendor},
	             {"build_id", metadata->build_id},
	             {"sha256", digest}};

	fputc('{', out);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fprintf(out, "\"%s\": ", texts[i].name);
		escape_json(bytes_from_string(texts[i].value), out);
		fputs(", ", out);
	}
	fprintf(out, "\"abi_major\": %u, \"abi_minor\": %u, \"min_host_minor\": %u, \"loadable\": %s, \"exports\": [",
	        metadata->abi_major, metadata->abi_minor, metadata->min_host_minor,
	        metadata_check(metadata, NULL) ? "true" : "false");
	print_exports(image, escape_json, ", ", out);
	fputs("]}\n", out);
}

static void print_text(const char *file, const struct plugin_metadata *metadata, const char *digest,
                       const struct elf_image *image, FILE *out)
{
	struct error error = {0};

	fprintf(out, "file      %s\nname      %s\nversion   %s\nvendor    %s\nbuild     %s\nsha256    %s\n", file,
	        metadata->name, metadata->version, metadata->vendor, metadata->build_id, digest);
	fprintf(out, "abi       %u.%u, needs a host with %u.%u or later\nexports   ", metadata->abi_major,
	        metadata->abi_minor, metadata->abi_major, metadata->min_host_minor);
	print_exports(image, escape_text, " ", out);
	fprintf(out, "\nthis host %s\n", metadata_check(metadata, &error) ? "can load it" : error.text);
}

/* Also shows a plugin that this host can't load: that is what people ask for. */
static bool print_image(const char *file, bool json, const struct elf_image *image, FILE *out, struct error *error)
{
	char digest[METADATA_DIGEST_BYTES];
	struct bytes section = elf_image_section(image, IDEM_METADATA_SECTION);
	struct plugin_metadata metadata;

	if (!section.ptr)
		return error_set(error, ERROR_PLUGIN, "has no section " IDEM_METADATA_SECTION ": it is no idem plugin");
	if (!metadata_parse(section, &metadata, error))
		return false;
	metadata_digest(image, digest);
	(json ? print_json : print_text)(file, &metadata, digest, image, out);
	return true;
}

bool plugin_print_inspect(const char *file, bool json, FILE *out, struct error *error)
{
	struct elf_image image;
	bool is_printed = elf_image_open(&image, file, error) && print_image(file, json, &image, out, error);

	elf_image_close(&image);
	return is_printed || error_wrap(error, "plugin %s", file);
}
