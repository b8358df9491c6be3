# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034
#
# What the tests of foreign services share: record one while requests are
# sent to it, and judge its samples by what the client wrote down. Source it
# after tests/live/live.sh.

service_dir="$tests/interop/service"
otlp_port=$((20000 + $$ % 10000))
port=$((otlp_port + 10000))

listens() {
	python3 -c "import socket
socket.create_connection(('127.0.0.1', $1), 1)" 2>/dev/null
}

# serve NAME COMMAND...: start it; it listens on $port
serve() {
	name=$1
	shift
	background "$@" >"$dir/$name.log" 2>&1
	service=$!
	if ! wait_for 60 listens "$port"; then
		say <"$dir/$name.log"
		echo "Bail out! $name does not listen on $port"
		exit 1
	fi
}

# observe NAME REQUESTS SENDERS SPANS [OPTION...]: record the service while the
# client sends; SPANS is client, if it is to tell its own, else service
observe() {
	name=$1
	requests=$2
	senders=$3
	spans=$4
	shift 4
	background "$weft" record -q -p "$service" -F 1999 --detail 1/1 \
		--otlp-listen "127.0.0.1:$otlp_port" -o "$dir/$name.db" "$@" \
		>"$dir/$name.said" 2>&1
	recorder=$!
	wait_for 60 listens "$otlp_port" && sleep 2 # discovery, tables
	[ "$spans" = service ] || set -- "$otlp_port"
	[ "$spans" = client ] || set --
	# shellcheck disable=SC2086
	python3 "$service_dir/send.py" ${send_options-} "$port" "$requests" "$senders" \
		"$dir/$name.truth" "$@" 2>&1 | say
	sleep 1 # a batch of the service's own spans
	[ "$spans" = client ] || sleep 5
	kill -INT "$recorder"
	wait "$recorder" || true
	say <"$dir/$name.said"
}

by_function="CASE WHEN s.folded LIKE '%work_alpha%' THEN 'alpha'
	WHEN s.folded LIKE '%work_beta%' THEN 'beta'
	WHEN s.folded LIKE '%work_gamma%' THEN 'gamma' END"

# judge NAME JOINED [ROUTE]: by the samples and traces of that SELECT, and by
# what tells the route of a sample s, which t says of its trace
judge() {
	sqlite3 -readonly "$dir/$1.db" >"$dir/$1.figures" <<-SQL
	CREATE TEMP TABLE truth (trace_id, route, start_ns INT, end_ns INT);
	.mode tabs
	.import --schema temp $dir/$1.truth truth
	CREATE TEMP VIEW joined AS $2;
	.separator " "
	$(awk -v route="${3:-$by_function}" '{ sub(/ROUTE/, route) } /^--/ {
		next } { print }' "$service_dir/judge.sql")
	SQL
	sed "s/^/# $1: /" "$dir/$1.figures"
}

figure() {
	awk -v want="$2" '$1 == want { print $2 }' "$dir/$1.figures"
}

# no_wrong NAME: nothing is joined to a request that it was not of
no_wrong() {
	check "$1: $(figure "$1" joined) samples of $(figure "$1" \
		requests_joined) requests joined, 0 wrong" \
		"$(both "$(is "$(figure "$1" joined)" -gt 0)" \
			"$(is "$(figure "$1" wrong_route)$(figure "$1" wrong_time)$(
				figure "$1" unknown_trace)" = 000)")"
}

by_id="SELECT sample_id, trace_id FROM samples WHERE trace_id IS NOT NULL"
