# sources of core/db
libidemcore_a_SOURCES += core/db/pg.c core/db/pg.h
