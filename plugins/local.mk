# Example plugins, built as anybody's would be: one .c, one header folder, no library of ours; installed for idemd to find.
PLUGIN_FLAGS = -std=gnu17 -I$(top_srcdir)/sdk/include $(WARN) $(SANITIZE) $(CFLAGS) -fPIC -shared -fvisibility=hidden \
	-Wl,-z,defs -Wl,-z,now
SDK_FILES = $(top_srcdir)/sdk/include/idem/plugin.h $(top_srcdir)/sdk/include/idem/sugar.h
SUFFIXES = .so
check_DATA =

# <folder>/<name>.so from <folder>/<name>.c
.c.so:
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) $(PLUGIN_FLAGS) -o $@ $<

EXAMPLE_PLUGINS = plugins/audit/audit.so plugins/billing/billing.so plugins/billing_batch/billing_batch.so \
	plugins/inventory/inventory.so
$(EXAMPLE_PLUGINS): $(SDK_FILES)
pluginsdir = $(pkglibdir)
plugins_DATA = $(EXAMPLE_PLUGINS)
CLEANFILES += $(EXAMPLE_PLUGINS)
EXTRA_DIST += plugins/README.md \
	plugins/audit/README.md plugins/audit/audit.c plugins/audit/audit.conf plugins/audit/audit.sql \
	plugins/billing/README.md plugins/billing/billing.c plugins/billing/billing.conf plugins/billing/billing.sql \
	plugins/billing_batch/README.md plugins/billing_batch/billing_batch.c plugins/billing_batch/billing_batch.conf \
	plugins/billing_batch/billing_batch.sql \
	plugins/inventory/README.md plugins/inventory/inventory.c plugins/inventory/inventory.conf plugins/inventory/inventory.sql
