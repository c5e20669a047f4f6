#!/bin/bash
# all tests: builds, make check, end to end against a real broker and PostgreSQL; --quick: no e2e; --long: the slow ones too
. "$(dirname "$0")/common.sh"

e2e=yes
pytest_arguments=()
for argument; do
	case $argument in
	--quick) e2e=no ;;
	--long) export IDEM_LONG=1 ;;
	*) pytest_arguments+=("$argument") ;; # a file, -k EXPRESSION, …
	esac
done
passed=0
failed=0

tests/dev/deps.sh
tests/dev/build.sh

# Every program of Check ends with "100%: Checks: 12, Failures: 0, Errors: 0"; a test that prints no such line counts as one.
count_unit_tests() {
	local log counts
	while IFS= read -r log; do
		counts=$(sed -n 's/.*Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" | tail -n 1)
		if [ -n "$counts" ]; then
			read -r checks failures errors <<<"$counts"
			passed=$((passed + checks - failures - errors))
			failed=$((failed + failures + errors))
			grep -q '^:test-result: PASS' "${log%.log}.trs" || [ $((failures + errors)) -gt 0 ] || failed=$((failed + 1))
		elif grep -q '^:test-result: PASS' "${log%.log}.trs"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
		fi
	done < <(find "$build" -name '*.trs' | sed 's/trs$/log/')
}

say "unit and component tests (make check)"
find "$build" -name '*.trs' -delete
make -C "$build" --no-print-directory -j"$jobs" check VERBOSE=1 || say "make check failed: see the logs above, or in $build"
count_unit_tests

if [ $e2e = yes ]; then
	say "end to end tests on a broker and a PostgreSQL of their own (tests/e2e)"
	report=$build/e2e.xml
	rm -f "$report"
	"$python" -m pytest -q -p no:cacheprovider --junitxml="$report" "${pytest_arguments[@]-tests/e2e}" || true
	counts=$("$python" - "$report" <<-'P' || true
	import sys, xml.etree.ElementTree as tree
	suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
	bad = int(suite.get("failures")) + int(suite.get("errors"))
	print(int(suite.get("tests")) - bad - int(suite.get("skipped")), bad)
	P
	)
	read -r good bad <<<"${counts:-0 1}"
	passed=$((passed + good))
	failed=$((failed + bad))
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
