#include "core/plugin/metadata.h"
#include "core/base/assert.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static bool is_made_of(const char *text, const char *letters, size_t max)
{
	size_t length = strnlen(text, max + 1);

	return length > 0 && length <= max && strspn(text, letters) >= length;
}

bool metadata_is_name(const char *name)
{
	return is_made_of(name, LETTERS DIGITS "_-", 63) && name[0] >= 'a' && name[0] <= 'z';
}

bool metadata_is_version(const char *version)
{
	return is_made_of(version, LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS ".+~_-", 31);
}

bool metadata_is_text(const char *text)
{
	size_t length = strnlen(text, 64);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return length > 0 && length < 64;
}

/* ---- the section ---- */

enum field { FIELD_NAME, FIELD_VERSION, FIELD_VENDOR, FIELD_BUILD_ID, FIELD_ABI, FIELD_MIN_HOST_MINOR, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = {"name", "version", "vendor", "build_id", "abi", "min_host_minor"};

static bool number_from(const char *text, char **out_end, uint16_t *out_number)
{
	if (text[0] < '0' || text[0] > '9')
		return false;
	unsigned long number = strtoul(text, out_end, 10);
	*out_number = (uint16_t)number;
	return number <= UINT16_MAX;
}

static bool copy_text(const char *value, char *out, size_t size, bool (*is_valid)(const char *))
{
	if (!is_valid(value))
		return false;
	return (size_t)snprintf(out, size, "%s", value) < size;
}

static bool field_set(struct plugin_metadata *metadata, enum field field, const char *value)
{
	char *end = NULL;

	switch (field) {
	case FIELD_NAME:
		return copy_text(value, metadata->name, sizeof(metadata->name), metadata_is_name);
	case FIELD_VERSION:
		return copy_text(value, metadata->version, sizeof(metadata->version), metadata_is_version);
	case FIELD_VENDOR:
		return copy_text(value, metadata->vendor, sizeof(metadata->vendor), metadata_is_text);
	case FIELD_BUILD_ID:
		return copy_text(value, metadata->build_id, sizeof(metadata->build_id), metadata_is_text);
	case FIELD_ABI:
		return number_from(value, &end, &metadata->abi_major) && *end == '.' &&
		       number_from(end + 1, &end, &metadata->abi_minor) && *end == '\0';
	case FIELD_MIN_HOST_MINOR:
		return number_from(value, &end, &metadata->min_host_minor) && *end == '\0';
	case FIELD_COUNT:
		break;
	}
	return false;
}

static bool take_line(struct plugin_metadata *metadata, unsigned *seen, char *line, struct error *error)
{
	char *value = strchr(line, '=');

	for (enum field field = 0; value && field < FIELD_COUNT; field++) {
		size_t length = (size_t)(value - line);
		if (strlen(field_names[field]) != length || strncmp(field_names[field], line, length) != 0)
			continue;
		if (*seen & 1u << field)
			return error_set(error, ERROR_PLUGIN, "section " IDEM_METADATA_SECTION " has \"%s\" twice",
			                 field_names[field]);
		*seen |= 1u << field;
		if (!field_set(metadata, field, value + 1))
			return error_set(error, ERROR_PLUGIN,
			                 "section " IDEM_METADATA_SECTION
			                 " has a \"%s\" that is not valid (see idem/plugin.h)",
			                 field_names[field]);
	}
	return true;
}

bool metadata_parse(struct bytes section, struct plugin_metadata *out_metadata, struct error *error)
{
	struct plugin_metadata metadata = {0};
	unsigned seen = 0;
	char line[256];

	for (size_t at = 0; at < section.len;) {
		size_t length = 0;
		while (at + length < section.len && section.ptr[at + length] != '\n' &&
		       section.ptr[at + length] != '\0')
			length++;
		snprintf(line, sizeof(line), "%.*s", (int)(length < sizeof(line) ? length : sizeof(line) - 1),
		         section.ptr + at);
		if (!take_line(&metadata, &seen, line, error))
			return false;
		at += length + 1;
	}
	for (enum field field = 0; field < FIELD_COUNT; field++)
		if (!(seen & 1u << field))
			return error_set(error, ERROR_PLUGIN,
			                 "section " IDEM_METADATA_SECTION
			                 " lacks \"%s\": write it with IDEM_PLUGIN_METADATA",
			                 field_names[field]);
	*out_metadata = metadata;
	return true;
}

bool metadata_check(const struct plugin_metadata *metadata, struct error *error)
{
	if (metadata->abi_major != IDEM_ABI_MAJOR)
		return error_set(
		        error, ERROR_PLUGIN,
		        "is built for plugin ABI %u, this host loads ABI %u: rebuild it with this host's idem/plugin.h",
		        metadata->abi_major, IDEM_ABI_MAJOR);
	if (metadata->min_host_minor > IDEM_ABI_MINOR)
		return error_set(error, ERROR_PLUGIN,
		                 "needs a host with plugin ABI %u.%u, this one offers %u.%u: install a newer idemd",
		                 metadata->abi_major, metadata->min_host_minor, IDEM_ABI_MAJOR, IDEM_ABI_MINOR);
	return true;
}

/* ---- the file ---- */

void metadata_digest(const struct elf_image *image, char out_digest[METADATA_DIGEST_BYTES])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;

	ASSERT(EVP_Digest(image->data, image->size, digest, &length, EVP_sha256(), NULL) == 1);
	ASSERT(length * 2 + 1 == METADATA_DIGEST_BYTES);
	for (unsigned i = 0; i < length; i++)
		snprintf(out_digest + 2 * i, 3, "%02x", digest[i]);
}

static bool inspect_image(const struct elf_image *image, const char *sha256, struct plugin_metadata *out_metadata,
                          struct error *error)
{
	char digest[METADATA_DIGEST_BYTES];
	struct bytes section = elf_image_section(image, IDEM_METADATA_SECTION);

	metadata_digest(image, digest);
	if (sha256 && strcasecmp(sha256, digest) != 0)
		return error_set(error, ERROR_PLUGIN,
		                 "has the sha256 %s, plugin.sha256 says another: it is not the file that was approved",
		                 digest);
	if (!section.ptr)
		return error_set(error, ERROR_PLUGIN,
		                 "has no section " IDEM_METADATA_SECTION
		                 ": it is no idem plugin, or lacks IDEM_PLUGIN_METADATA");
	if (!metadata_parse(section, out_metadata, error) || !metadata_check(out_metadata, error))
		return false;
	if (!elf_image_exports(image, IDEM_ENTRY_SYMBOL))
		return error_set(error, ERROR_PLUGIN,
		                 "exports no function " IDEM_ENTRY_SYMBOL
		                 ": declare it with IDEM_EXPORT and link it in");
	return true;
}

bool plugin_inspect(const char *file, const char *sha256, struct plugin_metadata *out_metadata, struct error *error)
{
	struct elf_image image;
	bool is_fine = elf_image_open(&image, file, error) && inspect_image(&image, sha256, out_metadata, error);

	elf_image_close(&image);
	if (!is_fine)
		error_wrap(error, "plugin %s", file);
	return is_fine;
}
