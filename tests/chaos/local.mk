# What chaos preloads into hosts; built as the plugins are.
check_DATA += tests/chaos/clock_shim.so
CLEANFILES += tests/chaos/clock_shim.so
EXTRA_DIST += tests/chaos/clock_shim.c
