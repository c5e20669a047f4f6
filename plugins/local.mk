# Example plugins, built as anybody's would be: one .c, one header folder, no library of ours.
PLUGIN_FLAGS = -std=gnu17 -I$(top_srcdir)/sdk/include $(WARN) $(SANITIZE) $(CFLAGS) -fPIC -shared -fvisibility=hidden \
	-Wl,-z,defs -Wl,-z,now
SDK_FILES = $(top_srcdir)/sdk/include/idem/plugin.h $(top_srcdir)/sdk/include/idem/sugar.h
SUFFIXES = .so
check_DATA =

# <folder>/<name>.so from <folder>/<name>.c
.c.so:
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) $(PLUGIN_FLAGS) -o $@ $<
