#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What cannot be recorded is refused in one sentence that names the thing and
# the way on, with the status that says of what kind it is; and nothing that
# was there before is touched.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# refused NAME STATUS TEXT COMMAND...: the status, and TEXT in what it says
refused() {
	name=$1
	want=$2
	text=$3
	shift 3
	status=0
	timeout 60 "$@" >"$dir/out" 2>"$dir/err" || status=$?
	head -n 2 "$dir/err" | say
	check "$name: status $want (is $status), and says so" \
		"$(both "$(is $status = "$want")" \
			"$(if grep -qF -- "$text" "$dir/err"; then echo 1; else
				echo 0; fi)")"
}

sum() {
	sha256sum "$1" | cut -d ' ' -f 1
}

refused "as nobody" 3 "CAP_BPF" \
	setpriv --reuid=65534 --regid=65534 --clear-groups "$weft" record -d 1
refused "without CAP_PERFMON" 3 "CAP_PERFMON" \
	setpriv --bounding-set=-perfmon,-sys_admin "$weft" record -d 1
refused "an unknown option" 2 "did you mean '--detail'?" \
	"$weft" record --detial 1/2
refused "a rate of 0" 2 "-F takes samples per second, at least 1; not '0'" \
	"$weft" record -F 0
limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
refused "a rate above the kernel's limit" 2 \
	"-F $((limit + 1)) is above the kernel's limit of $limit Hz" \
	"$weft" record -F $((limit + 1))
refused "a rate that is no number" 2 "not '10x'" "$weft" record -F 10x
refused "a part that is none" 2 "--detail takes 1/N" \
	"$weft" record --detail 5
refused "user and kernel only" 2 "exclude each other" "$weft" record -U -K
refused "a CPU that is not there" 1 "CPU 511 is not online" \
	"$weft" record -C 0,511 -d 1 -o "$dir/x.db"
refused "a command without --" 2 "stands after" "$weft" record sleep 1
refused "a process that is not there" 1 "no such process" \
	"$weft" record -p 2147483647 -d 1 -o "$dir/x.db"
refused "a thread that is not there" 1 "no such thread" \
	"$weft" record -t 2147483647 -d 1 -o "$dir/x.db"
refused "a command that is not there" 127 "cannot run '/no/such/program'" \
	"$weft" record -o "$dir/x.db" -- /no/such/program
echo data >"$dir/not_executable"
refused "a command that may not be run" 126 "not_executable" \
	"$weft" record -o "$dir/x.db" -- "$dir/not_executable"
refused "a cgroup that is not there" 1 "no/such" \
	"$weft" record --cgroup no/such -d 1 -o "$dir/x.db"
check "nothing was written by any of these" \
	"$(if [ -e "$dir/x.db" ]; then echo 0; else echo 1; fi)"
refused "too much kernel memory" 1 "lower --max-stacks" \
	"$weft" record --max-stacks 4194304 -d 1 -o "$dir/x.db"

# hidden BEHIND FILE: weft record where FILE is seen in the place of BEHIND
if unshare -m true 2>/dev/null; then
	cat >"$dir/hidden" <<-'SH'
	mount --bind "$2" "$1" && shift 2 && exec "$@"
	SH
	btf=/sys/kernel/btf/vmlinux
	: >"$dir/empty"
	head -c 5000 $btf >"$dir/cut"
	for name in empty cut; do
		refused "type information that is $name" 1 "$btf is damaged" \
			unshare -m sh "$dir/hidden" $btf "$dir/$name" \
			"$weft" record -d 1 -o "$dir/x.db"
	done
	mkdir "$dir/none"
	refused "type information that is not there" 1 "CONFIG_DEBUG_INFO_BTF" \
		unshare -m sh "$dir/hidden" /sys/kernel/btf "$dir/none" \
		"$weft" record -d 1 -o "$dir/x.db"
	echo 5000 >"$dir/rate"
	refused "a rate above a limit that somebody lowered" 2 \
		"-F 9999 is above the kernel's limit of 5000 Hz" \
		unshare -m sh "$dir/hidden" \
		/proc/sys/kernel/perf_event_max_sample_rate "$dir/rate" \
		"$weft" record -F 9999 -d 1 -o "$dir/x.db"
else
	echo "# skipped: no mount namespace to hide the kernel's files in"
fi

refused "an output directory that is not there" 1 "$dir/no/such" \
	"$weft" record -d 1 -o "$dir/no/such/file.db"
mkdir "$dir/readonly"
mount -t tmpfs -o ro none "$dir/readonly"
refused "an output directory that is not writable" 1 "$dir/readonly" \
	"$weft" record -d 1 -o "$dir/readonly/file.db"
umount "$dir/readonly"

echo "not a recording" >"$dir/text"
before=$(sum "$dir/text")
refused "a file that is not a recording" 1 "$dir/text" \
	"$weft" record -d 1 -o "$dir/text"
sqlite3 "$dir/other.db" "CREATE TABLE t (x)"
refused "somebody else's database" 1 "$dir/other.db" \
	"$weft" record -d 1 --append -o "$dir/other.db"
check "they were not touched" "$(both \
	"$(is "$(sum "$dir/text")" = "$before")" \
	"$(is "$(sqlite3 "$dir/other.db" .tables)" = t)")"

"$weft" record -q -d 0.3 --interval 0.1 -o "$dir/good.db"
cp "$dir/good.db" "$dir/newer.db"
sqlite3 "$dir/newer.db" "PRAGMA user_version = 999"
before=$(sum "$dir/newer.db")
refused "a file from a newer weft" 1 "999" \
	"$weft" record -d 1 --append -o "$dir/newer.db"
refused "a file from a newer weft, to read" 1 "999" "$weft" top "$dir/newer.db"
check "it was not touched" "$(is "$(sum "$dir/newer.db")" = "$before")"

head -c 8192 "$dir/good.db" >"$dir/damaged"
refused "a damaged file" 1 "$dir/damaged" \
	"$weft" record -d 1 --append -o "$dir/damaged"
refused "a damaged file, to read" 1 "$dir/damaged" \
	"$weft" top "$dir/damaged"

background "$weft" record -q --interval 0.1 -o "$dir/locked.db"
recorder=$!
wait_for 30 test -s "$dir/locked.db"
refused "a file that is being written" 1 "$dir/locked.db" \
	"$weft" record -d 1 --append -o "$dir/locked.db"
kill -INT "$recorder"
wait "$recorder" || true

refused "a malformed trace ID" 2 "xyz" "$weft" trace -i "$dir/good.db" xyz
refused "an absent trace ID" 4 "0123456789abcdef" \
	"$weft" trace -i "$dir/good.db" 0123456789abcdef0123456789abcdef
refused "SQL that writes" 1 "only" \
	"$weft" sql -i "$dir/good.db" "DELETE FROM process"

live_done
