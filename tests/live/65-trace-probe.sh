#!/bin/sh
# SPDX-License-Identifier: MIT
#
# --trace-probe: IDs that threads tell a function or a USDT probe. Each is its
# thread's own; what works for nobody has none, whatever else the process has;
# of a probe that cannot be, the message says why and what to do.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
# shellcheck source=tests/live/ids.sh
. "$(dirname "$0")/ids.sh"

seconds=${PROBE_SECONDS:-2}
probed="$load/older/probed"

# record NAME MODE [OPTION...]
record() {
	name=$1
	mode=$2
	shift 2
	"$weft" record -q -F 2999 --detail 1/1 -o "$dir/$name.db" "$@" -- \
		"$probed" "$mode" "$seconds" 2>&1 | say
	judge "$name"
}

record bytes bytes --trace-probe "$probed:work_on_bytes:trace=ptr@0,span=ptr@1"
record hex hex --trace-probe "$probed:work_on_hex:trace=hex@2,span=hex@1"
record numbers numbers \
	--trace-probe "$probed:work_on_numbers:hi=u64@5,lo=u64@4,span=u64@0"
record usdt usdt \
	--trace-probe "$probed:usdt:weft_test:work_on:trace=ptr@0,span=ptr@1"
for name in bytes hex numbers usdt; do
	check "$name: $(figure $name 2) IDs, each of the sampled thread" \
		"$(both "$(is "$(figure $name 2)" -gt 0)" \
			"$(is "$(figure $name 3)" = 0.0)")"
	check "$name: a thread that works for nobody has none" \
		"$(is "$(figure $name 4)" = 0.0)"
	check "$name: all IDs are the probe's" \
		"$(is "$(figure $name 6)" = none,probe)"
done
check_ledger "$dir/usdt.db"

# refused WORDS PROBE: the message has them
refused() {
	timeout 60 "$weft" record -q -d 1 -o "$dir/no.db" --trace-probe "$2" \
		>"$dir/out" 2>&1 && status=0 || status=$?
	say <"$dir/out"
	check "refused: $1" "$(both "$(is "$status" = "${3:-1}")" \
		"$(grep -c -m 1 "$1" "$dir/out" || true)")"
}
cp "$probed" "$dir/stripped"
strip "$dir/stripped"
refused "has no function 'nowhere'" "$probed:nowhere:trace=ptr@0"
refused "is stripped" "$dir/stripped:work_on_bytes:trace=ptr@0"
refused "has no USDT probe" "$probed:usdt:weft_test:nowhere:trace=ptr@0"
refused "cannot read './cat'" "cat:work_on_bytes:trace=ptr@0"
refused "cannot read" "$dir/absent:main:trace=ptr@0"
refused "is no ELF file" "$dir/out:main:trace=ptr@0"
mkfifo "$dir/pipe"
refused "it is no file" "$dir/pipe:main:trace=ptr@0"
refused "it is no file" "$dir/pipe:usdt:weft_test:work_on:trace=ptr@0"
refused "takes BINARY:SYMBOL:MAP" "work_on_bytes" 2
for map in ptr@0 trace=ptr@6 trace=u64@0 trace=ptr@0,trace=ptr@1 hi=u64@0 \
	trace=ptr@0,hi=u64@1 trace=ptr "trace=ptr@0,"; do
	refused "MAP names arguments" "$probed:work_on_bytes:$map" 2
done

live_done
