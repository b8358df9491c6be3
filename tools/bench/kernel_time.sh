# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are for who sources this, and of
# measure.sh
#
# What parts share that read how long the kernel's programs ran, as the kernel
# itself times them. Source it after measure.sh. It needs bpftrace; the caller
# puts kernel.bpf_stats_enabled back to $stats_before at its end.

needs bpftrace
bpftool=/usr/sbin/bpftool
[ -x $bpftool ] || bpftool=bpftool
stats_before=$(sysctl -n kernel.bpf_stats_enabled)

# programs PID NAMES: ids of its programs whose names are such, a line each.
# They are known by its own file descriptors: others may record, too.
programs() {
	cat "/proc/$1/fdinfo"/* 2>/dev/null |
		sed -n 's/^prog_id:[^0-9]*//p' | sort -u |
		while read -r id; do
			$bpftool prog show id "$id" 2>/dev/null |
				grep -qE "^$id: .* name ($2) " && echo "$id"
		done || true
}

# wait_programs PID NAMES FILE
wait_programs() {
	tries=200
	until programs "$1" "$2" >"$3" && [ -s "$3" ]; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ] || ! kill -0 "$1" 2>/dev/null; then
			cat "$dir/said" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# cost FILE: time and runs of all of them together
cost() {
	while read -r id; do
		$bpftool prog show id "$id"
	done <"$1" | sed -n \
		's/.*run_time_ns \([0-9]*\) run_cnt \([0-9]*\).*/\1 \2/p' |
		awk '{ ns += $1; n += $2 } END { printf "%.0f %.0f\n", ns, n }'
}
