#!/bin/bash
# idemd and idemctl from the outside: arguments, exit statuses, what is said where.  Runs in the build folder; no server.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# A sentence, the wanted exit status, a pattern that stdout and stderr together must match, the command.
expect() {
	local sentence=$1 status=$2 pattern=$3 out found
	shift 3
	out=$("$@" 2>&1 </dev/null)
	found=$?
	if [ $found = "$status" ] && grep -qE -- "$pattern" <<<"$out"; then
		echo "ok: $sentence"
	else
		echo "FAILED: $sentence: status $found (wanted $status), no match for '$pattern' in:"
		echo "$out"
		failed=1
	fi
}

cat >"$folder/database.conf" <<C
database = { conninfo = "host=127.0.0.1 port=1 dbname=x user=x"; };
C
cat >"$folder/idem.conf" <<C
state_dir = "$folder/state";
database = { conninfo = "host=127.0.0.1 port=1 dbname=x user=x"; };
kafka = { bootstrap_servers = "127.0.0.1:1"; };
admin = { listen = "127.0.0.1:1"; };
pipelines = ({ name = "billing"; topics = ["orders"]; plugin = { file = "$PWD/tests/plugins/ref/ref.so"; }; });
C
sed 's/topics/topcis/' "$folder/idem.conf" >"$folder/wrong.conf"
sed "s#file = .*so\"#file = \"$folder/wrong.conf\"#" "$folder/idem.conf" >"$folder/no-plugin.conf"

expect "idemd without arguments says what is missing" 64 "-c FILE is missing" ./idemd
expect "an unknown option is refused" 64 "nonsense" ./idemd --nonsense
expect "an unknown option names the help" 64 "see idemd --help" ./idemd --nonsense
expect "an argument too many is refused" 64 "too many" ./idemd -c "$folder/idem.conf" extra
expect "--connect goes with --check" 64 "--check" ./idemd -c "$folder/idem.conf" --connect
expect "--child is nothing for people" 64 "supervisor" ./idemd --child pipeline
expect "help goes to stdout" 0 "^exit status" ./idemd --help
expect "the version" 0 "^idemd [0-9]" ./idemd --version
expect "output that can't be written is an error" 70 "could not be written" sh -c './idemd --print-sample >/dev/full'
expect "the sample is printed" 0 "pipelines" ./idemd --print-sample
expect "a right configuration passes and touches no server" 0 "no mistakes found, 1 pipeline$" ./idemd -c "$folder/idem.conf" --check
expect "a mistake is told with file, line and the nearest name" 78 "wrong.conf:5: error: .*topics" ./idemd -c "$folder/wrong.conf" --check
expect "a wrong configuration does not start" 78 "wrong.conf:5" ./idemd -c "$folder/wrong.conf"
expect "a file that is no plugin is told with its line" 78 "no-plugin.conf:5: error: pipeline billing" ./idemd -c "$folder/no-plugin.conf" --check
options() { sed "s#file = .*so\"#file = \"$PWD/tests/plugins/$1.so\"; options = { $2 }#" "$folder/idem.conf" >"$folder/options.conf"; }
options good/good_options 'greting = "hello";'
expect "an option that the plugin does not know is told with its line and the nearest name" 78 'options.conf:5: error: pipeline billing: .*has "greting", .*greeting' ./idemd -c "$folder/options.conf" --check
options good/good_options 'count = "many";'
expect "an option's value that is none of its type" 78 'options.conf:5: error: .*"count": "many" is not a whole number' ./idemd -c "$folder/options.conf" --check
options bad/bad_create_sql ''
expect "a statement that is refused when the plugin is created" 78 "options.conf:5: error: pipeline billing: plugin bad_create_sql" ./idemd -c "$folder/options.conf" --check
options bad/bad_create_abort ''
expect "a plugin that dies when it is created" 78 "options.conf:5: error: pipeline billing: .*signal 6" ./idemd -c "$folder/options.conf" --check
options good/good_minimal ''
sed -i 's#topics = #workers = 4; topics = #' "$folder/options.conf"
expect "more workers than the plugin can stand" 78 "options.conf:5: error: pipeline billing: .*set workers = 1" ./idemd -c "$folder/options.conf" --check
expect "a missing file is 78" 78 "No such file" ./idemd -c "$folder/none.conf"
expect "--check --connect finds both servers missing" 69 "postgresql: " ./idemd -c "$folder/idem.conf" --check --connect
expect "nothing was made by checking" 1 "" test -e "$folder/state"
expect "a child started by hand says so" 70 "supervisor alone" ./idemd --child pipeline billing --plugin x

expect "idemctl without a command" 64 "command is missing" ./idemctl
expect "an unknown command" 64 "no such command: fly" ./idemctl fly
expect "an unknown option of idemctl names the help" 64 "see idemctl --help" ./idemctl --nonsense
expect "a noun without its verb" 64 "schema" ./idemctl -c "$folder/idem.conf" schema
expect "a command that needs the configuration" 64 "-c FILE" ./idemctl schema status
expect "an argument is missing" 64 "FILE" ./idemctl plugin inspect
expect "an option that means nothing here is refused" 64 "role" ./idemctl -c "$folder/idem.conf" --role x status
expect "a connection string that is none is a wrong argument" 64 '--conninfo: invalid connection option "hots"' ./idemctl -c "$folder/idem.conf" --conninfo "hots=1" schema status
expect "so is one with a file that is not there" 64 "--conninfo: sslrootcert=/nowhere: No such file" ./idemctl -c "$folder/idem.conf" --conninfo "host=x sslrootcert=/nowhere" dlq list --pipeline billing
expect "dlq wants its pipeline" 64 "--pipeline NAME" ./idemctl -c "$folder/idem.conf" dlq list
expect "dlq replay takes no --raw" 64 "dlq replay takes no option raw" ./idemctl -c "$folder/idem.conf" dlq replay --pipeline billing --raw
expect "dlq list takes no --all" 64 "dlq list takes no option all" ./idemctl -c "$folder/idem.conf" dlq list --pipeline billing --all
expect "dlq of an unknown pipeline" 1 "no pipeline nobody" ./idemctl -c "$folder/idem.conf" dlq list --pipeline nobody
expect "dlq replay wants to know which, before it asks a broker" 64 "say which dead letters" ./idemctl -c "$folder/idem.conf" dlq replay --pipeline billing
expect "so does dlq discard" 64 "say which dead letters" ./idemctl -c "$folder/idem.conf" dlq discard --pipeline billing
expect "parked release wants to know which keys, before it asks a server" 64 "say which keys" ./idemctl -c "$folder/idem.conf" parked release --pipeline billing
expect "parked list of an unknown pipeline" 1 "no pipeline nobody" ./idemctl -c "$folder/idem.conf" parked list --pipeline nobody
expect "a time that is none" 64 "since soon: write" ./idemctl -c "$folder/idem.conf" dlq list --pipeline billing --since soon
expect "dedup release wants an id" 64 "PIPELINE ID" ./idemctl -c "$folder/idem.conf" dedup release billing
expect "help lists the commands" 0 "schema apply" ./idemctl --help
expect "no database is 69" 69 "refused" ./idemctl -c "$folder/database.conf" schema status
expect "no host is 69" 69 "is idemd running" ./idemctl -c "$folder/idem.conf" status
expect "no host is 69 for lag too" 69 "is idemd running" ./idemctl -c "$folder/idem.conf" lag --json
expect "status works beside a mistake in the file" 69 "is idemd running" ./idemctl -c "$folder/wrong.conf" status
expect "a wrong configuration is 78" 78 "wrong.conf:5" ./idemctl -c "$folder/wrong.conf" dedup expire
expect "an unknown pipeline is told" 1 "no pipeline nobody" ./idemctl -c "$folder/idem.conf" dedup expire nobody
expect "a plugin is inspected" 0 '"name"' ./idemctl plugin inspect tests/plugins/ref/ref.so --json
expect "a file that is no plugin" 1 "idem.conf" ./idemctl plugin inspect "$folder/idem.conf"
exit $failed
