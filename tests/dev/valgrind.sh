#!/bin/bash
# no leak and no bad access over a run of 20,000 events (valgrind, in build/)
. "$(dirname "$0")/common.sh"
tests/dev/deps.sh
tests/dev/build.sh
make -C "$build" --no-print-directory check TESTS= >/dev/null
rm -f "$build"/valgrind.*
export IDEM_WRAP="valgrind --quiet --trace-children=yes --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
--error-exitcode=99 --suppressions=$root/tests/dev/valgrind.supp --log-file=$build/valgrind.%p"
IDEM_PATIENCE=10 "$python" -m pytest -q -p no:cacheprovider "${@:-tests/e2e/test_workload.py}" -k "${IDEM_K:-key-4-billing}" ||
	fail "the run itself failed"
reports=$(find "$build" -name 'valgrind.*' -size +0)
[ -z "$reports" ] || { cat $reports; fail "valgrind reported something"; }
say "clean: no leak, no bad access"
