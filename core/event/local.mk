# sources of core/event
libidemcore_a_SOURCES += \
	core/event/content_hash.c core/event/content_hash.h \
	core/event/envelope.c core/event/event.h \
	core/event/event_types.c core/event/event_types.h \
	core/event/json.c core/event/json.h core/event/json_tape.h \
	core/event/json_check.c core/event/json_get.c core/event/json_scan.c \
	core/event/key_template.c \
	core/event/trace.c core/event/trace.h \
	core/event/uuid.c core/event/uuid.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/test_envelope \
	tests/unit/test_event_types \
	tests/unit/test_json \
	tests/unit/test_json_scan \
	tests/unit/test_key_template \
	tests/unit/test_uuid
TESTS += \
	tests/unit/test_envelope \
	tests/unit/test_event_types \
	tests/unit/test_json \
	tests/unit/test_json_scan \
	tests/unit/test_key_template \
	tests/unit/test_uuid
tests_unit_test_envelope_LDADD = $(UNIT_LIBS)
tests_unit_test_event_types_LDADD = $(UNIT_LIBS)
tests_unit_test_json_LDADD = $(UNIT_LIBS)
tests_unit_test_json_scan_LDADD = $(UNIT_LIBS)
tests_unit_test_key_template_LDADD = $(UNIT_LIBS)
tests_unit_test_uuid_LDADD = $(UNIT_LIBS)
endif

noinst_PROGRAMS += bench/micro_event
bench_micro_event_LDADD = libidemcore.a $(LIBS_ALL)

# `make fuzz-targets`, with clang; then e.g. tests/fuzz/fuzz_json -max_total_time=60 CORPUS
fuzz_event_files = $(addprefix $(top_srcdir)/,$(filter core/event/%.c core/base/%.c core/kafka/record.c,$(libidemcore_a_SOURCES)))
FUZZ_TARGETS = tests/fuzz/fuzz_json tests/fuzz/fuzz_envelope tests/fuzz/fuzz_key_template
fuzz-targets: $(FUZZ_TARGETS)
$(FUZZ_TARGETS): %: $(top_srcdir)/%.c $(libidemcore_a_SOURCES)
	@mkdir -p tests/fuzz
	clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(AM_CPPFLAGS) -std=gnu17 -pthread \
		-o $@ $< $(fuzz_event_files) $(LIBS_ALL)
.PHONY: fuzz-targets
CLEANFILES += $(FUZZ_TARGETS)
EXTRA_DIST += tests/fuzz/fuzz_json.c tests/fuzz/fuzz_envelope.c tests/fuzz/fuzz_key_template.c tests/fuzz/corpus

# The same parse by another hand.
check_PROGRAMS += tests/fuzz/print_json
tests_fuzz_print_json_LDADD = libidemcore.a $(LIBS_ALL)
TESTS += tests/fuzz/json_against_python.py
EXTRA_DIST += tests/fuzz/json_against_python.py
