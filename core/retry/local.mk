# core/retry: retry topics and dead letters
libidemcore_a_SOURCES += \
	core/retry/dead_letters.c core/retry/dead_letters.h \
	core/retry/letter.c core/retry/letter.h \
	core/retry/outgoing.c core/retry/outgoing.h \
	core/retry/parked_record.c core/retry/parked_record.h \
	core/retry/replay.c core/retry/replay.h \
	core/retry/router.c core/retry/router.h
EXTRA_DIST += core/retry/README.md

# As fuzz-targets of core/event: needs clang.
fuzz-targets: tests/fuzz/fuzz_retry
tests/fuzz/fuzz_retry: $(top_srcdir)/tests/fuzz/fuzz_retry.c $(libidemcore_a_SOURCES)
	@mkdir -p tests/fuzz
	clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(AM_CPPFLAGS) -std=gnu17 -pthread \
		-o $@ $(top_srcdir)/tests/fuzz/fuzz_retry.c $(top_srcdir)/core/retry/outgoing.c \
		$(top_srcdir)/core/retry/letter.c $(top_srcdir)/core/retry/parked_record.c \
		$(fuzz_event_files) $(LIBS_ALL)
CLEANFILES += tests/fuzz/fuzz_retry
EXTRA_DIST += tests/fuzz/fuzz_retry.c
if HAVE_CHECK
check_PROGRAMS += tests/component/test_router tests/unit/test_parked_record
TESTS += tests/component/test_router tests/unit/test_parked_record
tests_unit_test_parked_record_LDADD = $(UNIT_LIBS)
tests_component_test_router_SOURCES = tests/component/test_router.c tests/component/broker.c tests/component/broker.h
tests_component_test_router_LDADD = $(UNIT_LIBS)
endif
