#!/bin/bash
# tests under AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan/; arguments go to pytest
. "$(dirname "$0")/common.sh"
. tests/dev/sanitized.sh
export IDEM_BUILD=$root/build-asan build=$root/build-asan
# The clock shim of tests/chaos is loaded in front of everything.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1:verify_asan_link_order=0:log_path=$build/report
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=print_suppressions=0:suppressions=$root/tests/dev/lsan.supp
run_sanitized --enable-asan "$@"
