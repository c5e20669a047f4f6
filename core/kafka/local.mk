# sources of core/kafka
libidemcore_a_SOURCES += core/kafka/record.c core/kafka/record.h
