# sources of core/pipeline
libidemcore_a_SOURCES += \
	core/pipeline/due_heap.c core/pipeline/due_heap.h \
	core/pipeline/lane_table.c core/pipeline/lane_table.h \
	core/pipeline/lanes.c core/pipeline/lanes.h \
	core/pipeline/record.h \
	core/pipeline/released.c core/pipeline/released.h \
	core/pipeline/source.c core/pipeline/source.h core/pipeline/source_parts.h \
	core/pipeline/source_group.c \
	core/pipeline/source_offsets.c \
	core/pipeline/source_parked.c \
	core/pipeline/source_pause.c \
	core/pipeline/source_rebalance.c \
	core/pipeline/source_records.c \
	core/pipeline/source_statistics.c \
	core/pipeline/tracker.c core/pipeline/tracker.h
EXTRA_DIST += core/pipeline/README.md
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_tracker tests/unit/test_lanes
TESTS += tests/unit/test_tracker tests/unit/test_lanes
tests_unit_test_tracker_SOURCES = tests/unit/test_tracker.c tests/unit/fake_message.h
tests_unit_test_tracker_LDADD = $(UNIT_LIBS)
tests_unit_test_lanes_SOURCES = tests/unit/test_lanes.c tests/unit/fake_message.h
tests_unit_test_lanes_LDADD = $(UNIT_LIBS)
check_PROGRAMS += tests/component/test_source
TESTS += tests/component/test_source
tests_component_test_source_SOURCES = tests/component/test_source.c tests/component/source_bench.c \
	tests/component/source_bench.h
tests_component_test_source_LDADD = $(UNIT_LIBS)
BATCH_TEST = tests/component/batch_bench.c tests/component/batch_bench.h $(DATABASE_TEST)
batch_tests = tests/component/test_batch tests/component/test_batch_claim tests/component/test_batch_set tests/component/test_attempts tests/component/test_blame \
	tests/component/test_parked \
	tests/component/test_worker
check_PROGRAMS += $(batch_tests)
TESTS += $(batch_tests)
tests_component_test_batch_SOURCES = tests/component/test_batch.c $(BATCH_TEST)
tests_component_test_batch_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_batch_LDADD = $(UNIT_LIBS)
tests_component_test_batch_claim_SOURCES = tests/component/test_batch_claim.c $(BATCH_TEST)
tests_component_test_batch_claim_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_batch_claim_LDADD = $(UNIT_LIBS)
tests_component_test_batch_set_SOURCES = tests/component/test_batch_set.c $(BATCH_TEST)
tests_component_test_batch_set_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_batch_set_LDADD = $(UNIT_LIBS)
tests_component_test_blame_SOURCES = tests/component/test_blame.c $(BATCH_TEST)
tests_component_test_blame_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_blame_LDADD = $(UNIT_LIBS)
tests_component_test_attempts_SOURCES = tests/component/test_attempts.c $(BATCH_TEST)
tests_component_test_attempts_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_attempts_LDADD = $(UNIT_LIBS)
tests_component_test_parked_SOURCES = tests/component/test_parked.c $(BATCH_TEST)
tests_component_test_parked_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_parked_LDADD = $(UNIT_LIBS)
tests_component_test_worker_SOURCES = tests/component/test_worker.c $(BATCH_TEST)
tests_component_test_worker_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_worker_LDADD = $(UNIT_LIBS)
endif
libidemcore_a_SOURCES += \
	core/pipeline/batch.c core/pipeline/batch.h core/pipeline/batch_attempts.c core/pipeline/batch_claim.c core/pipeline/batch_commit.c \
	core/pipeline/batch_flush.c core/pipeline/batch_handle.c core/pipeline/batch_open.c core/pipeline/batch_order.c core/pipeline/batch_park.c core/pipeline/batch_park_write.c \
	core/pipeline/batch_query.c \
	core/pipeline/batch_set.c \
	core/pipeline/blame.c core/pipeline/blame.h core/pipeline/crash.c core/pipeline/crash.h core/pipeline/solo.c core/pipeline/solo.h \
	core/pipeline/engine.h core/pipeline/gate.c core/pipeline/gate.h core/pipeline/parking.h core/pipeline/settle.c core/pipeline/settle.h \
	core/pipeline/watch.c core/pipeline/watch.h core/pipeline/worker.c core/pipeline/worker.h
libidemcore_a_SOURCES += core/pipeline/pipeline.c core/pipeline/pipeline.h core/pipeline/side.c core/pipeline/side.h
