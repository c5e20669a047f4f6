# core/base: knows nothing of the rest
libidemcore_a_SOURCES += \
	core/base/arena.c core/base/arena.h \
	core/base/assert.c core/base/assert.h \
	core/base/bytes.h \
	core/base/clock.c core/base/clock.h \
	core/base/error.c core/base/error.h \
	core/base/failpoint.c core/base/failpoint.h \
	core/base/log.c core/base/log.h core/base/log_events.def \
	core/base/metrics.c core/base/metrics.h core/base/metrics.def
EXTRA_DIST += core/base/README.md
