#!/bin/sh
# SPDX-License-Identifier: MIT
#
# weft record without root: with six capabilities it records all, without one of
# them it says what is lost, or why it cannot. What it no longer needs it gives
# up, its inspectors hold what reading takes and can make no system call beside;
# the program after -- gets none of it, and none of its files.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

six="bpf perfmon sys_ptrace dac_read_search syslog checkpoint_restore"
chmod 755 "$dir"
mkdir "$dir/own"
chown 65534:65534 "$dir/own"
# Others need not be able to enter where the build is.
mkdir "$dir/bin"
cp "$WEFT_BUILD"/weft "$WEFT_BUILD"/weft-record "$WEFT_BUILD"/weft-doctor \
	"$load/requests" "$dir/bin"
weft="$dir/bin/weft"

# without NAME COMMAND...: become it, as nobody, with the six but this one
cat >"$dir/without" <<END
#!/bin/sh
caps=
for cap in $six; do
	[ "\$cap" = "\$1" ] || caps="\$caps,+\$cap"
done
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups \\
	--inh-caps="-all\$caps" --ambient-caps="-all\$caps" "\$@"
END
chmod 755 "$dir/without"

# mask NAME...: these capabilities as /proc/PID/status has them
mask() {
	python3 - "$@" <<-'END'
	import sys
	bits = {"dac_override": 1, "dac_read_search": 2, "fowner": 3, "chown": 0,
	        "kill": 5, "sys_ptrace": 19, "perfmon": 38, "bpf": 39,
	        "checkpoint_restore": 40}
	print("%016x" % sum(1 << bits[n] for n in sys.argv[1:]))
	END
}

# holds PID WHO MASK SECCOMP BOUNDS: it can use and get these and no more;
# BOUNDS is "any" where they cannot be lowered
holds() {
	figures=$(awk '/^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):/ {
		printf "%s%s", sep, $2
		sep = " "
	}' "/proc/$1/status")
	echo "$2: permitted, effective, bounds, ambient, no_new_privs," \
		"filter: $figures" | say
	bounds=$5
	[ "$bounds" != any ] || bounds=$(echo "$figures" | cut -d ' ' -f 3)
	# The recorder's loses its ambient ones with its permitted ones.
	ambient=$(echo "$figures" | cut -d ' ' -f 4)
	check "$2 holds what it needs, and can get no more" "$(both \
		"$(is "$figures" = "$3 $3 $bounds $ambient 1 $4")" \
		"$(is "$ambient" = 0000000000000000)")"
}

# named PID NAME: it has a child, or a child of one, of that name; to $found
named() {
	found=
	read -r children <"/proc/$1/task/$1/children" || true
	for child in $children; do
		read -r more <"/proc/$child/task/$child/children" || true
		for pid in $child $more; do
			[ "$(cat "/proc/$pid/comm")" != "$2" ] || found=$pid
		done
	done
	[ -n "$found" ]
}

# look WHO MASK BOUNDS INSPECTORS_BOUNDS: at the processes of $recorder
look() {
	reading=$(mask sys_ptrace dac_read_search checkpoint_restore)
	named "$recorder" weft-inspectors || true
	holds "$found" "$1, the server of inspectors" "$reading" 0 "$4"
	named "$recorder" weft-inspector || true
	holds "$found" "$1, an inspector" "$reading" 2 "$4"
	named "$recorder" weft-cpus || true
	holds "$found" "$1, who opens events of CPUs" "$(mask perfmon)" 0 "$4"
	holds "$recorder" "$1, the recorder" "$2" 0 "$3"
}

# rows FILE TABLE MORE_THAN: it is there, and has more rows than that
# shellcheck disable=SC2317
rows() {
	[ "$(sql "$1" "SELECT count(*) > $3 FROM $2" 2>/dev/null)" = 1 ]
}

# ---- with the six

background "$dir/bin/requests" 2 100000 10 20 >/dev/null
requests=$!
db=$dir/own/six.db
background "$dir/without" none "$weft" record --detail 1/1 --interval 0.2 \
	-F 199 -e cpu-clock -e off-cpu -p "$requests" -o "$db" 2>"$dir/err"
recorder=$!
wait_for 60 rows "$db" sample_tail 100 || true
look six "$(mask bpf)" any any
kill -INT "$recorder"
wait "$recorder" || true
say <"$dir/err"
check "six capabilities: no inspector was replaced" \
	"$(is "$(grep -c 'inspectors were replaced' "$dir/err")" = 0)"
figures=$(sql "$db" "SELECT sum(stack_status = 'complete') * 100 / count(*),
	sum(trace_id IS NOT NULL), sum(folded LIKE '%;handle;%'), count(*)
	FROM samples WHERE event = 'off-cpu'")
echo "complete %, with ID, in handle(), samples: $figures" | say
check "six capabilities: stacks are whole, have names, and trace IDs" \
	"$(echo "$figures" | awk -F '|' \
		'{ print ($1 >= 95 && $2 > 0 && $3 > 0 && $4 > 20) }')"
kernel=$(sql "$db" "SELECT count(*) FROM function WHERE source = 'kallsyms'")
check "six capabilities: kernel functions have names ($kernel)" \
	"$(is "$kernel" -gt 0)"
check "six capabilities: the file is its user's, and nobody else's" \
	"$(is "$(stat -c '%u %a' "$db")" = "65534 600")"

# ---- without one of them

for cap in $six; do
	status=0
	"$dir/without" "$cap" timeout 60 "$weft" record -d 0.2 -p $$ \
		-o "$dir/own/$cap.db" 2>"$dir/err" || status=$?
	head -n 1 "$dir/err" | say
	case $cap in
	bpf | perfmon) want=3 ;;
	*) want=0 ;;
	esac
	upper=CAP_$(echo "$cap" | tr '[:lower:]' '[:upper:]')
	check "without $upper: status $want (is $status), and says what is lost" \
		"$(both "$(is $status = $want)" \
			"$(is "$(grep -c "$upper" "$dir/err")" = 1)")"
	"$dir/without" "$cap" "$weft" doctor >"$dir/out" 2>&1 || true
	check "without $upper: weft doctor says so" \
		"$(is "$(grep -cE "^(warn|FAIL) .* $upper" "$dir/out")" -gt 0)"
done

# ---- what root gives up

db=$dir/root.db
background "$weft" record -q --interval 0.2 -p "$requests" -o "$db"
recorder=$!
wait_for 60 rows "$db" interval 0 || true
kept=$(mask bpf dac_override fowner chown kill)
look root "$kept" "$kept" 0000000000000000
kill -INT "$recorder"
wait "$recorder" || true
kill "$requests"

# ---- what the program gets

cat >"$dir/program" <<'END'
#!/bin/sh
grep -E '^(Cap...|NoNewPrivs|Seccomp):' /proc/self/status
ls -l /proc/self/fd | grep -c -- '->'
END
chmod 755 "$dir/program"
"$dir/program" >"$dir/plain" </dev/null 2>"$dir/err"
"$weft" record -q -o "$dir/as_root.db" -- "$dir/program" >"$dir/as_root" \
	</dev/null 2>"$dir/err"
diff "$dir/plain" "$dir/as_root" >"$dir/diff" || true
say <"$dir/diff"
check "as root, the program has what it would have without weft" \
	"$(is "$(wc -l <"$dir/diff")" = 0)"

# program_of NAME COMMAND...: weft record's program as somebody else
program_of() {
	name=$1
	shift
	"$@" "$weft" record -q -o "$dir/own/$name.db" -- "$dir/program" \
		>"$dir/$name" </dev/null 2>"$dir/err"
	say <"$dir/$name"
	check "$name: the program has no capability, and no filter" "$(both \
		"$(is "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):.0+$' \
			"$dir/$name")" = 4)" \
		"$(is "$(grep -cE '^(NoNewPrivs|Seccomp):.0$' \
			"$dir/$name")" = 2)")"
	check "$name: the program has no file of weft's" "$(is \
		"$(tail -n 1 "$dir/$name")" = "$(tail -n 1 "$dir/plain")")"
}

program_of "the six as nobody" "$dir/without" none
program_of "by sudo" env SUDO_UID=65534 SUDO_GID=65534
live_done
