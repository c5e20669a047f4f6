# core/admin: metrics, health and API of the parent
libidemcore_a_SOURCES += \
	core/admin/admin.c core/admin/admin.h \
	core/admin/metrics_text.c \
	core/admin/status.c core/admin/status.h
EXTRA_DIST += core/admin/README.md
