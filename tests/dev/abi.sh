#!/bin/bash
# the contract gate: plugin.h against every released contract in every language level, and what was built exports
. "$(dirname "$0")/common.sh"
tests/dev/deps.sh
tests/dev/build.sh
make -C "$build" --no-print-directory check TESTS= >/dev/null
cd "$build" || exit
exec "$root/tests/abi/run.sh"
