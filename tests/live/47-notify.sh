#!/bin/sh
# SPDX-License-Identifier: MIT
#
# weft record tells a service manager when samples are taken and when no more
# are, by a path and by an abstract name; a socket that nobody reads, or that is
# not there, does not hold it up.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# listen NAME: what comes there, a line each, to $dir/said; says when it hears
cat >"$dir/listen.py" <<'END'
import socket, sys
name = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + name[1:] if name[0] == "@" else name)
s.settimeout(60)
open(sys.argv[2] + ".on", "w").close()
with open(sys.argv[2], "w") as f:
    while True:
        text = s.recv(4096).decode()
        f.write(text + "\n")
        f.flush()
        if text == "STOPPING=1":
            break
END

heard() {
	rm -f "$dir/said" "$dir/said.on"
	background python3 "$dir/listen.py" "$1" "$dir/said"
	listener=$!
	wait_for 20 test -e "$dir/said.on"
	background env NOTIFY_SOCKET="$1" "$weft" record -q -o "$dir/$2.db" \
		-p $$ --interval 0.1
	recorder=$!
	wait_for 30 grep -q READY=1 "$dir/said"
	first=$(cat "$dir/said")
	rows=0
	wait_for 20 test -e "$dir/$2.db" && sleep 0.3
	kill -INT "$recorder"
	wait "$recorder" && rows=$(sql "$dir/$2.db" \
		"SELECT count(*) FROM interval")
	wait "$listener" || true
	paste -sd ' ' "$dir/said" | say
	check "$2: ready while it records, stopping when it ends, and no more" \
		"$(both "$(is "$first" = READY=1)" \
			"$(is "$(paste -sd ' ' "$dir/said")" = \
				"READY=1 STOPPING=1")")"
	check "$2: the recording is whole ($rows intervals)" \
		"$(is "$rows" -gt 0)"
}

heard "$dir/socket" path
heard "@weft-notify-$$" abstract

for socket in "$dir/nobody" relative @ ''; do
	status=0
	NOTIFY_SOCKET=$socket timeout 60 "$weft" record -q -d 0.2 -p $$ \
		-o "$dir/x.db" || status=$?
	check "socket '$(basename "$socket")': no listener, no harm" \
		"$(is $status = 0)"
done

# What is run is not the service: as for sd_notify(), the name ends with us.
NOTIFY_SOCKET=$dir/nobody "$weft" record -q -o "$dir/env.db" -- env >"$dir/env"
check "the program that is run does not have the socket's name" \
	"$(if grep -q NOTIFY_SOCKET "$dir/env"; then echo 0; else echo 1; fi)"
live_done
