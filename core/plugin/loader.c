/* From a file to a checked description: inspect, dlopen, ask the entry, copy in, check, read the options. */
#include "core/plugin/internal.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* What a plugin of ABI 1.0 has, never sizeof: later members must not be demanded of it. */
#define BASELINE (offsetof(struct idem_plugin, destroy) + sizeof(((struct idem_plugin *)0)->destroy))

typedef const struct idem_plugin *plugin_entry(void);

/* RTLD_NOW: a missing symbol is refused here, not at three in the morning.  RTLD_LOCAL: plugins do not see each other.
 * Never dlclosed: threads, thread-local destructors and atexit handlers of unloaded code crash. */
static plugin_entry *load_entry(const char *path, struct error *error)
{
	char absolute[PATH_MAX];
	void *library = realpath(path, absolute) ? dlopen(absolute, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library) {
		const char *why = dlerror();
		error_set(error, ERROR_PLUGIN, "can't be loaded: %s", why ? why : "the file is gone");
		return NULL;
	}
	plugin_entry *entry = (plugin_entry *)(uintptr_t)dlsym(library, IDEM_ENTRY_SYMBOL);
	if (!entry)
		error_set(error, ERROR_PLUGIN, "exports no function " IDEM_ENTRY_SYMBOL);
	return entry;
}

/* Size and version before any other member is looked at. */
static bool copy_descriptor(const struct idem_plugin *theirs, struct idem_plugin *out_ours, struct error *error)
{
	if (!theirs)
		return error_set(error, ERROR_PLUGIN, IDEM_ENTRY_SYMBOL "() answered NULL");
	if (theirs->struct_size < BASELINE)
		return error_set(error, ERROR_PLUGIN,
		                 "its description has struct_size %u, plugin ABI 1.0 has %zu: set it to sizeof(struct "
		                 "idem_plugin)",
		                 theirs->struct_size, BASELINE);
	if (theirs->abi_major != IDEM_ABI_MAJOR)
		return error_set(
		        error, ERROR_PLUGIN,
		        "its description says plugin ABI %u, this host loads ABI %u: set abi_major to IDEM_ABI_MAJOR",
		        theirs->abi_major, IDEM_ABI_MAJOR);
	size_t known = theirs->struct_size < sizeof(*out_ours) ? theirs->struct_size : sizeof(*out_ours);
	memset(out_ours, 0, sizeof(*out_ours));
	memcpy(out_ours, theirs, known);
	return true;
}

static const void *no_extension(struct idem_host *host, const char *id)
{
	(void)host;
	(void)id;
	return NULL;
}

static struct plugin *plugin_make(const char *pipeline)
{
	struct plugin *plugin = calloc(1, sizeof(*plugin));

	ASSERT(plugin);
	plugin->host.plugin = plugin;
	plugin->pipeline = strdup(pipeline);
	ASSERT(plugin->pipeline);
	plugin->api = (struct idem_host_api){.struct_size = sizeof(plugin->api),
	                                     .abi_major = IDEM_ABI_MAJOR,
	                                     .abi_minor = IDEM_ABI_MINOR,
	                                     .host = &plugin->host,
	                                     .host_version = PACKAGE_VERSION,
	                                     .log = &plugin_log_api,
	                                     .options = &plugin_options_api,
	                                     .metrics = &plugin_metrics_api,
	                                     .json = &plugin_json_api,
	                                     .tx = &plugin_tx_api,
	                                     .call = &plugin_call_api,
	                                     .extension = no_extension};
	return plugin;
}

static bool plugin_load(struct plugin *plugin, const char *path, const struct config_plugin *config,
                        struct error *error)
{
	struct plugin_metadata metadata;

	if (!plugin_inspect(path, config->sha256, &metadata, error))
		return false; /* says which file */
	plugin_entry *entry = load_entry(path, error);
	if (entry && copy_descriptor(entry(), &plugin->descriptor, error) &&
	    descriptor_check(&plugin->descriptor, &metadata, error) &&
	    options_init(&plugin->options, plugin->descriptor.options, &config->options, error))
		return true;
	return error_wrap(error, "plugin %s (%s)", metadata.name, config->file ? config->file : path);
}

struct plugin *plugin_open(const char *path, const struct config_plugin *config, const char *pipeline,
                           struct error *error)
{
	struct plugin *plugin = plugin_make(pipeline);

	if (plugin_load(plugin, path, config, error))
		return plugin;
	plugin_destroy(plugin);
	return NULL;
}
