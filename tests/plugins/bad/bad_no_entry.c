/* Broken rule: the entry is not there, or hidden. */
#include <idem/plugin.h>

IDEM_PLUGIN_METADATA("bad_no_entry", "1.0.0", "idem", "tests");
IDEM_EXPORT int idem_plugin_v2(void);

int idem_plugin_v2(void)
{
	return 0;
}
