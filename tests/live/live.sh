# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
#
# What live tests share: they record for real, so they need root and BPF, and
# each recording that one leaves is checked against the ledger's identities.
# Source it; it sets WEFT_BUILD, $tests and $dir (removed at exit), skips
# where nothing can be recorded, and counts `check`s.

tests=$(cd "$(dirname "$0")/.." && pwd)
WEFT_BUILD=$(cd "${WEFT_BUILD:-build}" && pwd)
weft="$WEFT_BUILD/weft"
load="${WEFT_LOAD:-$WEFT_BUILD/load}"

live_skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(id -u)" -eq 0 ] || live_skip "needs root to load a BPF program"
[ -e /sys/kernel/btf/vmlinux ] || live_skip "needs a kernel with BTF"

dir=$(mktemp -d)
live_children=
# Only children that we still have: the numbers of others may be anybody's by
# now, after a storm of processes.
live_end() {
	for pid in $live_children; do
		grep -q "^PPid:[[:space:]]*$$\$" "/proc/$pid/status" 2>/dev/null ||
			continue
		kill -CONT "$pid" 2>/dev/null || true
		kill -KILL "$pid" 2>/dev/null || true
	done
	rm -rf "$dir"
}
trap live_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# live_apart: begin anew in a mount namespace with a bpf file system of its own,
# so that what the machine has pinned is not touched
live_apart() {
	if [ -z "${LIVE_IS_APART:-}" ]; then
		unshare -m true 2>/dev/null ||
			live_skip "needs a mount namespace of its own"
		rm -rf "$dir"
		LIVE_IS_APART=1 exec unshare -m sh "$0"
	fi
	mount -t bpf bpf /sys/fs/bpf ||
		live_skip "this kernel has no bpf file system"
}

live_count=0
live_failed=0

say() {
	sed 's/^/# /'
}

# check CLAIM HOLDS: 1 or 0; print the figures behind it before.
check() {
	live_count=$((live_count + 1))
	if [ "$2" = 1 ]; then
		echo "ok $live_count - $1"
	else
		echo "not ok $live_count - $1"
		live_failed=1
	fi
}

# is A OP B: 1 or 0, for check
is() {
	if test "$1" "$2" "$3"; then echo 1; else echo 0; fi
}

# both A B: 1 if both are
both() {
	if [ "$1" = 1 ] && [ "$2" = 1 ]; then echo 1; else echo 0; fi
}

live_done() {
	check_all_ledgers
	echo "1..$live_count"
	exit "$live_failed"
}

# background COMMAND...: run it; $! stays valid, it is killed at the end
background() {
	"$@" &
	live_children="$live_children $!"
}

sql() {
	sqlite3 -readonly "$1" "$2"
}

# same CLAIM FILE SQL WANTED: what it answers is exactly that
same() {
	got=$(sql "$2" "$3")
	[ "$got" = "$4" ] || { echo "got: $got"; echo "not: $4"; } | say
	check "$1" "$(is "$got" = "$4")"
}

# entry FILE NAME: the sum of a ledger entry
entry() {
	sql "$1" "SELECT ifnull(sum(count), 0) FROM ledger WHERE entry = '$2'"
}

# ledger_differs: of the figures on stdin, what is not as it must be, added up;
# nothing if they are not all there
ledger_differs() {
	awk '$1 ~ /^(wrong|not_in_ledger|totals_differ|sums_differ)$/ { sum += $2; n++ }
	END { if (n == 4) print sum }'
}

# check_ledger FILE: the identities of the ledger, for every interval
check_ledger() {
	figures=$(sqlite3 -readonly "$1" <"$tests/live/ledger.sql")
	echo "$figures" | say
	check "$(basename "$1" .db): the ledger's identities hold in every interval" \
		"$(is "$(echo "$figures" | ledger_differs)" = 0)"
}

# The same of every recording that a test has left, whether or not it asks; one
# that is damaged on purpose must not be called .db.
check_all_ledgers() {
	recordings=0
	wrong=
	for file in "$dir"/*.db "$dir"/*.db.old "$dir"/*/*.db; do
		# The application ID of a recording.
		case $(od -An -tx1 -j68 -N4 "$file" 2>/dev/null) in
		' 77 65 66 74') ;;
		*) continue ;;
		esac
		recordings=$((recordings + 1))
		figures=$(sqlite3 -readonly "$file" 2>&1 \
			<"$tests/live/ledger.sql" || true)
		[ "$(echo "$figures" | ledger_differs)" = 0 ] ||
			wrong="$wrong $file"
	done
	[ $recordings -gt 0 ] || return 0
	check "all $recordings recordings: the ledger's identities hold$wrong" \
		"$(is "$wrong" = "")"
	echo "# figure: ledgers_checked $recordings"
	echo "# figure: ledgers_wrong $(echo "$wrong" | wc -w)"
}

# check_none_lost WHERE DB LEAST: at least so many samples of it were stored, and
# none was lost on the way
check_none_lost() {
	stored=$(entry "$2" stored)
	lost=$(sql "$2" "SELECT ifnull(sum(count), 0) FROM ledger
		WHERE entry LIKE 'lost_%'")
	check "$1 $stored samples are stored one by one, $lost lost" \
		"$(both "$(is "$stored" -ge "$3")" "$(is "$lost" = 0)")"
}

# check_peak KB MIB: what live_peak said, and what it is to stay below
check_peak() {
	echo "# no process of the recorder has needed more than $(($1 >> 10)) MiB"
	check "none of the recorder's processes has needed $2 MiB" \
		"$(both "$(is "$1" -gt 0)" "$(is "$1" -lt $(($2 << 10)))")"
}

# live_peak RECORDER: the most memory that any of its processes has needed, in
# kB, once it has ended
live_peak() {
	peak=0
	# Until it is waited for it stays as a zombie.
	while grep -q '^State:[^Z]*$' "/proc/$1/status" 2>/dev/null; do
		now=$(for pid in $(ps -e -o pid=,ppid= | awk -v root="$1" '
			{ parent[$1] = $2 }
			END {
				for (p in parent) {
					q = p
					while (q != root && q in parent)
						q = parent[q]
					if (q == root)
						print p
				}
			}'); do
			cat "/proc/$pid/status" 2>/dev/null || true
		done | awk '/^VmHWM/ && $2 > peak { peak = $2 }
			END { print peak + 0 }')
		[ "$now" -le "$peak" ] || peak=$now
		sleep 0.2
	done
	echo "$peak"
}

# wait_for SECONDS COMMAND...: until it succeeds; a watchdog, not a measure
wait_for() {
	left=$(($1 * 20))
	shift
	until "$@" 2>/dev/null; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.05
	done
}
