# core/main: the two programs
bin_PROGRAMS += idemd idemctl
idemd_SOURCES = core/main/idemd.c core/main/idemd.h core/main/child.c core/main/check.c
idemd_LDADD = libidemcore.a $(LIBS_ALL)
idemctl_SOURCES = core/main/idemctl.c core/main/idemctl.h core/main/idemctl_dedup.c \
	core/main/idemctl_plugin.c core/main/idemctl_schema.c core/main/idemctl_status.c core/main/http_get.c core/main/http_get.h
idemctl_LDADD = libidemcore.a $(LIBS_ALL)
EXTRA_DIST += core/main/README.md
