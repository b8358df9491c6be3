#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Of each request of the demo service: the time that it ran, could have run and
# was blocked add up to the time that it took, as the service measured it.
# WALL_REQUESTS: at least so many. WALL_HZ: how often threads are looked at; a
# request shorter than a period may never be seen.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
# shellcheck source=tests/live/service.sh
. "$(dirname "$0")/service.sh"

least_requests=${WALL_REQUESTS:-200}
record_service $((least_requests * 3 / 2)) -e wall -F "${WALL_HZ:-4999}" --detail 1/1

python3 "$tests/live/84-wall.py" "$weft" "$dir/a.db" >"$dir/walls"
read -r requests within rest <"$dir/walls"
echo "requests $requests; within 1 %: $within; the rest of all: $rest % of" \
	"their time" | say
sed 1d "$dir/walls" | say
check "at least $least_requests requests" \
	"$(is "$requests" -ge "$least_requests")"
# The service clears the context before it reads the clock: where its thread is
# taken off the CPU in between, the time is no request's.
check "of 49 in 50 the parts add up to within 1 % of what they took" \
	"$(is $((within * 50)) -ge $((requests * 49)))"
live_done
