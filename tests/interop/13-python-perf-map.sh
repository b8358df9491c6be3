#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Python functions have names where Python, from 3.12 on, is started with
# -X perf: each is called through a piece of code of its own, which its perf
# map names py::FUNCTION:FILE. That code keeps no frame pointer, so callers are
# found only where Python was built with them (-fno-omit-frame-pointer, as
# Python's manual has it). Debian 12 has 3.11; one of pyenv's serves.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"

python=
for it in python3 python3.13 python3.12 \
	"${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
	pid=$("$it" -X perf -c 'import os, sys; print(os.getpid()); sys.exit(
		not sys.is_stack_trampoline_active())' 2>/dev/null) && python=$it
	[ -z "$pid" ] || rm -f "/tmp/perf-$pid.map"
	[ -z "$python" ] || break
done
[ -n "$python" ] || live_skip "needs Python 3.12 or later, with -X perf"

cat >"$dir/hot.py" <<'P'
import os, time

open("pid", "w").write(str(os.getpid()))

def hot_inner(n):
    total = 0
    for i in range(n):
        total = (total * 31 + i) % 65521
    return total

def hot_outer(n):
    return sum(hot_inner(n) for _ in range(10))

def elsewhere(n):
    return hot_inner(n)

end = time.monotonic() + 3
while time.monotonic() < end:
    hot_outer(2000)
elsewhere(1)
P
cd "$dir"
"$weft" record -q -o "$dir/python.db" -- "$python" -X perf "$dir/hot.py" 2>&1 |
	say
rm -f "/tmp/perf-$(cat pid).map"
check_ledger "$dir/python.db"
"$weft" top -i "$dir/python.db" -n 7 2>&1 | say

# share FUNCTION: in percent, of all samples, with what it calls
share() {
	sql "$dir/python.db" "SELECT CAST(100 * ifnull(max(total_share), 0)
		AS INT) FROM hot_functions WHERE function = 'py::$1:$dir/hot.py'"
}
check "most of its samples are in hot_inner, by name" \
	"$(is "$(share hot_inner)" -ge 50)"
if "$python" -c 'import sysconfig, sys; sys.exit("-fno-omit-frame-pointer"
		not in sysconfig.get_config_var("CFLAGS"))'; then
	check "about as many are in its caller" \
		"$(is "$(share hot_outer)" -ge 50)"
else
	echo "# this Python has no frame pointers: nothing about callers"
fi
check "and nearly none in one that was called once" \
	"$(is "$(share elsewhere)" -le 2)"
live_done
