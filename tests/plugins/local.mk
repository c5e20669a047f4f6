# Test plugins: tests/plugins/<folder>/<name>.so next to the objects; built by make check.
TEST_PLUGINS = tests/plugins/ref/ref.so
EXTRA_DIST += tests/plugins/README.md tests/plugins/ref/ref.c tests/plugins/ref/ref.sql
check_DATA += $(TEST_PLUGINS)
CLEANFILES += $(TEST_PLUGINS)
$(TEST_PLUGINS): $(SDK_FILES)
