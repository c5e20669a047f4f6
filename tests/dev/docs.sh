#!/bin/bash
# the pages that are made from tables (settings, sample, metrics, log events) are as the tables; --fix: writes them
. "$(dirname "$0")/common.sh"
tests/dev/deps.sh
tests/dev/build.sh

status=0
page() { # file, option of idemd
	if [ "$fix" = yes ]; then
		"$build/idemd" "$2" >"$1"
	elif ! "$build/idemd" "$2" | diff -u "$1" - >&2; then
		status=1
		echo "docs: $1 drifted from the tables: ./dev docs --fix" >&2
	fi
}

fix=no
[ "${1:-}" != --fix ] || fix=yes
page doc/reference/settings.md --print-reference
page doc/idem.conf.sample --print-sample
page doc/reference/metrics.md --print-metrics
page doc/reference/log.md --print-log-events
[ $status = 0 ] && say "every page is as its table"
exit $status
