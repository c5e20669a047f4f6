# Sourced by asan.sh and tsan.sh: the same tests on another build; a report is a failure even where a test is green.
# shellcheck shell=bash

run_sanitized() { # the switch of configure, arguments of pytest
	local switch=$1
	shift
	tests/dev/deps.sh
	rm -f "$build"/report.*
	build_tree --enable-failpoints --enable-werror "$switch"
	local status=0
	say "unit and component tests ($switch)"
	make -C "$build" --no-print-directory check || status=1
	say "end to end tests ($switch)"
	# The workload's many combinations add time and no code that the others do not run.
	IDEM_PATIENCE=3 "$python" -m pytest -q -p no:cacheprovider "${@:-tests/e2e}" \
		-k "${IDEM_K:-not test_ledger_is_exact or (key-4 and test_ledger_is_exact)}" || status=1
	# What tests/plugins/ref/die.h does on purpose is reported too.
	local reports
	mapfile -t reports < <(find "$build" -maxdepth 1 -name 'report.*' -exec grep -LE ' (die_if_told|for_ever) ' {} +)
	if [ ${#reports[@]} -gt 0 ]; then
		tail -n 60 "${reports[@]}"
		status=1
	fi
	[ $status = 0 ] && say "clean: no report, no failure"
	return $status
}
