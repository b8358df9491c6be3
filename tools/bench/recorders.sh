# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables are measure.sh's
#
# weft and its peers as they run beside a load, and what the kernel says of the
# time that their programs took. Source it after measure.sh, with the
# directory as $bench. Recorders that start_recorder started end with the part.

# shellcheck source=tools/bench/cost.sh
. "$bench/cost.sh"
recorders=
stats_before=$(sysctl -n kernel.bpf_stats_enabled)

# stop_recorders SIGNAL
stop_recorders() {
	for pid in $recorders; do
		kill "-$1" "$pid" 2>/dev/null || true
	done
	for pid in $recorders; do
		wait "$pid" 2>/dev/null || true
	done
	recorders=
}
recorders_end() {
	stop_recorders KILL
	sysctl -q "kernel.bpf_stats_enabled=$stats_before"
	measure_end
}
trap recorders_end EXIT

# What each is asked for, at $hz; --detail and the like come behind.
weft_command() {
	echo "$weft record -q -a -F $hz"
}
perf_command() {
	echo "perf record -q -N -g -a -e cpu-clock -F $hz"
}
bpftrace_text() {
	echo "profile:hz:$hz { @[kstack, ustack, pid] = count(); }"
}

# start_recorder NAME COMMAND...: returns when its program runs; what it says
# is in $dir/NAME.said. Its process is $recorder.
start_recorder() {
	recorder_name=$1
	shift
	"$@" >"$dir/$recorder_name.said" 2>&1 &
	recorder=$!
	recorders="$recorders $recorder"
	tries=600
	until cost $recorder >"$dir/ran" && read -r _ runs <"$dir/ran" &&
		[ "$runs" -gt 0 ]
	do
		tries=$((tries - 1))
		if [ $tries -eq 0 ] || ! kill -0 $recorder 2>/dev/null; then
			cat "$dir/$recorder_name.said" >&2
			echo "bench: $recorder_name does not record" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# of_slice BEFORE AFTER: ns of a run between two costs
of_slice() {
	echo "$1 $2" | awk '{ if ($4 > $2) printf "%.1f", ($3 - $1) / ($4 - $2)
		else printf "nan" }'
}

# on_all COMMAND...: on every CPU
on_all() {
	for cpu in $(cpus); do
		start_on "$cpu" "$@"
	done
}
