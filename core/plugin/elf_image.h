/* A shared object read from its file, without running or mapping it as code. */
#ifndef IDEM_PLUGIN_ELF_IMAGE_H
#define IDEM_PLUGIN_ELF_IMAGE_H
#include "core/base/bytes.h"
#include "core/base/error.h"
#include <stddef.h>

struct elf_image {
	unsigned char *data;
	size_t size;
};

/* Reads the file; refuses what is not a shared object for this machine with one sentence. */
bool elf_image_open(struct elf_image *image, const char *file, struct error *error) MUST_CHECK;
void elf_image_close(struct elf_image *image);
/* Absent when there is none; borrowed from the image. */
struct bytes elf_image_section(const struct elf_image *image, const char *name);
/* The i-th symbol this object exports, NULL past the last one. */
const char *elf_image_export(const struct elf_image *image, size_t i);
bool elf_image_exports(const struct elf_image *image, const char *name);
#endif
