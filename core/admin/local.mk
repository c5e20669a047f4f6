# core/admin: metrics, health and API of the parent
libidemcore_a_SOURCES += \
	core/admin/admin.c core/admin/admin.h \
	core/admin/metrics_text.c \
	core/admin/plugin_text.c \
	core/admin/status.c core/admin/status.h
EXTRA_DIST += core/admin/README.md

if HAVE_CHECK
check_PROGRAMS += tests/unit/test_admin
TESTS += tests/unit/test_admin
tests_unit_test_admin_LDADD = $(UNIT_LIBS)
endif
