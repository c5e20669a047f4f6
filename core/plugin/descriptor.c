/* The rules of section "the plugin" of plugin.h.  Works on the host's own copy. */
#include "core/plugin/internal.h"
#include "core/plugin/metadata.h"
#include <string.h>

#define MAX_TYPES 1000
#define MAX_TYPE_BYTES 200

static bool check_strings(const struct idem_plugin *descriptor, struct error *error)
{
	if (!descriptor->name || !metadata_is_name(descriptor->name))
		return error_set(error, ERROR_PLUGIN, "its name is not valid: [a-z][a-z0-9_-]*, at most 63 characters");
	if (!descriptor->version || !metadata_is_version(descriptor->version))
		return error_set(error, ERROR_PLUGIN, "its version is not valid: at most 31 of A-Z a-z 0-9 . + ~ _ -");
	if (!descriptor->vendor || !metadata_is_text(descriptor->vendor))
		return error_set(error, ERROR_PLUGIN, "its vendor is missing or not 1 to 63 bytes of printable text");
	if (!descriptor->build_id || !metadata_is_text(descriptor->build_id))
		return error_set(error, ERROR_PLUGIN, "its build id is missing or not 1 to 63 bytes of printable text");
	return true;
}

static bool differs(const char *what, const char *file, const char *code, struct error *error)
{
	return error_set(
	        error, ERROR_PLUGIN,
	        "its file says %s \"%s\", its code says \"%s\": IDEM_PLUGIN_METADATA must agree with the description",
	        what, file, code);
}

static bool check_agreement(const struct idem_plugin *descriptor, const struct plugin_metadata *metadata,
                            struct error *error)
{
	if (strcmp(descriptor->name, metadata->name) != 0)
		return differs("name", metadata->name, descriptor->name, error);
	if (strcmp(descriptor->version, metadata->version) != 0)
		return differs("version", metadata->version, descriptor->version, error);
	if (strcmp(descriptor->vendor, metadata->vendor) != 0)
		return differs("vendor", metadata->vendor, descriptor->vendor, error);
	if (strcmp(descriptor->build_id, metadata->build_id) != 0)
		return differs("build_id", metadata->build_id, descriptor->build_id, error);
	if (descriptor->abi_minor != metadata->abi_minor || descriptor->min_host_minor != metadata->min_host_minor)
		return error_set(error, ERROR_PLUGIN,
		                 "its file says ABI %u.%u (needs minor %u), its code says %u.%u (needs %u): "
		                 "IDEM_PLUGIN_METADATA must agree with the description",
		                 metadata->abi_major, metadata->abi_minor, metadata->min_host_minor,
		                 descriptor->abi_major, descriptor->abi_minor, descriptor->min_host_minor);
	return true;
}

static bool check_callbacks(const struct idem_plugin *descriptor, struct error *error)
{
	if (!descriptor->create)
		return error_set(error, ERROR_PLUGIN, "it has no create(), which is required");
	if (!descriptor->handle)
		return error_set(error, ERROR_PLUGIN,
		                 "it has no handle(), which is required, also beside handle_batch()");
	if (descriptor->outbound)
		return error_set(error, ERROR_PLUGIN,
		                 "outbound needs " IDEM_EXT_HTTP ", which this host does not offer");
	return true;
}

static bool check_capabilities(const struct idem_plugin *descriptor, struct error *error)
{
	uint32_t unknown = descriptor->capabilities & ~(uint32_t)(IDEM_CAP_CONCURRENT | IDEM_CAP_ISOLATED);

	if (unknown)
		return error_set(
		        error, ERROR_PLUGIN,
		        "it has the capability bits 0x%x, which this host does not know: install a newer idemd",
		        unknown);
	for (const char *const *id = descriptor->required_extensions; id && *id; id++)
		return error_set(error, ERROR_PLUGIN,
		                 "it requires the extension \"%.60s\", which this host does not offer", *id);
	return true;
}

static bool is_repeated(const char *const *types, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(types[i], types[j]) == 0)
			return true;
	return false;
}

static bool check_types(const char *const *types, struct error *error)
{
	for (size_t i = 0; types && types[i]; i++) {
		size_t length = strnlen(types[i], MAX_TYPE_BYTES + 1);
		if (i == MAX_TYPES)
			return error_set(error, ERROR_PLUGIN,
			                 "more than %d event types, or their list does not end with NULL", MAX_TYPES);
		for (size_t j = 0; j < length; j++)
			if ((unsigned char)types[i][j] <= ' ' || types[i][j] == 0x7f)
				length = 0;
		if (length == 0 || length > MAX_TYPE_BYTES)
			return error_set(
			        error, ERROR_PLUGIN,
			        "its event type %zu is not 1 to %d bytes without blanks and control characters", i + 1,
			        MAX_TYPE_BYTES);
		if (is_repeated(types, i))
			return error_set(error, ERROR_PLUGIN, "it lists the event type \"%s\" twice", types[i]);
	}
	return true;
}

bool descriptor_check(const struct idem_plugin *descriptor, const struct plugin_metadata *metadata, struct error *error)
{
	return check_strings(descriptor, error) && check_agreement(descriptor, metadata, error) &&
	       check_callbacks(descriptor, error) && check_capabilities(descriptor, error) &&
	       check_types(descriptor->event_types, error);
}
