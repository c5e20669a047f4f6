# core/supervisor: the parent
libidemcore_a_SOURCES += \
	core/supervisor/child.c core/supervisor/child.h \
	core/supervisor/children.c core/supervisor/children.h \
	core/supervisor/plan.c core/supervisor/plan.h \
	core/supervisor/spawn.c core/supervisor/spawn.h \
	core/supervisor/state_dir.c core/supervisor/state_dir.h \
	core/supervisor/supervisor.c core/supervisor/supervisor.h
EXTRA_DIST += core/supervisor/README.md

if HAVE_CHECK
supervisor_tests = tests/component/test_reload tests/component/test_supervisor
check_PROGRAMS += $(supervisor_tests) tests/tools/fakechild
TESTS += $(supervisor_tests)
SUPERVISOR_BENCH = tests/component/supervisor_bench.c tests/component/supervisor_bench.h
tests_component_test_reload_SOURCES = tests/component/test_reload.c $(SUPERVISOR_BENCH)
tests_component_test_reload_LDADD = $(UNIT_LIBS)
tests_component_test_supervisor_SOURCES = tests/component/test_supervisor.c $(SUPERVISOR_BENCH)
tests_component_test_supervisor_LDADD = $(UNIT_LIBS)
tests_tools_fakechild_SOURCES = tests/tools/fakechild.c core/main/child.c
tests_tools_fakechild_LDADD = libidemcore.a $(LIBS_ALL)
endif
