/* A shared object read from its file, without running or mapping it as code. */
#ifndef IDEM_PLUGIN_ELF_IMAGE_H
#define IDEM_PLUGIN_ELF_IMAGE_H
#include "core/base/bytes.h"
#include "core/base/error.h"
#include <stddef.h>
#include <stdint.h>

struct elf_image {
	unsigned char *data;
	size_t size;
};

/* Reads the file; refuses what is not a shared object for this machine with one sentence. */
bool elf_image_open(struct elf_image *image, const char *file, struct error *error) MUST_CHECK;
void elf_image_close(struct elf_image *image);
/* Absent when there is none; borrowed from the image. */
struct bytes elf_image_section(const struct elf_image *image, const char *name);
/* The symbols this object exports, one after the other; NULL past the last one.  Names are any bytes but NUL. */
struct elf_exports {
	const struct elf_image *image;
	uint64_t offset, count, next;
	struct bytes names;
};
void elf_exports_begin(struct elf_exports *exports, const struct elf_image *image);
const char *elf_exports_next(struct elf_exports *exports);
bool elf_image_exports(const struct elf_image *image, const char *name);
#endif
