#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Is a sample ever given to the wrong request? Records the demo service with
# every detail and compares each sample with the service's own truth. Then
# the same with a writer that is wrong on purpose: if that goes unnoticed,
# the first answer proves nothing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
WEFT_BUILD=$(cd "${WEFT_BUILD:-build}" && pwd)
least_samples=20000
least_own_pct=99

# shellcheck source=tools/demo/processes.sh
. "$here/../../tools/demo/processes.sh"

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(id -u)" -eq 0 ] || skip "needs root to load a BPF program"
[ -e /sys/kernel/btf/vmlinux ] || skip "needs a kernel with BTF"

dir=$(mktemp -d)
trap 'processes_stop || true; rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

count=0
failed=0
# check CLAIM HOLDS: HOLDS is 1 or 0; the figures behind it are printed above
check() {
	count=$((count + 1))
	if [ "$2" -eq 1 ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		failed=1
	fi
}

# run NAME [FLAG...]: record a service started with FLAGs, judge it
run() {
	name=$1
	shift
	mkdir "$dir/$name"
	if start_service "$dir/$name" "$@" &&
		start_load "$dir/$name" --seconds 120 &&
		"$WEFT_BUILD/weft" record -q -p "$service_pid" -F 4999 \
			--detail 1/1 -d "${ATTRIBUTION_SECONDS:-8}" \
			-o "$dir/$name/rec.db" 2>"$dir/$name/record.log" &&
		processes_stop &&
		(cd "$dir/$name" &&
			sqlite3 -readonly rec.db <"$here/attribution.sql" \
				>figures 2>judge.log)
	then
		{
			cat "$dir/$name/load.log" "$dir/$name/record.log"
			cat "$dir/$name/figures"
		} | sed "s/^/# $name: /"
		return 0
	fi
	sed "s/^/# $name: /" "$dir/$name"/*.log
	echo "Bail out! could not record the service ($name)"
	exit 1
}

figure() {
	awk -v want="$2" '$1 == want { print $2 }' "$dir/$1/figures"
}

echo 1..8
run right
check "at least $least_samples samples in the code of a route" \
	$(($(figure right route_samples) >= least_samples))
check "none of them has the trace of another route" \
	$(($(figure right route_wrong) == 0))
check "none of them has a trace that was never sent" \
	$(($(figure right route_unknown_trace) == 0))
check "no sample in a request's time has the trace of another request" \
	$(($(figure right busy_other) == 0))
check "no sample between requests has a trace" \
	$(($(figure right idle_with_trace) == 0))
own=$(figure right busy_own)
busy=$(figure right busy)
check "$least_own_pct % of the samples in a request's time have its trace" \
	$((busy > 0 && own * 100 >= busy * least_own_pct))

run broken --broken-writer
check "a broken writer gives samples to the wrong route" \
	$(($(figure broken route_wrong) > 0))
check "a broken writer gives samples to the wrong request" \
	$(($(figure broken busy_other) > 0))
exit "$failed"
