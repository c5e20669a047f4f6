# tests
include tests/tools/local.mk
include tests/plugins/local.mk
include tests/chaos/local.mk
EXTRA_DIST += tests/lib/with_kafka.sh tests/lib/kafka/pom.xml tests/lib/kafka/log4j2.properties
EXTRA_DIST += tests/lib/with_postgres.sh
EXTRA_DIST += tests/unit/run_suite.h
