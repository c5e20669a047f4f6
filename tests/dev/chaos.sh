#!/bin/bash
# faults on a schedule drawn from --seed N over --minutes M on three hosts, then the invariants; --help lists the faults
. "$(dirname "$0")/common.sh"
case " $* " in
*" --help "* | *" -h "* | *" --schedule "*) ;;
*)
	tests/dev/deps.sh
	tests/dev/build.sh
	targets=(check) build_tree TESTS= # the plugins and the clock shim
	;;
esac
exec "$python" tests/chaos/chaos.py "$@"
