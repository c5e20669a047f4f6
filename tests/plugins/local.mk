# Test plugins, each tests/plugins/<folder>/<name>.so from one source; built by make check.
REF_PLUGINS = tests/plugins/ref/ref.so tests/plugins/ref/ref_batch.so tests/plugins/ref/ref_isolated.so \
	tests/plugins/ref/ref_throw.so
STEER_PLUGINS = \
	tests/plugins/steer/steer_one.so tests/plugins/steer/steer_locks.so tests/plugins/steer/steer_batch.so
GOOD_PLUGINS = \
	tests/plugins/good/good_isolated.so tests/plugins/good/good_life.so tests/plugins/good/good_minimal.so \
	tests/plugins/good/good_newer.so tests/plugins/good/good_options.so
BAD_PLUGINS = \
	tests/plugins/bad/bad_build_id.so tests/plugins/bad/bad_capability.so tests/plugins/bad/bad_code_major.so \
	tests/plugins/bad/bad_code_minor.so tests/plugins/bad/bad_code_name.so tests/plugins/bad/bad_create.so \
	tests/plugins/bad/bad_create_abort.so tests/plugins/bad/bad_create_sql.so tests/plugins/bad/bad_extension.so \
	tests/plugins/bad/bad_file_major.so tests/plugins/bad/bad_file_name.so \
	tests/plugins/bad/bad_metadata_short.so tests/plugins/bad/bad_metadata_twice.so \
	tests/plugins/bad/bad_min_host_minor.so tests/plugins/bad/bad_no_create.so tests/plugins/bad/bad_no_entry.so \
	tests/plugins/bad/bad_no_handle.so tests/plugins/bad/bad_no_section.so \
	tests/plugins/bad/bad_no_struct_size.so tests/plugins/bad/bad_no_vendor.so tests/plugins/bad/bad_null.so \
	tests/plugins/bad/bad_option_name.so tests/plugins/bad/bad_option_preset.so \
	tests/plugins/bad/bad_option_twice.so tests/plugins/bad/bad_option_type.so tests/plugins/bad/bad_outbound.so \
	tests/plugins/bad/bad_start_declare.so tests/plugins/bad/bad_struct_size.so tests/plugins/bad/bad_symbol.so \
	tests/plugins/bad/bad_throw.so tests/plugins/bad/bad_type.so tests/plugins/bad/bad_type_twice.so \
	tests/plugins/bad/bad_version.so
TEST_PLUGINS = $(REF_PLUGINS) $(STEER_PLUGINS) $(GOOD_PLUGINS) $(BAD_PLUGINS)
$(TEST_PLUGINS): $(SDK_FILES)
$(BAD_PLUGINS): $(srcdir)/tests/plugins/bad/bad.h
tests/plugins/ref/ref_isolated.so: $(srcdir)/tests/plugins/ref/ref.c
$(REF_PLUGINS): $(srcdir)/tests/plugins/ref/die.h
$(STEER_PLUGINS): $(srcdir)/tests/plugins/steer/steer.c
tests/plugins/bad/bad_symbol.so: PLUGIN_EXTRA = -Wl,-z,undefs
check_DATA += $(TEST_PLUGINS)
CLEANFILES += $(TEST_PLUGINS)
EXTRA_DIST += tests/plugins/README.md tests/plugins/ref/die.h tests/plugins/ref/ref.c tests/plugins/ref/ref_batch.c tests/plugins/ref/ref_isolated.c \
	tests/plugins/ref/ref_throw.cc \
	tests/plugins/ref/ref.sql tests/plugins/steer/steer.c tests/plugins/steer/steer_one.c \
	tests/plugins/steer/steer_locks.c tests/plugins/steer/steer_batch.c \
	tests/plugins/bad/bad_build_id.c tests/plugins/bad/bad_capability.c tests/plugins/bad/bad_code_major.c \
	tests/plugins/bad/bad_code_minor.c tests/plugins/bad/bad_code_name.c tests/plugins/bad/bad_create.c \
	tests/plugins/bad/bad_create_abort.c tests/plugins/bad/bad_create_sql.c tests/plugins/bad/bad_extension.c \
	tests/plugins/bad/bad_file_major.c tests/plugins/bad/bad_file_name.c tests/plugins/bad/bad_metadata_short.c \
	tests/plugins/bad/bad_metadata_twice.c tests/plugins/bad/bad_min_host_minor.c \
	tests/plugins/bad/bad_no_create.c tests/plugins/bad/bad_no_entry.c tests/plugins/bad/bad_no_handle.c \
	tests/plugins/bad/bad_no_section.c tests/plugins/bad/bad_no_struct_size.c tests/plugins/bad/bad_no_vendor.c \
	tests/plugins/bad/bad_null.c tests/plugins/bad/bad_option_name.c tests/plugins/bad/bad_option_preset.c \
	tests/plugins/bad/bad_option_twice.c tests/plugins/bad/bad_option_type.c tests/plugins/bad/bad_outbound.c \
	tests/plugins/bad/bad_start_declare.c tests/plugins/bad/bad_struct_size.c tests/plugins/bad/bad_symbol.c \
	tests/plugins/bad/bad_throw.cc tests/plugins/bad/bad_type.c tests/plugins/bad/bad_type_twice.c \
	tests/plugins/bad/bad_version.c tests/plugins/bad/bad.h tests/plugins/good/good_isolated.c \
	tests/plugins/good/good_life.c tests/plugins/good/good_minimal.c tests/plugins/good/good_newer.c \
	tests/plugins/good/good_options.c
