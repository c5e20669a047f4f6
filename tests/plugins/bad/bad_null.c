/* Broken rule: the entry answers NULL. */
#include <idem/plugin.h>

IDEM_PLUGIN_METADATA("bad_null", "1.0.0", "idem", "tests");

const struct idem_plugin *idem_plugin_v1(void)
{
	return NULL;
}
