#!/bin/sh
# SPDX-License-Identifier: MIT
#
# JIT code of a real virtual machine, node, has the names of its perf map.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
command -v node >/dev/null || live_skip "needs node"

cat >"$dir/hot.js" <<'JS'
function hotInner(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum += (Math.sqrt(i) * i) % 7;
	return sum;
}
const start = Date.now();
let sum = 0;
while (Date.now() - start < 3000)
	sum += hotInner(20000);
console.log(sum);
JS
cd "$dir" # node leaves a log where it runs
"$weft" record -q -o "$dir/node.db" -- node --perf-basic-prof "$dir/hot.js" \
	2>&1 | say
check_ledger "$dir/node.db"
"$weft" top -i "$dir/node.db" -n 5 2>&1 | say
check "most of its samples are in hotInner, by name" \
	"$(is "$(sql "$dir/node.db" "SELECT CAST(100 * total(total_share) AS INT)
		FROM (SELECT max(total_share) AS total_share FROM hot_functions
		WHERE function LIKE '%hotInner%')")" -ge 50)"
live_done
