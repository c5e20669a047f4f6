# core/base: knows nothing of the rest
libidemcore_a_SOURCES += \
	core/base/arena.c core/base/arena.h \
	core/base/assert.c core/base/assert.h \
	core/base/bytes.h \
	core/base/clock.c core/base/clock.h \
	core/base/error.c core/base/error.h \
	core/base/escape.c core/base/escape.h \
	core/base/failpoint.c core/base/failpoint.h \
	core/base/log.c core/base/log.h core/base/log_events.def \
	core/base/metrics.c core/base/metrics.h core/base/metrics.def
EXTRA_DIST += core/base/README.md

if HAVE_CHECK
base_tests = tests/unit/test_arena tests/unit/test_clock tests/unit/test_error tests/unit/test_escape tests/unit/test_failpoint tests/unit/test_log \
	tests/unit/test_metrics
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
tests_unit_test_arena_LDADD = $(UNIT_LIBS)
tests_unit_test_clock_LDADD = $(UNIT_LIBS)
tests_unit_test_error_LDADD = $(UNIT_LIBS)
tests_unit_test_escape_LDADD = $(UNIT_LIBS)
tests_unit_test_failpoint_LDADD = $(UNIT_LIBS)
tests_unit_test_log_LDADD = $(UNIT_LIBS)
tests_unit_test_metrics_LDADD = $(UNIT_LIBS)
endif
