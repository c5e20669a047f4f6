# core/admin: metrics, health and API of the parent
libidemcore_a_SOURCES += \
	core/admin/admin.c core/admin/admin.h \
	core/admin/latency_window.c core/admin/latency_window.h \
	core/admin/metrics_text.c \
	core/admin/plugin_text.c \
	core/admin/reference.c core/admin/reference.h \
	core/admin/status.c core/admin/status.h
EXTRA_DIST += core/admin/README.md

# The generated pages are committed; test_admin_pages fails when they drift from the tables.
EXTRA_DIST += doc/reference/metrics.md doc/reference/log.md
.PHONY: admin-pages
admin-pages: idemd
	./idemd --print-metrics >$(top_srcdir)/doc/reference/metrics.md
	./idemd --print-log-events >$(top_srcdir)/doc/reference/log.md

if HAVE_CHECK
check_PROGRAMS += tests/unit/test_admin tests/unit/test_admin_pages
TESTS += tests/unit/test_admin tests/unit/test_admin_pages
tests_unit_test_admin_pages_LDADD = $(UNIT_LIBS)
tests_unit_test_admin_LDADD = $(UNIT_LIBS)
endif
