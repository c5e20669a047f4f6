#!/bin/bash
# format, include order, headers alone, lengths, parameters, banned functions, links, cppcheck, shellcheck; --fix: formats the C files
. "$(dirname "$0")/common.sh"

status=0
check() { # a sentence, a command
	local what=$1
	shift
	say "$what"
	"$@" || { status=1; echo "lint: failed: $what" >&2; }
}

c_files() { git ls-files '*.c' '*.h' | grep -v '^tests/abi/contract'; }
headers() { git ls-files 'core/*.h' 'sdk/*.h'; }

# shellcheck disable=SC2016 # expanded by the inner shell
format() {
	c_files | xargs -r -P"$jobs" -I{} sh -c 'clang-format --dry-run -Werror "$1" 2>/dev/null || { echo "$1: run ./dev lint --fix"; exit 1; }' - {}
}

flags=(-std=gnu17 -D_GNU_SOURCE -I. -Isdk/include -Wall -Wextra)
read -ra packages < <(pkg-config --cflags rdkafka libpq uuid yajl libconfig libcrypto libmicrohttpd)

headers_alone() {
	# shellcheck disable=SC2016
	headers | xargs -r -P"$jobs" -I{} sh -c '"$@" || { echo "{} does not compile alone" >&2; exit 255; }' - \
		gcc -fsyntax-only "${flags[@]}" "${packages[@]}" -x c {}
}

# uninitvar: what HASH_ITER of uthash assigns is taken for uninitialised; gcc's own warning is on.
cppcheck_fast() {
	git ls-files 'core/*.c' 'plugins/*.c' | xargs -r cppcheck --quiet --std=c11 --error-exitcode=1 -j"$jobs" -I. -Isdk/include \
		--enable=warning,portability --inline-suppr --suppress='*:*.h' --suppress=uninitvar --suppress=normalCheckLevelMaxBranches \
		--max-configs=1 -D__x86_64__ --template='{file}:{line}: {severity}: {message} [{id}]' -D__GNUC__
}

shell_scripts() {
	git ls-files -- dev bootstrap .ci/run '*.sh' | xargs -r shellcheck --severity=warning --exclude=SC1090,SC1091,SC2034,SC2154
}

if [ "${1:-}" = --fix ]; then
	c_files | xargs -r clang-format -i
	exit 0
fi
check "the format is clang-format's" format
check "includes go downward" tests/dev/check_includes.py
check "lengths, parameters, banned functions, READMEs" tests/dev/check_sources.py
check "tests that are named exist" tests/dev/check_tests.py
check "what the pages point at is there" tests/dev/check_links.py
check "each header compiles alone" headers_alone
check "cppcheck" cppcheck_fast
check "shellcheck" shell_scripts
[ $status = 0 ] && say "lint is clean"
exit $status
