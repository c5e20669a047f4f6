/* A plugin that would be accepted, but for one breach. */
#include <idem/plugin.h>

static idem_status bad_create(const struct idem_host_api *api, void **out_self)
{
	(void)api;
	(void)out_self;
	return IDEM_OK;
}

static idem_verdict bad_handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	(void)self;
	(void)call;
	(void)event;
	return IDEM_DONE;
}

/* breach: a statement on `plugin` */
#define BAD_ENTRY(plugin_name, breach)                                                                                 \
	const struct idem_plugin *idem_plugin_v1(void)                                                                 \
	{                                                                                                              \
		static struct idem_plugin plugin = {.struct_size = sizeof(plugin),                                     \
		                                    .abi_major = IDEM_ABI_MAJOR,                                       \
		                                    .abi_minor = IDEM_ABI_MINOR,                                       \
		                                    .min_host_minor = IDEM_MIN_HOST_MINOR,                             \
		                                    .name = plugin_name,                                               \
		                                    .version = "1.0.0",                                                \
		                                    .vendor = "idem",                                                  \
		                                    .build_id = "tests",                                               \
		                                    .create = bad_create,                                              \
		                                    .handle = bad_handle};                                             \
		breach;                                                                                                \
		return &plugin;                                                                                        \
	}
#define BAD_PLUGIN(plugin_name, breach)                                                                                \
	IDEM_PLUGIN_METADATA(plugin_name, "1.0.0", "idem", "tests");                                                   \
	BAD_ENTRY(plugin_name, breach)
