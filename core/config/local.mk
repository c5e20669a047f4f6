# core/config: the configuration
AM_CPPFLAGS += -DIDEM_PLUGIN_DIR='"$(pkglibdir)"'
libidemcore_a_SOURCES += \
	core/config/check.c core/config/check.h \
	core/config/config.c core/config/config.h \
	core/config/conninfo.c core/config/conninfo.h \
	core/config/includes.c core/config/includes.h \
	core/config/librdkafka.c core/config/librdkafka.h \
	core/config/names.c core/config/names.h \
	core/config/nearest.c core/config/nearest.h \
	core/config/print.c \
	core/config/properties.c core/config/properties.h \
	core/config/reader.c core/config/reader.h \
	core/config/reference.c \
	core/config/report.c core/config/report.h \
	core/config/secret.c core/config/secret.h \
	core/config/settings.c core/config/settings.h core/config/settings.def \
	core/config/value.c core/config/value.h
EXTRA_DIST += core/config/README.md

# The generated pages are committed; test_config_pages fails when they drift from the table.
EXTRA_DIST += doc/reference/settings.md doc/idem.conf.sample
.PHONY: config-pages
config-pages: idemd
	./idemd --print-reference >$(top_srcdir)/doc/reference/settings.md
	./idemd --print-sample >$(top_srcdir)/doc/idem.conf.sample

# As fuzz-targets of core/event: needs clang.
fuzz-targets: tests/fuzz/fuzz_config
tests/fuzz/fuzz_config: $(top_srcdir)/tests/fuzz/fuzz_config.c $(libidemcore_a_SOURCES)
	@mkdir -p tests/fuzz
	clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(AM_CPPFLAGS) -std=gnu17 -pthread \
		-o $@ $(top_srcdir)/tests/fuzz/fuzz_config.c \
		$(addprefix $(top_srcdir)/,$(filter core/config/%.c core/base/%.c,$(libidemcore_a_SOURCES))) $(LIBS_ALL)
CLEANFILES += tests/fuzz/fuzz_config
EXTRA_DIST += tests/fuzz/fuzz_config.c

if HAVE_CHECK
config_tests = tests/unit/test_config tests/unit/test_config_mistakes tests/unit/test_config_pages tests/unit/test_config_print \
	tests/unit/test_config_properties tests/unit/test_config_value
check_PROGRAMS += $(config_tests)
TESTS += $(config_tests)
EXTRA_DIST += tests/unit/config_files.h
tests_unit_test_config_LDADD = $(UNIT_LIBS)
tests_unit_test_config_mistakes_LDADD = $(UNIT_LIBS)
tests_unit_test_config_pages_LDADD = $(UNIT_LIBS)
tests_unit_test_config_print_LDADD = $(UNIT_LIBS)
tests_unit_test_config_properties_LDADD = $(UNIT_LIBS)
tests_unit_test_config_value_LDADD = $(UNIT_LIBS)
endif
