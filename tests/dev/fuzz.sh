#!/bin/bash
# feeds whatever reads bytes from outside with nonsense; arguments: seconds for each target (60), names of targets (all)
. "$(dirname "$0")/common.sh"
seconds=${1:-60}
shift $(($# > 0))

# In the background; new inputs go to a folder of their own, the committed corpus stays as it is.  What was found is in
# found.NAME: crash-*, timeout-*, oom-*.
fuzz() {
	local name=$1 found=$build/tests/fuzz/found.$1
	mkdir -p "$found"
	"$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix="$found/" "$found" "tests/fuzz/corpus/$name" >"$found.log" 2>&1
}

report() {
	local name=$1 units
	units=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/tests/fuzz/found.$name.log")
	if [ "$2" = 0 ]; then
		say "fuzz $name: ${units:-0} inputs, nothing found"
	else
		status=1
		tail -40 "$build/tests/fuzz/found.$name.log"
		say "fuzz $name: found something, see $build/tests/fuzz/found.$name"
	fi
}

tests/dev/deps.sh --packages
export LSAN_OPTIONS=suppressions=$root/tests/dev/lsan.supp:print_suppressions=0
targets=(fuzz-targets)
build_tree --enable-failpoints --enable-werror
status=0
names=("$@")
[ ${#names[@]} -gt 0 ] || for source in tests/fuzz/fuzz_*.c; do
	name=${source#tests/fuzz/fuzz_}
	names+=("${name%.c}")
done
for ((i = 0; i < ${#names[@]}; i += 2)); do # two at a time
	pids=()
	for name in "${names[@]:i:2}"; do
		fuzz "$name" &
		pids+=($!)
	done
	for j in "${!pids[@]}"; do
		ended=0
		wait "${pids[j]}" || ended=$?
		report "${names[i + j]}" "$ended"
	done
done
exit $status
