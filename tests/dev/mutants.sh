#!/bin/bash
# switches each rule off by a patch of tests/mutants and shows its test red; arguments: names of patches, default all
. "$(dirname "$0")/common.sh"

# One broker and one PostgreSQL for all of them.
if [ -z "${IDEM_MUTANTS_INNER:-}" ]; then
	export IDEM_MUTANTS_INNER=1 KAFKA_SERVER_PROPERTIES=log.cleaner.backoff.ms=200
	tests/dev/deps.sh
	exec tests/lib/with_kafka.sh tests/lib/with_postgres.sh "$0" "$@"
fi

copy=$root/build-mutants/tree
build=$root/build-mutants/build
export IDEM_BUILD=$build
patches=()
for name in "${@:-*}"; do
	for patch in tests/mutants/${name%.patch}.patch; do
		[ -f "$patch" ] || fail "no such mutant: $name"
		patches+=("$root/$patch")
	done
done

header() { sed -n "s/^$2: //p;/^---/q" "$1"; }

# The copy is the tree as it stands, edits and all; untouched files keep their time, so that little is built again.
copy_tree() {
	mkdir -p "$copy"
	git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read 2>/dev/null |
		tar -x -C "$copy" --keep-newer-files 2>/dev/null || true
}

make_copy() { # quietly; the log stays
	(root=$copy && cd "$copy" && build_tree --enable-failpoints) >"$copy/../make.log" 2>&1 &&
		make -C "$build" --no-print-directory -j"$jobs" check TESTS= >>"$copy/../make.log" 2>&1
}

run_test() { # a test of pytest, or of make check; its status: 0 green, 1 red, other: it did not run
	case $1 in
	tests/unit/* | tests/component/*) make -C "$build" --no-print-directory check TESTS="$1" && return 0 || return 1 ;;
	*) (cd "$copy" && "$python" -m pytest -q -x -p no:cacheprovider "$1") ;;
	esac
}

say "the tree as it is: every named test must be green"
rm -rf "$copy"
copy_tree
make_copy || { tail -30 "$copy/../make.log"; fail "the tree does not build"; }
for test in $(for patch in "${patches[@]}"; do header "$patch" Test; done | sort -u); do
	run_test "$test" >"$copy/../test.log" 2>&1 || { tail -40 "$copy/../test.log"; fail "$test is red without a mutant"; }
done

passed=0
failed=0
for patch in "${patches[@]}"; do
	name=$(basename "$patch" .patch)
	test=$(header "$patch" Test)
	patch -s -d "$copy" -p1 --no-backup-if-mismatch <"$patch" || { echo "$name: does not apply"; failed=$((failed + 1)); continue; }
	status=0
	if make_copy; then
		IDEM_PATIENCE=${IDEM_PATIENCE:-0.4} run_test "$test" >"$copy/../$name.log" 2>&1 || status=$?
		if [ $status = 1 ] && ! grep -q '^ERROR ' "$copy/../$name.log"; then
			passed=$((passed + 1))
			printf '%-28s red as it must be  (%s)\n' "$name" "$(header "$patch" Rule)"
		else
			failed=$((failed + 1))
			printf '%-28s SURVIVED %s (status %s, %s)\n' "$name" "$test" "$status" "build-mutants/$name.log"
		fi
	else
		failed=$((failed + 1))
		echo "$name: does not build: build-mutants/make.log"
	fi
	patch -s -R -d "$copy" -p1 --no-backup-if-mismatch <"$patch"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
