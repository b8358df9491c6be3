#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Services in C++ and Rust with the publisher, built by what pkg-config says
# and stripped of all but what names functions: each sample in the code of a
# route has the trace of a request that was for that route, at that time.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
# shellcheck source=tests/interop/service/service.sh
. "$(dirname "$0")/service/service.sh"

env -u MAKEFLAGS -u MAKELEVEL make -s -C "$tests/.." B="$WEFT_BUILD" \
	DESTDIR="$dir/staged" PREFIX=/otc install-publisher
flags=$(PKG_CONFIG_LIBDIR="$dir/staged/otc/lib/pkgconfig" \
	PKG_CONFIG_SYSROOT_DIR="$dir/staged" \
	pkg-config --cflags --libs otel-thread-ctx)

# try NAME COMMAND...
try() {
	name=$1
	shift
	serve "$name" "$@"
	doctor=0
	"$weft" doctor --pid "$service" >"$dir/doctor" 2>&1 || doctor=$?
	say <"$dir/doctor"
	check "$name: weft doctor sees it" "$(is $doctor = 0)"
	observe "$name" 300 3 client
	kill "$service"
	check_ledger "$dir/$name.db"
	judge "$name" "$by_id"
	check "$name: all requests are stored as spans" \
		"$(is "$(figure "$name" spans)" = 300)"
	check "$name: nearly all samples in its routes have an ID" \
		"$(is $(($(figure "$name" joined) * 100)) -ge \
			$(($(figure "$name" samples) * 99)))"
	no_wrong "$name"
}

# shellcheck disable=SC2086
c++ -std=c++11 -O2 -Wall -Wextra "$service_dir/service.cc" -o "$dir/cxx" $flags
try cxx "$dir/cxx" "$port"

# the judge is one: each request under the ID of the one that was sent next
ln "$dir/cxx.db" "$dir/control.db"
awk -F '\t' -v OFS='\t' 'NR > 1 { print last, $2, $3, $4 } { last = $1 }' \
	"$dir/cxx.truth" >"$dir/control.truth"
judge control "$by_id"
check "requests under IDs of others are found to be wrong, by route and by time" \
	"$(both "$(is "$(figure control wrong_route)" -gt 0)" \
		"$(is "$(figure control wrong_time)" -gt 0)")"

if command -v rustc >/dev/null; then
	# shellcheck disable=SC2046
	rustc -C opt-level=2 --crate-name service -o "$dir/rust" \
		$(for flag in $flags; do
			case $flag in
			-I*) ;;
			-pthread) ;;
			*) printf -- '-C link-arg=%s ' "$flag" ;;
			esac
		done) "$service_dir/service.rs" 2>&1 | say
	port=$((port + 1))
	try rust "$dir/rust" "$port"
else
	echo "# skipped rust: no rustc"
fi
live_done
