#include "core/plugin/elf_image.h"
#include "core/base/assert.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES (256L * 1024 * 1024)

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#error "plugins are tried on x86-64 and AArch64 only: LP64, little-endian"
#endif

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "AArch64";
	case EM_386:
		return "i386";
	case EM_ARM:
		return "ARM";
	case EM_RISCV:
		return "RISC-V";
	case EM_PPC64:
		return "PowerPC";
	case EM_S390:
		return "S/390";
	default:
		return "another machine";
	}
}

/* ---- reading; every offset comes from the file and is checked ---- */

/* Copies one struct out of the file (it may lie unaligned). */
static bool read_at(const struct elf_image *image, uint64_t offset, void *out, size_t bytes)
{
	if (offset > image->size || bytes > image->size - offset)
		return false;
	memcpy(out, image->data + offset, bytes);
	return true;
}

static struct bytes bytes_at(const struct elf_image *image, uint64_t offset, uint64_t bytes)
{
	if (offset > image->size || bytes > image->size - offset)
		return BYTES_NONE;
	return (struct bytes){(const char *)image->data + offset, bytes};
}

/* A NUL-terminated name within a string table; NULL when it runs out of it. */
static const char *string_at(struct bytes table, uint64_t offset)
{
	if (!table.ptr || offset >= table.len || !memchr(table.ptr + offset, '\0', table.len - offset))
		return NULL;
	return table.ptr + offset;
}

static bool section_header(const struct elf_image *image, size_t index, Elf64_Shdr *out_header)
{
	Elf64_Ehdr head;

	return read_at(image, 0, &head, sizeof(head)) && index < head.e_shnum &&
	       head.e_shentsize == sizeof(*out_header) && head.e_shoff < image->size &&
	       read_at(image, head.e_shoff + index * sizeof(*out_header), out_header, sizeof(*out_header));
}

struct bytes elf_image_section(const struct elf_image *image, const char *name)
{
	Elf64_Ehdr head;
	Elf64_Shdr names, section;

	if (!read_at(image, 0, &head, sizeof(head)) || !section_header(image, head.e_shstrndx, &names))
		return BYTES_NONE;
	struct bytes table = bytes_at(image, names.sh_offset, names.sh_size);
	for (size_t i = 0; section_header(image, i, &section); i++) {
		const char *found = string_at(table, section.sh_name);
		if (found && strcmp(found, name) == 0 && section.sh_type == SHT_PROGBITS)
			return bytes_at(image, section.sh_offset, section.sh_size);
	}
	return BYTES_NONE;
}

static bool dynamic_symbols(const struct elf_image *image, Elf64_Shdr *out_symbols, struct bytes *out_names)
{
	Elf64_Shdr strings;

	for (size_t i = 0; section_header(image, i, out_symbols); i++) {
		if (out_symbols->sh_type != SHT_DYNSYM || !section_header(image, out_symbols->sh_link, &strings))
			continue;
		*out_names = bytes_at(image, strings.sh_offset, strings.sh_size);
		return out_names->ptr;
	}
	return false;
}

static bool is_export(const Elf64_Sym *symbol)
{
	unsigned bind = ELF64_ST_BIND(symbol->st_info), visibility = ELF64_ST_VISIBILITY(symbol->st_other);

	return symbol->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE) &&
	       (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

void elf_exports_begin(struct elf_exports *exports, const struct elf_image *image)
{
	Elf64_Shdr symbols;

	*exports = (struct elf_exports){.image = image, .next = 1}; /* the first one is never used */
	if (!dynamic_symbols(image, &symbols, &exports->names))
		return;
	exports->offset = symbols.sh_offset;
	exports->count = symbols.sh_size / sizeof(Elf64_Sym);
}

const char *elf_exports_next(struct elf_exports *exports)
{
	Elf64_Sym symbol;

	while (exports->next < exports->count) {
		uint64_t offset = exports->offset + exports->next++ * sizeof(symbol);
		if (!read_at(exports->image, offset, &symbol, sizeof(symbol)))
			break;
		if (is_export(&symbol))
			return string_at(exports->names, symbol.st_name);
	}
	return NULL;
}

bool elf_image_exports(const struct elf_image *image, const char *name)
{
	struct elf_exports exports;
	const char *found;

	elf_exports_begin(&exports, image);
	while ((found = elf_exports_next(&exports)))
		if (strcmp(found, name) == 0)
			return true;
	return false;
}

/* ---- opening ---- */

static bool check_head(const struct elf_image *image, struct error *error)
{
	Elf64_Ehdr head;

	if (image->size < EI_NIDENT || memcmp(image->data, ELFMAG, SELFMAG) != 0)
		return error_set(error, ERROR_PLUGIN, "is not a shared object (no ELF file): give the .so");
	if (image->data[EI_CLASS] != ELFCLASS64 || image->data[EI_DATA] != ELFDATA2LSB)
		return error_set(error, ERROR_PLUGIN, "is not a 64-bit little-endian object: build it for %s",
		                 machine_name(OUR_MACHINE));
	if (!read_at(image, 0, &head, sizeof(head)))
		return error_set(error, ERROR_PLUGIN, "is cut off: copy it again");
	if (head.e_machine != OUR_MACHINE)
		return error_set(error, ERROR_PLUGIN, "is built for %s, this host runs on %s: build it for that",
		                 machine_name(head.e_machine), machine_name(OUR_MACHINE));
	if (head.e_type != ET_DYN)
		return error_set(error, ERROR_PLUGIN, "is not a shared object: link it with -shared");
	if (head.e_shoff == 0 || head.e_shoff >= image->size)
		return error_set(error, ERROR_PLUGIN, "is cut off or has no section headers: copy it again");
	return true;
}

static bool read_all(int descriptor, struct elf_image *image, struct error *error)
{
	size_t have = 0;

	while (have < image->size) {
		ssize_t got = read(descriptor, image->data + have, image->size - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(error, ERROR_IO, "can't be read: %s", strerror(errno));
		if (got == 0)
			break; /* it became shorter meanwhile */
		have += (size_t)got;
	}
	image->size = have;
	return true;
}

static bool read_file(struct elf_image *image, const char *file, struct error *error)
{
	struct stat status;
	bool is_read = false;
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return error_set(error, ERROR_IO, "can't be opened: %s", strerror(errno));
	if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
		error_set(error, ERROR_PLUGIN, "is not a regular file");
	} else if (status.st_size > MAX_FILE_BYTES) {
		error_set(error, ERROR_PLUGIN, "is larger than 256 MiB");
	} else {
		image->size = (size_t)status.st_size;
		image->data = malloc(image->size + 1);
		ASSERT(image->data);
		is_read = read_all(descriptor, image, error);
	}
	close(descriptor);
	return is_read;
}

bool elf_image_open(struct elf_image *image, const char *file, struct error *error)
{
	*image = (struct elf_image){0};
	if (read_file(image, file, error) && check_head(image, error))
		return true;
	elf_image_close(image);
	return false;
}

void elf_image_close(struct elf_image *image)
{
	free(image->data);
	*image = (struct elf_image){0};
}
