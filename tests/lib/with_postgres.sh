#!/bin/bash
# A throw-away PostgreSQL (15 or later, 127.0.0.1, free port, data in a scratch folder, no fsync) for tests.
#
#   with_postgres.sh COMMAND [ARGUMENT…]   run the command with PGHOST, PGPORT, PGUSER and PGDATABASE set, then stop the
#                                          server; the status is the command's.  Inside an outer with_postgres.sh
#                                          (IDEM_TEST_POSTGRES is set) that server is used as it is.
#   with_postgres.sh --start FILE          start a server that stays; FILE gets the PG… settings, POSTGRES_PID, POSTGRES_DIR
#   with_postgres.sh --up FILE             start it again on its port and its data, after somebody ended it
#   with_postgres.sh --stop FILE           stop that one and remove its data
#
# POSTGRES_CONF: more lines for postgresql.conf.  POSTGRES_BIN: where initdb and pg_ctl are.
# Started by root, the server runs as user postgres.
set -euo pipefail

fail() { echo "with_postgres: $*" >&2; exit 1; }

find_programs() {
	local folder
	for folder in "${POSTGRES_BIN:-}" "$(pg_config --bindir 2>/dev/null || true)" /usr/lib/postgresql/*/bin; do
		[ ! -x "$folder/initdb" ] || POSTGRES_BIN=$folder
	done
	[ -x "${POSTGRES_BIN:-}/initdb" ] || fail "initdb is missing: install postgresql, or set POSTGRES_BIN"
}

as_server() {
	if [ "$(id -u)" = 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

# A port that nobody listens on now; somebody else may take it first, so start tries again.
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

write_conf() { # port
	cat >>"$POSTGRES_DIR/data/postgresql.conf" <<-P
	listen_addresses = '127.0.0.1'
	port = $1
	unix_socket_directories = '$POSTGRES_DIR'
	fsync = off
	max_connections = 200
	shared_buffers = 64MB
	max_wal_size = 2GB
	log_line_prefix = '%m [%p] %q%u %a '
	${POSTGRES_CONF:-}
	P
}

# Waits until it serves.
launch() {
	cd "$POSTGRES_DIR"
	as_server "$POSTGRES_BIN/pg_ctl" -D "$POSTGRES_DIR/data" -l "$POSTGRES_DIR/server.log" -w -t 180 start >>log 2>&1 </dev/null || {
		tail -20 log server.log >&2 || true
		cd - >/dev/null
		return 1
	}
	POSTGRES_PID=$(head -1 data/postmaster.pid)
	cd - >/dev/null
}

start_once() {
	local port
	port=$(free_port)
	POSTGRES_DIR=$(mktemp -d "${TMPDIR:-/tmp}/idem-postgres.XXXXXX")
	[ "$(id -u)" != 0 ] || chown postgres "$POSTGRES_DIR"
	cd "$POSTGRES_DIR"
	as_server "$POSTGRES_BIN/initdb" -D "$POSTGRES_DIR/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >log 2>&1 ||
		{ cat log >&2; fail "initdb failed"; }
	write_conf "$port"
	cd - >/dev/null
	launch || { stop; return 1; }
	export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres IDEM_TEST_POSTGRES=$port
}

start() {
	find_programs
	start_once || start_once || fail "the server did not come up"
}

stop() {
	[ -z "${POSTGRES_PID:-}" ] || kill -INT "$POSTGRES_PID" 2>/dev/null || true
	local deadline=$((SECONDS + 15))
	while [ -n "${POSTGRES_PID:-}" ] && kill -0 "$POSTGRES_PID" 2>/dev/null; do
		[ $SECONDS -lt $deadline ] || kill -QUIT "$POSTGRES_PID" 2>/dev/null || true
		sleep 0.05
	done
	rm -rf "$POSTGRES_DIR"
}

tell() { # file
	printf 'export PGHOST=%s PGPORT=%s PGUSER=%s PGDATABASE=%s IDEM_TEST_POSTGRES=%s\nPOSTGRES_PID=%s\nPOSTGRES_DIR=%s\n' \
		"$PGHOST" "$PGPORT" "$PGUSER" "$PGDATABASE" "$PGPORT" "$POSTGRES_PID" "$POSTGRES_DIR" >"$1"
}

case ${1:-} in
--start)
	[ $# = 2 ] || fail "usage: with_postgres.sh --start FILE"
	start
	tell "$2"
	;;
--up)
	[ $# = 2 ] || fail "usage: with_postgres.sh --up FILE"
	# shellcheck disable=SC1090
	. "$2"
	find_programs
	launch || fail "the server did not come up again"
	tell "$2"
	;;
--stop)
	[ $# = 2 ] || fail "usage: with_postgres.sh --stop FILE"
	# shellcheck disable=SC1090
	. "$2"
	stop
	rm -f "$2"
	;;
"" | --*)
	fail "usage: with_postgres.sh COMMAND [ARGUMENT…] | --start FILE | --up FILE | --stop FILE"
	;;
*)
	[ -z "${IDEM_TEST_POSTGRES:-}" ] || exec "$@"
	start
	trap stop EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	"$@"
	;;
esac
