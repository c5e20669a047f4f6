# Sourced by the steps: where things are, and how they speak.
# shellcheck shell=bash
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
build=${IDEM_BUILD:-$root/build}
export IDEM_BUILD=$build
python=/usr/bin/python3 # Debian's: the packages of packages.txt belong to it, whatever else is in PATH
jobs=$(nproc)

say() { printf '==> %s\n' "$*"; }
fail() { printf 'dev: %s\n' "$*" >&2; exit 1; }

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		command -v sudo >/dev/null || fail "packages are missing and neither root nor sudo is at hand: run ./dev deps as root"
		sudo "$@"
	fi
}

# Configures once and makes; the arguments are those of configure.
build_tree() {
	[ -x configure ] && [ configure -nt configure.ac ] || { say "bootstrap"; ./bootstrap; }
	mkdir -p "$build"
	[ -f "$build/Makefile" ] || { say "configure $* in $build"; (cd "$build" && "$root/configure" --quiet "$@"); }
	say "make -j$jobs in $build"
	make -C "$build" --no-print-directory -j"$jobs" "${targets[@]-all}"
}
