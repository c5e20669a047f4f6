# core/retry: retry topics and dead letters
libidemcore_a_SOURCES += \
	core/retry/outgoing.c core/retry/outgoing.h \
	core/retry/router.c core/retry/router.h
EXTRA_DIST += core/retry/README.md
