#!/bin/bash
# tests under ThreadSanitizer, in build-tsan/; arguments go to pytest
. "$(dirname "$0")/common.sh"
. tests/dev/sanitized.sh
export IDEM_BUILD=$root/build-tsan build=$root/build-tsan
export TSAN_OPTIONS=log_path=$build/report:suppressions=$root/tests/dev/tsan.supp
run_sanitized --enable-tsan "$@"
