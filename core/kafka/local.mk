# core/kafka: thin wrappers over librdkafka
libidemcore_a_SOURCES += \
	core/kafka/admin.c core/kafka/admin.h \
	core/kafka/assignment.c core/kafka/assignment.h \
	core/kafka/client.c core/kafka/client.h \
	core/kafka/consumer.c core/kafka/consumer.h \
	core/kafka/producer.c core/kafka/producer.h \
	core/kafka/reader.c core/kafka/reader.h \
	core/kafka/rebalance.c core/kafka/rebalance.h \
	core/kafka/record.c core/kafka/record.h
EXTRA_DIST += core/kafka/README.md
if HAVE_CHECK
check_PROGRAMS += tests/component/test_consumer tests/component/test_producer
TESTS += tests/component/test_consumer tests/component/test_producer
tests_component_test_consumer_SOURCES = tests/component/test_consumer.c tests/component/broker.c tests/component/broker.h
tests_component_test_consumer_LDADD = $(UNIT_LIBS)
tests_component_test_producer_SOURCES = tests/component/test_producer.c tests/component/broker.c tests/component/broker.h
tests_component_test_producer_LDADD = $(UNIT_LIBS)
endif
