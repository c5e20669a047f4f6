#!/bin/bash
# A real Apache Kafka broker (4.1.0, KRaft, one node, 127.0.0.1, free ports, state in a scratch folder) for tests.
#
#   with_kafka.sh COMMAND [ARGUMENT…]   run the command with KAFKA_BOOTSTRAP set, then stop the broker; the status is the
#                                       command's.  A KAFKA_BOOTSTRAP that is set already is used as it is.
#   with_kafka.sh --prepare             only fetch the jars (Maven, about 55 MB, once) into ${IDEM_CACHE:-~/.cache/idem}
#   with_kafka.sh --start FILE          start a broker that stays; FILE gets KAFKA_BOOTSTRAP, KAFKA_PID, KAFKA_DIR
#   with_kafka.sh --up FILE             start it again on its ports and its data, after somebody ended it
#   with_kafka.sh --stop FILE           stop that one and remove its state
#
# KAFKA_SERVER_PROPERTIES: more lines for server.properties.
# KAFKA_ADVERTISED="PORT…": for each a listener more that is advertised as 127.0.0.1:PORT, where a proxy is; FILE gets
# KAFKA_PROXIED=PORT,…: where they are to forward to.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${IDEM_CACHE:-$HOME/.cache/idem}/kafka-4.1.0
java=(java -Xms128m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
	"-Dlog4j2.configurationFile=$here/kafka/log4j2.properties" -cp "$cache/*")

fail() { echo "with_kafka: $*" >&2; exit 1; }
missing() { echo "with_kafka: $* is missing" >&2; exit 77; } # automake: skipped

prepare() {
	[ ! -d "$cache" ] || return 0
	command -v mvn >/dev/null || missing maven
	mkdir -p "$(dirname "$cache")"
	exec 8>"$cache.lock"
	flock 8
	if [ ! -d "$cache" ]; then
		rm -rf "$cache.new"
		mvn -q -B -f "$here/kafka/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$cache.new" \
			-DincludeScope=runtime >&2
		mv "$cache.new" "$cache"
	fi
	exec 8>&-
}

# Ports that nobody listens on now; somebody else may take one first, so start tries again.
free_ports() { # how many
	python3 -c 'import socket, sys
s = [socket.socket() for _ in range(int(sys.argv[1]))]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s])' "$1"
}

write_properties() { # broker port, controller port, ports of the listeners behind proxies
	local listeners=PLAINTEXT://127.0.0.1:$1 protocols=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
	local advertised=$listeners number=0 port
	for port in ${KAFKA_ADVERTISED:-}; do
		number=$((number + 1))
		listeners+=,PROXIED$number://127.0.0.1:${*:$((number + 2)):1}
		advertised+=,PROXIED$number://127.0.0.1:$port
		protocols+=,PROXIED$number:PLAINTEXT
	done
	cat >"$KAFKA_DIR/server.properties" <<-P
	process.roles=broker,controller
	node.id=1
	controller.quorum.voters=1@127.0.0.1:$2
	listeners=$listeners,CONTROLLER://127.0.0.1:$2
	advertised.listeners=$advertised
	inter.broker.listener.name=PLAINTEXT
	controller.listener.names=CONTROLLER
	listener.security.protocol.map=$protocols
	log.dirs=$KAFKA_DIR/data
	num.partitions=1
	auto.create.topics.enable=false
	offsets.topic.num.partitions=3
	offsets.topic.replication.factor=1
	transaction.state.log.num.partitions=3
	transaction.state.log.replication.factor=1
	transaction.state.log.min.isr=1
	share.coordinator.state.topic.num.partitions=1
	share.coordinator.state.topic.replication.factor=1
	group.initial.rebalance.delay.ms=0
	group.min.session.timeout.ms=1000
	${KAFKA_SERVER_PROPERTIES:-}
	P
}

# The broker listens before it serves: it is up when it answers an ApiVersions request (v0, correlation id 1).
answers() { # port
	(
		exec 3<>"/dev/tcp/127.0.0.1/$1" &&
			printf '\0\0\0\012\0\022\0\0\0\0\0\001\377\377' >&3 &&
			[ -n "$(timeout 2 head -c 4 <&3 | od -An -tx1)" ]
	) 2>/dev/null
}

# In the background; its end shows whether it serves.
launch() {
	setsid "${java[@]}" kafka.Kafka "$KAFKA_DIR/server.properties" >>"$KAFKA_DIR/log" 2>&1 </dev/null &
	KAFKA_PID=$!
	local deadline=$((SECONDS + 180)) # 4 s on an idle machine
	while [ $SECONDS -lt $deadline ] && kill -0 "$KAFKA_PID" 2>/dev/null; do
		! answers "${KAFKA_BOOTSTRAP#*:}" || return 0
		sleep 0.1
	done
	tail -20 "$KAFKA_DIR/log" >&2
	return 1
}

start_once() {
	local ports proxied
	read -ra proxied <<<"${KAFKA_ADVERTISED:-}"
	read -ra ports < <(free_ports $((2 + ${#proxied[@]})))
	KAFKA_BOOTSTRAP=127.0.0.1:${ports[0]}
	KAFKA_PROXIED=$(IFS=,; echo "${ports[*]:2}")
	KAFKA_DIR=$(mktemp -d "${TMPDIR:-/tmp}/idem-kafka.XXXXXX")
	write_properties "${ports[@]}"
	"${java[@]}" kafka.tools.StorageTool format -t MkU3OEVBNTcwNTJENDM2Qg -c "$KAFKA_DIR/server.properties" \
		>"$KAFKA_DIR/log" 2>&1 || { cat "$KAFKA_DIR/log" >&2; fail "the storage could not be formatted"; }
	launch || { stop; return 1; }
}

start() {
	command -v java >/dev/null || missing default-jre-headless
	prepare
	start_once || start_once || fail "the broker did not come up"
	export KAFKA_BOOTSTRAP
}

stop() {
	kill "$KAFKA_PID" 2>/dev/null || true
	local deadline=$((SECONDS + 15))
	while kill -0 "$KAFKA_PID" 2>/dev/null; do
		[ $SECONDS -lt $deadline ] || kill -KILL "$KAFKA_PID" 2>/dev/null || true
		sleep 0.1
	done
	rm -rf "$KAFKA_DIR"
}

tell() { # file
	printf '%s=%s\n' KAFKA_BOOTSTRAP "$KAFKA_BOOTSTRAP" KAFKA_PROXIED "$KAFKA_PROXIED" KAFKA_PID "$KAFKA_PID" \
		KAFKA_DIR "$KAFKA_DIR" >"$1"
}

case ${1:-} in
--prepare)
	prepare
	;;
--start)
	[ $# = 2 ] || fail "usage: with_kafka.sh --start FILE"
	start
	tell "$2"
	;;
--up)
	[ $# = 2 ] || fail "usage: with_kafka.sh --up FILE"
	. "$2"
	launch || fail "the broker did not come up again"
	tell "$2"
	;;
--stop)
	[ $# = 2 ] || fail "usage: with_kafka.sh --stop FILE"
	. "$2"
	stop
	rm -f "$2"
	;;
'' | -*)
	fail "usage: with_kafka.sh COMMAND… | --prepare | --start FILE | --up FILE | --stop FILE"
	;;
*)
	[ -z "${KAFKA_BOOTSTRAP:-}" ] || exec "$@"
	start
	trap stop EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	"$@"
	;;
esac
