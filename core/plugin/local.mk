# core/plugin: loading, ABI checks, the tables handed to plugins
libidemcore_a_SOURCES += \
	core/plugin/call.c core/plugin/call.h \
	core/plugin/descriptor.c \
	core/plugin/elf_image.c core/plugin/elf_image.h \
	core/plugin/handle.h \
	core/plugin/inspect.c \
	core/plugin/internal.h \
	core/plugin/loader.c \
	core/plugin/metadata.c core/plugin/metadata.h \
	core/plugin/options.c core/plugin/options.h \
	core/plugin/plugin.c core/plugin/plugin.h \
	core/plugin/rows.c core/plugin/rows.h \
	core/plugin/sql_check.c \
	core/plugin/stage.c \
	core/plugin/tables_call.c core/plugin/tables_host.c core/plugin/tables_metrics.c core/plugin/tables_tx.c \
	core/plugin/trial.c
EXTRA_DIST += core/plugin/README.md

# As fuzz-targets of core/event: needs clang.
fuzz-targets: tests/fuzz/fuzz_plugin
tests/fuzz/fuzz_plugin: $(top_srcdir)/tests/fuzz/fuzz_plugin.c $(libidemcore_a_SOURCES)
	@mkdir -p tests/fuzz
	clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(AM_CPPFLAGS) -std=gnu17 -pthread \
		-o $@ $(top_srcdir)/tests/fuzz/fuzz_plugin.c $(top_srcdir)/core/plugin/elf_image.c $(top_srcdir)/core/plugin/metadata.c \
		$(addprefix $(top_srcdir)/,$(filter core/base/%.c,$(libidemcore_a_SOURCES))) $(LIBS_ALL)
CLEANFILES += tests/fuzz/fuzz_plugin
EXTRA_DIST += tests/fuzz/fuzz_plugin.c

if HAVE_CHECK
plugin_tests = tests/unit/test_call tests/unit/test_loader tests/unit/test_metadata tests/unit/test_options \
	tests/unit/test_sql_check
check_PROGRAMS += $(plugin_tests)
TESTS += $(plugin_tests)
tests_unit_test_call_SOURCES = tests/unit/test_call.c tests/unit/plugin_fixture.h
tests_unit_test_call_LDADD = $(UNIT_LIBS)
tests_unit_test_loader_SOURCES = tests/unit/test_loader.c tests/unit/plugin_fixture.h
tests_unit_test_loader_LDADD = $(UNIT_LIBS)
tests_unit_test_metadata_SOURCES = tests/unit/test_metadata.c tests/unit/plugin_fixture.h
tests_unit_test_metadata_LDADD = $(UNIT_LIBS)
tests_unit_test_options_SOURCES = tests/unit/test_options.c tests/unit/plugin_fixture.h
tests_unit_test_options_LDADD = $(UNIT_LIBS)
tests_unit_test_sql_check_SOURCES = tests/unit/test_sql_check.c tests/unit/plugin_fixture.h
tests_unit_test_sql_check_LDADD = $(UNIT_LIBS)
endif
