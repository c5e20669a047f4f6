/* Built with a header of a later minor: a longer description, more than this host knows, but nothing that it needs. */
#include <idem/plugin.h>
#undef IDEM_ABI_MINOR
#define IDEM_ABI_MINOR 7

struct later_plugin {
	struct idem_plugin known;
	void (*appended)(void);
};

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	(void)out_self;
	return api->abi_minor < 7 && !IDEM_HAS(api, extension) ? IDEM_E_INVALID : IDEM_OK;
}

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	(void)self;
	(void)call;
	(void)event;
	return IDEM_DONE;
}

static void appended(void)
{
}

IDEM_PLUGIN_METADATA("good_newer", "1.0.0", "idem", "tests");

const struct idem_plugin *idem_plugin_v1(void)
{
	static const struct later_plugin plugin = {.known = {.struct_size = sizeof(plugin),
	                                                     .abi_major = IDEM_ABI_MAJOR,
	                                                     .abi_minor = IDEM_ABI_MINOR,
	                                                     .name = "good_newer",
	                                                     .version = "1.0.0",
	                                                     .vendor = "idem",
	                                                     .build_id = "tests",
	                                                     .create = create,
	                                                     .handle = handle},
	                                           .appended = appended};
	return &plugin.known;
}
