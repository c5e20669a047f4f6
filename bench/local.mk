# bench
noinst_PROGRAMS += bench/micro_lanes
bench_micro_lanes_SOURCES = bench/micro_lanes.c tests/unit/fake_message.h
bench_micro_lanes_LDADD = libidemcore.a $(LIBS_ALL)
