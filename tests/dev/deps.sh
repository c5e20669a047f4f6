#!/bin/bash
# installs what is missing: the packages of tests/dev/packages.txt and the broker's jars; --packages: no jars
. "$(dirname "$0")/common.sh"

wanted() { sed 's/#.*//; /^[[:space:]]*$/d' tests/dev/packages.txt; }

missing=()
for package in $(wanted); do
	case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
	installed) ;;
	*) missing+=("$package") ;;
	esac
done
if [ ${#missing[@]} -gt 0 ]; then
	say "installing ${missing[*]}"
	as_root apt-get update -q
	# RUNLEVEL=1: the packages' own services (a PostgreSQL cluster, a pgbouncer) are not started.
	as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -q -y --no-install-recommends "${missing[@]}"
fi
if [ "${1:-}" != --packages ]; then
	say "fetching the broker's jars where they are missing"
	tests/lib/with_kafka.sh --prepare
fi
