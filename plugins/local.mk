# Example plugins, built as anybody's would be: one .c, one header folder, no library of ours; installed for idemd to find.
PLUGIN_FLAGS = -I$(top_srcdir)/sdk/include $(SANITIZE) -fPIC -shared -fvisibility=hidden -Wl,-z,defs -Wl,-z,now $(PLUGIN_EXTRA)
PLUGIN_EXTRA =
SDK_FILES = $(top_srcdir)/sdk/include/idem/plugin.h $(top_srcdir)/sdk/include/idem/sugar.h
SUFFIXES = .so
check_DATA =

# <folder>/<name>.so from <folder>/<name>.c or .cc
.c.so:
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) -std=gnu17 $(WARN) $(CFLAGS) $(PLUGIN_FLAGS) -o $@ $<
.cc.so:
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CXX) -std=gnu++17 $(CXXFLAGS) $(PLUGIN_FLAGS) -o $@ $<

EXAMPLE_PLUGINS = plugins/audit/audit.so plugins/billing/billing.so plugins/billing_batch/billing_batch.so \
	plugins/inventory/inventory.so
$(EXAMPLE_PLUGINS): $(SDK_FILES)
pluginsdir = $(pkglibdir)
plugins_DATA = $(EXAMPLE_PLUGINS)
CLEANFILES += $(EXAMPLE_PLUGINS)
EXTRA_DIST += doc/plugin-guide.md plugins/README.md \
	plugins/audit/README.md plugins/audit/audit.c plugins/audit/audit.conf plugins/audit/audit.sql \
	plugins/billing/README.md plugins/billing/billing.c plugins/billing/billing.conf plugins/billing/billing.sql \
	plugins/billing_batch/README.md plugins/billing_batch/billing_batch.c plugins/billing_batch/billing_batch.conf \
	plugins/billing_batch/billing_batch.sql \
	plugins/inventory/README.md plugins/inventory/inventory.c plugins/inventory/inventory.conf plugins/inventory/inventory.sql

if HAVE_CHECK
check_PROGRAMS += tests/component/test_examples tests/unit/test_sugar
TESTS += tests/component/test_examples tests/unit/test_sugar
tests_component_test_examples_SOURCES = tests/component/test_examples.c $(DATABASE_TEST)
tests_component_test_examples_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_examples_LDADD = $(UNIT_LIBS)
tests_unit_test_sugar_LDADD = $(UNIT_LIBS)
endif
