/* Broken rule: an exception leaves handle().  The host can only die of it, as of any crash. */
#include <idem/plugin.h>
#include <stdexcept>

static idem_status create(const idem_host_api *, void **)
{
	return IDEM_OK;
}

static idem_verdict handle(void *, idem_call *, const idem_event *)
{
	throw std::runtime_error("thrown by a plugin");
}

IDEM_PLUGIN_METADATA("bad_throw", "1.0.0", "idem", "tests");

extern "C" const idem_plugin *idem_plugin_v1(void)
{
	static idem_plugin plugin = {};
	plugin.struct_size = sizeof(plugin);
	plugin.abi_major = IDEM_ABI_MAJOR;
	plugin.abi_minor = IDEM_ABI_MINOR;
	plugin.name = "bad_throw";
	plugin.version = "1.0.0";
	plugin.vendor = "idem";
	plugin.build_id = "tests";
	plugin.create = create;
	plugin.handle = handle;
	return &plugin;
}
