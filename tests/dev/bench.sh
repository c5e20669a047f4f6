#!/bin/bash
# measures idem, the plain-SQL limit and the kafkajs consumers side by side and prints ratios; --quick, --runs N, --events N
. "$(dirname "$0")/common.sh"
tests/dev/deps.sh
build=${IDEM_BENCH_BUILD:-$root/build-bench} IDEM_BUILD=${IDEM_BENCH_BUILD:-$root/build-bench}
build_tree --enable-werror CFLAGS="-O2 -g"
say "the peers' packages from npm"
(cd bench/peers && npm install --no-package-lock --no-audit --no-fund --silent)
export POSTGRES_CONF="fsync = on
shared_buffers = 512MB
max_wal_size = 4GB"
exec tests/lib/with_kafka.sh tests/lib/with_postgres.sh "$python" bench/bench.py "$@"
