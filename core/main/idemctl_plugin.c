/* idemctl plugin: what a plugin file is, before any host trusts it. */
#include "core/main/idemctl.h"
#include "core/plugin/plugin.h"
#include <stdio.h>

static int as_status(bool good, const struct error *error)
{
	if (good)
		return CTL_OK;
	fprintf(stderr, "idemctl: %s\n", error->text);
	return CTL_NO;
}

int ctl_plugin_inspect(const struct ctl *ctl)
{
	struct error error = {0};

	return as_status(plugin_print_inspect(ctl->words[0], ctl->json, stdout, &error), &error);
}

int ctl_plugin_check(const struct ctl *ctl)
{
	struct error error = {0};

	return as_status(plugin_print_check(ctl->words[0], stdout, &error), &error);
}
