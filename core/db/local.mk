# sources of core/db
libidemcore_a_SOURCES += \
	core/db/array.c core/db/array.h \
	core/db/attempts.c core/db/attempts.h \
	core/db/dedup.c core/db/dedup.h core/db/dedup_store.h \
	core/db/dedup_catalogue.c core/db/dedup_tend.c \
	core/db/dedup_claim.c core/db/dedup_claim.h \
	core/db/dedup_print.c core/db/dedup_print.h \
	core/db/letters.c core/db/letters.h core/db/letters_parts.h core/db/letters_read.c \
	core/db/migrations.h \
	core/db/parked.c core/db/parked.h \
	core/db/parked_print.c core/db/parked_print.h \
	core/db/pg.c core/db/pg.h \
	core/db/schema.c core/db/schema.h \
	core/db/triage.c core/db/triage.h

# sql/ as bytes, for schema.c.
nodist_libidemcore_a_SOURCES += core/db/migrations.c
BUILT_SOURCES += core/db/migrations.c
CLEANFILES += core/db/migrations.c
SQL_FILES = $(srcdir)/sql/0001_tables.sql $(srcdir)/sql/0002_days.sql $(srcdir)/sql/0003_forgetting.sql $(srcdir)/sql/0004_attempts.sql $(srcdir)/sql/0005_parked.sql $(srcdir)/sql/0006_dead_letters.sql $(srcdir)/sql/grants.sql
EXTRA_DIST += $(SQL_FILES) sql/README.md core/db/embed_sql.sh core/db/README.md doc/design/0001-dedup-store.md
core/db/migrations.c: $(srcdir)/core/db/embed_sql.sh $(SQL_FILES)
	$(AM_V_GEN)$(MKDIR_P) core/db && $(SHELL) $(srcdir)/core/db/embed_sql.sh $(SQL_FILES) >$@.new && mv $@.new $@

if HAVE_CHECK
check_PROGRAMS += tests/component/test_schema tests/component/test_dedup tests/component/test_dedup_forgetting \
	tests/component/test_letters
TESTS += tests/component/test_schema tests/component/test_dedup tests/component/test_dedup_forgetting \
	tests/component/test_letters
DATABASE_TEST = tests/component/database.c tests/component/database.h
DATABASE_TEST_CPPFLAGS = $(AM_CPPFLAGS) -DTOP_SRCDIR='"$(abs_top_srcdir)"'
DEDUP_TEST = tests/component/dedup_host.c tests/component/dedup_host.h $(DATABASE_TEST)
tests_component_test_schema_SOURCES = tests/component/test_schema.c $(DATABASE_TEST)
tests_component_test_schema_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_schema_LDADD = $(UNIT_LIBS)
tests_component_test_letters_SOURCES = tests/component/test_letters.c $(DATABASE_TEST)
tests_component_test_letters_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_letters_LDADD = $(UNIT_LIBS)
tests_component_test_dedup_SOURCES = tests/component/test_dedup.c $(DEDUP_TEST)
tests_component_test_dedup_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_dedup_LDADD = $(UNIT_LIBS)
tests_component_test_dedup_forgetting_SOURCES = tests/component/test_dedup_forgetting.c $(DEDUP_TEST)
tests_component_test_dedup_forgetting_CPPFLAGS = $(DATABASE_TEST_CPPFLAGS)
tests_component_test_dedup_forgetting_LDADD = $(UNIT_LIBS)
endif
