/* A plugin in C++ whose exception leaves handle() when the payload says throw; else a row of `effect`, as ref's. */
#include <idem/plugin.h>
#include <cstring>
#include <stdexcept>

static const idem_host_api *api;
static uint32_t insert_effect;

static idem_bytes text(const char *string)
{
	return {string, std::strlen(string)};
}

static idem_status create(const idem_host_api *given, void **out_self)
{
	idem_statement statement = {};

	api = given;
	*out_self = nullptr;
	statement.struct_size = sizeof(statement);
	statement.sql = "INSERT INTO effect (consumer, event_id, pid, at) VALUES ($1, $2::uuid, 0, clock_timestamp())";
	statement.param_count = 2;
	return api->tx->declare(api->host, &statement, &insert_effect);
}

static idem_verdict handle(void *, idem_call *call, const idem_event *event)
{
	idem_param params[2] = {};
	idem_exec exec = {};
	idem_value deed = {};

	if (api->json->get(call, "/do", &deed) == IDEM_OK && deed.type == IDEM_STRING && deed.text.len == 5 &&
	    std::memcmp(deed.text.ptr, "throw", 5) == 0)
		throw std::runtime_error("thrown by a plugin");
	params[0].value = text(event->pipeline);
	params[1].value = event->id;
	exec.struct_size = sizeof(exec);
	exec.statement = insert_effect;
	exec.params = params;
	exec.param_count = 2;
	return api->tx->queue(call, &exec) == IDEM_OK ? IDEM_DONE : IDEM_RETRY;
}

static const char *const types[] = {"test.v1", nullptr};

IDEM_PLUGIN_METADATA("ref_throw", "1.0.0", "idem", "tests");

extern "C" const idem_plugin *idem_plugin_v1(void)
{
	static idem_plugin plugin = {};
	plugin.struct_size = sizeof(plugin);
	plugin.abi_major = IDEM_ABI_MAJOR;
	plugin.abi_minor = IDEM_ABI_MINOR;
	plugin.name = "ref_throw";
	plugin.version = "1.0.0";
	plugin.vendor = "idem";
	plugin.build_id = "tests";
	plugin.capabilities = IDEM_CAP_CONCURRENT;
	plugin.event_types = types;
	plugin.create = create;
	plugin.handle = handle;
	return &plugin;
}
