# Programs that the demo and the tests use; none is installed.
noinst_PROGRAMS += tests/tools/devbroker tests/tools/topics
tests_tools_devbroker_SOURCES = tests/tools/devbroker.c
tests_tools_devbroker_LDADD = $(RDKAFKA_LIBS)
tests_tools_topics_SOURCES = tests/tools/topics.c
tests_tools_topics_LDADD = $(RDKAFKA_LIBS)
EXTRA_DIST += tests/tools/c11threads.c
