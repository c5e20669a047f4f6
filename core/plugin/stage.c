/* A plugin is run from a copy under its digest, never from the file the operator may overwrite: changing a mapped .so
 * in place kills the process. */
#include "core/plugin/metadata.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int descriptor, const struct elf_image *image)
{
	size_t done = 0;

	while (done < image->size) {
		ssize_t wrote = write(descriptor, image->data + done, image->size - done);
		if (wrote < 0 && errno != EINTR)
			return false;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return fchmod(descriptor, 0555) == 0 && fsync(descriptor) == 0;
}

/* Appears under its name whole or not at all. */
static bool write_copy(const struct elf_image *image, const char *directory, const char *path, struct error *error)
{
	char temporary[PATH_MAX];

	if (snprintf(temporary, sizeof(temporary), "%s/.plugin-XXXXXX", directory) >= (int)sizeof(temporary))
		return error_set(error, ERROR_IO, "the path of %s is too long", directory);
	int descriptor = mkstemp(temporary);
	if (descriptor < 0)
		return error_set(error, ERROR_IO, "can't be copied to %s: %s", directory, strerror(errno));
	bool is_written = write_all(descriptor, image);
	int cause = errno;
	if (close(descriptor) != 0 && is_written) {
		is_written = false;
		cause = errno;
	}
	if (is_written && rename(temporary, path) != 0) {
		is_written = false;
		cause = errno;
	}
	if (is_written)
		return true;
	unlink(temporary);
	return error_set(error, ERROR_IO, "can't be copied to %s: %s", directory, strerror(cause));
}

/* A copy that was cut off by a crash or changed by somebody is made anew. */
static bool is_intact(const char *path, const char *digest)
{
	char found[METADATA_DIGEST_BYTES];
	struct elf_image image;

	if (!elf_image_open(&image, path, NULL))
		return false;
	metadata_digest(&image, found);
	elf_image_close(&image);
	return strcmp(found, digest) == 0;
}

bool plugin_stage(const char *file, const char *directory, char *out_path, size_t size, struct error *error)
{
	char digest[METADATA_DIGEST_BYTES], path[PATH_MAX];
	struct elf_image image;
	bool is_staged = false;

	if (!elf_image_open(&image, file, error))
		return error_wrap(error, "plugin %s", file);
	metadata_digest(&image, digest);
	if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		error_set(error, ERROR_IO, "%s can't be made: %s", directory, strerror(errno));
	else if (snprintf(path, sizeof(path), "%s/%s.so", directory, digest) >= (int)sizeof(path) ||
	         strlen(path) >= size)
		error_set(error, ERROR_IO, "the path of %s is too long", directory);
	else
		is_staged = is_intact(path, digest) || write_copy(&image, directory, path, error);
	elf_image_close(&image);
	if (!is_staged)
		return error_wrap(error, "plugin %s", file);
	memcpy(out_path, path, strlen(path) + 1);
	return true;
}
