/* Any bytes as a plugin's file: looking at it runs none of its code, and whatever it says of itself that is accepted
 * keeps to the rules.  Also the same bytes as the section alone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/assert.h"
#include "core/plugin/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_metadata(const struct plugin_metadata *metadata)
{
	ASSERT(metadata_is_name(metadata->name));
	ASSERT(metadata_is_version(metadata->version));
	ASSERT(metadata_is_text(metadata->vendor) && metadata_is_text(metadata->build_id));
}

/* What the file holds lies inside of it. */
static void check_image(const struct elf_image *image)
{
	const char *start = (const char *)image->data, *symbol;
	struct bytes section = elf_image_section(image, IDEM_METADATA_SECTION);
	struct elf_exports exports;
	size_t count = 0;

	ASSERT(!section.ptr || (section.ptr >= start && section.ptr + section.len <= start + image->size));
	elf_exports_begin(&exports, image);
	for (; (symbol = elf_exports_next(&exports)); count++)
		ASSERT(symbol >= start && symbol + strlen(symbol) < start + image->size);
	ASSERT(count <= image->size);
}

static void check_file(const char *file)
{
	struct plugin_metadata metadata;
	struct elf_image image;
	struct error error;

	error_clear(&error);
	if (elf_image_open(&image, file, &error))
		check_image(&image);
	else
		ASSERT(error.text[0]);
	elf_image_close(&image);
	error_clear(&error);
	if (plugin_inspect(file, NULL, &metadata, &error))
		check_metadata(&metadata);
	else
		ASSERT(error.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int descriptor = -1;
	struct plugin_metadata metadata;
	struct error error;
	char file[64];

	if (descriptor < 0)
		descriptor = memfd_create("plugin", MFD_CLOEXEC);
	ASSERT(descriptor >= 0 && ftruncate(descriptor, 0) == 0);
	ASSERT(pwrite(descriptor, data, size, 0) == (ssize_t)size);
	snprintf(file, sizeof(file), "/proc/self/fd/%d", descriptor);
	check_file(file);
	error_clear(&error);
	if (metadata_parse((struct bytes){(const char *)data, size}, &metadata, &error))
		check_metadata(&metadata);
	else
		ASSERT(error.text[0]);
	return 0;
}
