#!/bin/bash
# feeds whatever reads bytes from outside with nonsense; argument: seconds for each target, default 60
. "$(dirname "$0")/common.sh"
tests/dev/deps.sh
targets=(fuzz-targets)
build_tree --enable-failpoints --enable-werror
status=0
for target in "$build"/tests/fuzz/fuzz_*; do
	[ -x "$target" ] || continue
	name=$(basename "$target")
	found=$build/tests/fuzz/found.$name # new inputs go here, the committed corpus stays as it is
	mkdir -p "$found"
	say "$name"
	"$target" -max_total_time="${1:-60}" -print_final_stats=0 -verbosity=0 -artifact_prefix="$found/" "$found" \
		"tests/fuzz/corpus/${name#fuzz_}" || { status=1; echo "fuzz: $name found something: $found" >&2; }
done
exit $status
