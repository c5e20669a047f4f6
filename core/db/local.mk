# sources of core/db
libidemcore_a_SOURCES += \
	core/db/array.c core/db/array.h \
	core/db/dedup.c core/db/dedup.h core/db/dedup_store.h \
	core/db/dedup_catalogue.c core/db/dedup_tend.c \
	core/db/dedup_print.c core/db/dedup_print.h \
	core/db/migrations.h \
	core/db/pg.c core/db/pg.h \
	core/db/schema.c core/db/schema.h \
	core/db/triage.c core/db/triage.h

# sql/ as bytes, for schema.c.
nodist_libidemcore_a_SOURCES += core/db/migrations.c
BUILT_SOURCES += core/db/migrations.c
CLEANFILES += core/db/migrations.c
SQL_FILES = $(srcdir)/sql/0001_tables.sql $(srcdir)/sql/0002_days.sql $(srcdir)/sql/0003_forgetting.sql $(srcdir)/sql/grants.sql
EXTRA_DIST += $(SQL_FILES) sql/README.md core/db/embed_sql.sh core/db/README.md
core/db/migrations.c: $(srcdir)/core/db/embed_sql.sh $(SQL_FILES)
	$(AM_V_GEN)$(MKDIR_P) core/db && $(SHELL) $(srcdir)/core/db/embed_sql.sh $(SQL_FILES) >$@.new && mv $@.new $@
