# sources of core/db
libidemcore_a_SOURCES += core/db/pg.c core/db/pg.h
libidemcore_a_SOURCES += core/db/triage.c core/db/triage.h core/db/array.c core/db/array.h
