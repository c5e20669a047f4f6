# core/main: the two programs
bin_PROGRAMS += idemd idemctl
idemd_SOURCES = core/main/idemd.c core/main/idemd.h core/main/child.c core/main/check.c \
	core/main/environment.c core/main/environment.h
idemd_LDADD = libidemcore.a $(LIBS_ALL)
idemctl_SOURCES = core/main/idemctl.c core/main/idemctl.h core/main/idemctl_dedup.c core/main/idemctl_dlq.c core/main/idemctl_dlq_index.c \
	core/main/dlq.c core/main/dlq.h core/main/dlq_arguments.c core/main/dlq_arguments.h \
	core/main/dlq_print.c core/main/dlq_print.h \
	core/main/idemctl_parked.c core/main/idemctl_plugin.c core/main/idemctl_schema.c core/main/idemctl_status.c core/main/http_get.c core/main/http_get.h
idemctl_LDADD = libidemcore.a $(LIBS_ALL)
EXTRA_DIST += core/main/README.md

EXTRA_DIST += doc/operator-guide.md doc/runbook.md ops/README.md ops/systemd/idemd.service tests/component/test_programs.sh
TESTS += tests/component/test_programs.sh
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_environment
TESTS += tests/unit/test_environment
tests_unit_test_environment_SOURCES = tests/unit/test_environment.c core/main/environment.c
tests_unit_test_environment_LDADD = $(UNIT_LIBS)
endif
