# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# The processes of the demo, for scripts that source this: the service and
# its load, started and stopped. Needs WEFT_BUILD. The caller's trap calls
# processes_stop.

service_pid=
load_pid=

# start_service DIR [FLAG...]: into DIR go its port, truth.tsv and service.log
start_service() {
	service_dir=$1
	shift
	rm -f "$service_dir/port"
	"$WEFT_BUILD/demo/service" --truth "$service_dir/truth.tsv" \
		--port-file "$service_dir/port" "$@" 2>"$service_dir/service.log" &
	service_pid=$!
	tries=200
	until [ -e "$service_dir/port" ]; do
		tries=$((tries - 1))
		if [ "$tries" -eq 0 ] || ! kill -0 "$service_pid" 2>/dev/null
		then
			echo "the service did not start:" >&2
			cat "$service_dir/service.log" >&2
			return 1
		fi
		sleep 0.05
	done
}

# start_load DIR [OPTION...]: against the service started in DIR
start_load() {
	load_dir=$1
	shift
	"$WEFT_BUILD/demo/load" --port "$(cat "$load_dir/port")" \
		--list "$load_dir/sent.tsv" "$@" >"$load_dir/load.log" 2>&1 &
	load_pid=$!
}

# Stop both and wait for them: the truth is in its file only afterwards.
# Returns non-zero if one of them ended otherwise than well.
processes_stop() {
	ended_well=0
	for child in $load_pid $service_pid; do
		kill -TERM "$child" 2>/dev/null || ended_well=1
		wait "$child" || ended_well=1
	done
	load_pid=
	service_pid=
	return "$ended_well"
}
