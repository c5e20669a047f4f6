#!/bin/bash
# tests under ThreadSanitizer, in build-tsan/; arguments go to pytest
. "$(dirname "$0")/common.sh"
. tests/dev/sanitized.sh
export IDEM_BUILD=$root/build-tsan build=$root/build-tsan
# No second of sleep in a process that a test ends by exit: it would count as a hang.
export TSAN_OPTIONS=atexit_sleep_ms=0:log_path=$build/report:suppressions=$root/tests/dev/tsan.supp
tests/dev/deps.sh
mkdir -p "$build"
gcc -shared -fPIC -O1 -pthread -o "$build/c11threads.so" tests/tools/c11threads.c
# Linked in, not preloaded: a pipeline's process does not inherit LD_PRELOAD.
export LDFLAGS="-Wl,--push-state,--no-as-needed $build/c11threads.so -Wl,--pop-state"
run_sanitized --enable-tsan "$@"
