#!/bin/bash
# The ABI gate: the header against every released contract, in every language level, and the symbols of what was built.
# Run by `make check` in the build folder; what is not built there is skipped with a word.
set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../sdk/include
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
checks=0

check() { # a sentence, a command that must succeed
	local what=$1
	shift
	checks=$((checks + 1))
	"$@" >"$scratch/out" 2>&1 && return
	failed=$((failed + 1))
	echo "FAIL: $what"
	sed 's/^/      /' "$scratch/out" | head -20
}

compilers() { # of a language: c or c++
	local all=(gcc clang)
	[ "$1" = c ] || all=(g++ clang++)
	for compiler in "${all[@]}"; do command -v "$compiler" >/dev/null && echo "$compiler"; done
}

strict=(-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only)

# ---- contracts ----

contract_holds() { # contract, include folder
	local compiler
	for compiler in $(compilers c); do
		"$compiler" -std=gnu11 -fsyntax-only -Werror -I"$2" "$1" || return 1
	done
}

contract_is_untouched() { # the first line holds the digest of the rest
	grep -q "$(tail -n +2 "$1" | sha256sum | cut -d' ' -f1)" <(head -n 1 "$1")
}

for contract in "$here"/contract_v*.c; do
	check "the header keeps $(basename "$contract")" contract_holds "$contract" "$include"
	check "$(basename "$contract") was never edited" contract_is_untouched "$contract"
done

# ---- the gate itself: each mutant of the header must be told from a legal growth ----

mutant() { # a sed script: a copy of the headers, changed by it
	rm -rf "$scratch/include"
	cp -r "$include" "$scratch/include"
	chmod -R u+w "$scratch/include" # the source may be read only (make distcheck)
	sed -i -E "$1" "$scratch/include/idem/plugin.h"
	! cmp -s "$include/idem/plugin.h" "$scratch/include/idem/plugin.h" || { echo "the mutation changes nothing: $1"; return 1; }
}

no_padding() { # include folder
	gcc -std=gnu17 -fsyntax-only -Wpadded -Werror -I"$1" -x c "$1/idem/plugin.h"
}

keeps_all() { # include folder
	local contract
	for contract in "$here"/contract_v*.c; do contract_holds "$contract" "$1" || return 1; done
	no_padding "$1"
}

is_refused() {
	mutant "$1" && ! keeps_all "$scratch/include"
}

is_accepted() {
	mutant "$1" && keeps_all "$scratch/include"
}

check "no struct has padding, in which a later member could hide" no_padding "$include"
check "accepted: an appended function" is_accepted \
	's/^(\s*)uint32_t \(\*worker_index\).*$/&\nint32_t (*appended)(struct idem_call *);\nint32_t (*second)(struct idem_call *);/'
check "accepted: an appended constant" is_accepted 's/^#define IDEM_E_TIMEOUT.*$/&\n#define IDEM_E_APPENDED (-10)/'
check "refused: a function in the middle" is_refused \
	's/^(\s*)int64_t \(\*remaining_ms\).*$/int32_t (*inserted)(struct idem_call *);\n&/'
check "refused: a changed signature" is_refused 's/\(\*extend\)\(struct idem_call \*, uint32_t ms\)/(*extend)(struct idem_call *, uint64_t ms)/'
check "refused: a removed member" is_refused '/^\s*int64_t timestamp_ms;/d'
check "refused: two members swapped" is_refused 's/uint16_t abi_major, abi_minor;/uint16_t abi_minor, abi_major;/'
check "refused: a frozen struct that grew" is_refused \
	's/^(\s*)idem_verdict verdict;/uint64_t grown;\n&/'
check "refused: a frozen struct that grew at its end" is_refused \
	's/^(\s*)struct idem_bytes name, value;/&\nvoid *grown;/'
check "refused: a constant of another value" is_refused 's/^#define IDEM_REJECT 3/#define IDEM_REJECT 4/'
check "refused: another entry symbol" is_refused 's/"idem_plugin_v1"/"idem_plugin_v2"/'
check "refused: a member of half a word at the end" is_refused \
	's/^(\s*)uint32_t \(\*worker_index\).*$/&\nuint32_t half;/'

# ---- language levels ----

for header in plugin.h sugar.h; do
	for compiler in $(compilers c); do
		for level in c99 c11 c17 gnu17; do
			check "idem/$header as $level, $compiler" "$compiler" -std=$level "${strict[@]}" -I"$include" -include "idem/$header" -x c /dev/null
		done
		check "idem/$header with short enums, $compiler" \
			"$compiler" -std=c11 -fshort-enums "${strict[@]}" -I"$include" -include "idem/$header" -x c /dev/null
	done
	for compiler in $(compilers c++); do
		for level in c++11 c++14 c++17 c++20; do
			check "idem/$header as $level, $compiler" "$compiler" -std=$level "${strict[@]}" -I"$include" -include "idem/$header" -x c++ /dev/null
		done
	done
done
for contract in "$here"/contract_v*.c; do
	check "$(basename "$contract") holds with short enums" gcc -std=gnu11 -fshort-enums -fsyntax-only -I"$include" "$contract"
done

# ---- the examples in the headers and in the guide are code ----

plugin_flags=(-shared -fPIC -fvisibility=hidden '-Wl,-z,defs' '-Wl,-z,now')

template() {
	cp -r "$here/../../sdk/template" "$scratch/template" && chmod -R u+w "$scratch/template" &&
		make -C "$scratch/template" IDEM_INCLUDE="$(cd "$include" && pwd)" CFLAGS="-O1 -Wall -Wextra -Werror" &&
		one_export "$scratch/template/handler.so"
}

# Lines of a header's comment that begin with a tab are its example.
header_example() {
	sed -n 's/^ \*\t//p' "$include/idem/$1" >"$scratch/$1.c"
	[ -s "$scratch/$1.c" ] && gcc -std=c11 "${plugin_flags[@]}" -Wall -Wextra -Wpedantic -Werror -I"$include" -o "$scratch/$1.so" "$scratch/$1.c" &&
		one_export "$scratch/$1.so"
}

# Every block of the guide that begins with an include is a whole plugin.
guide_examples() {
	awk -v folder="$scratch" '/^```c$/ { getline; whole = /^#include/; if (whole) name = folder "/guide" ++count ".c" }
		/^```$/ { whole = 0 } whole { print > name }' "$here/../../doc/plugin-guide.md"
	ls "$scratch"/guide*.c >/dev/null || return 1
	local source
	for source in "$scratch"/guide*.c; do
		gcc -std=c11 "${plugin_flags[@]}" -Wall -Wextra -Werror -I"$include" -o "${source%.c}.so" "$source" && one_export "${source%.c}.so" || return 1
	done
}

# ---- symbols ----

exports() { # without what the linker and the C library put there
	nm -D --defined-only "$1" | awk '$3 !~ /@/ && $3 !~ /^(__asan_option_detect_stack_use_after_return|__bss_start|_edata|_end|_init|_fini)$/ { print $3 }'
}

one_export() {
	[ "$(exports "$1")" = idem_plugin_v1 ] || { echo "$1 exports: $(exports "$1")"; return 1; }
}

no_export() {
	[ -z "$(exports "$1")" ] || { echo "$1 exports: $(exports "$1")"; return 1; }
}

check "the example of plugin.h compiles" header_example plugin.h
check "the example of sugar.h compiles" header_example sugar.h
check "the template builds" template
[ ! -e "$here/../../doc/plugin-guide.md" ] || check "the examples of the guide compile" guide_examples
for program in idemd idemctl; do
	if [ -x "$program" ]; then check "$program exports nothing" no_export "$program"; else echo "skipped: $program is not built here"; fi
done
for plugin in plugins/*/*.so tests/plugins/ref/*.so tests/plugins/good/*.so; do
	if [ -e "$plugin" ]; then check "$plugin exports its entry alone" one_export "$plugin"; fi
done

echo "$checks checks, $failed failed"
[ $failed = 0 ]
