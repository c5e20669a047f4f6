#!/bin/bash
# the demo: 20,000 events with duplicates through a plugin into PostgreSQL, a SIGKILL in the middle, and the ledger
. "$(dirname "$0")/common.sh"
tests/dev/deps.sh --packages # its broker is built here
tests/dev/build.sh
exec tests/lib/with_postgres.sh "$python" tests/demo/demo.py "$@"
