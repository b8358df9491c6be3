#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Of a program that does the same over and over, any two stretches are alike:
# weft diff must not report a difference, but for 1 time in 20.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
pairs=${SAME_PAIRS:-42}

# Rounds of some 30 ms, on other data each time; samples come in runs.
cat >"$dir/loop.py" <<'END'
import hashlib, json, random, re, sys, time, zlib
rng = random.Random(1)
words = [bytes(rng.choices(b"abcdefgh", k=rng.randint(2, 9))).decode()
         for _ in range(4000)]
rounds, end = 0, None

def squeeze(text):
    return zlib.compress(text.encode(), 6)

def count(text):
    return len(re.findall(r"a[b-d]+e?", text))

def order(some):
    return sorted(some, key=lambda w: w[::-1])

while end is None or time.monotonic() < end:
    rounds += 1
    if rounds == 200:  # all that is done once has been done
        print(time.time(), flush=True)
        end = time.monotonic() + float(sys.argv[1])
    some = rng.sample(words, 2000)
    text = " ".join(some)
    squeeze(text)
    count(text)
    order(some)
    json.loads(json.dumps({w: i for i, w in enumerate(some)}))
    for w in some:
        hashlib.sha256(w.encode()).digest()
END

# A pair is four seconds, two against the next two, in 20 blocks each.
"$weft" record -q -F 997 --detail off --interval 0.1 -o "$dir/loop.db" -- \
	/usr/bin/python3 "$dir/loop.py" $((4 * pairs + 1)) >"$dir/warm" \
	2>"$dir/log" || say <"$dir/log"
check_ledger "$dir/loop.db"
warm=$(sql "$dir/loop.db" "SELECT CAST($(cat "$dir/warm") + 1
	- min(start_ns + clock_offset_ns) / 1e9 AS INTEGER) FROM interval")
i=0
while [ $i -lt "$pairs" ]; do
	start=$((warm + 4 * i))
	"$weft" diff "$dir/loop.db" --since "+$start.1" \
		--until "+$((start + 3)).9" --after "+$((start + 2))" --json -n 0 \
		>"$dir/pair$i.json"
	i=$((i + 1))
done
python3 - "$pairs" "$dir" >"$dir/found" <<'END'
import json, sys
pairs, found, tested, least = int(sys.argv[1]), [], 0, []
for i in range(pairs):
    j = json.load(open("%s/pair%d.json" % (sys.argv[2], i)))
    least.append(min(j["first"]["clusters"], j["second"]["clusters"]))
    tested += j["self_tested"] + j["total_tested"]
    found.append([r["function"] for r in j["self"] + j["total"] if r["differs"]])
print(sum(map(bool, found)), pairs, tested, min(least))
for i, names in enumerate(found):
    if names:
        print("pair", i, *names[:5])
END
read -r wrong of tested blocks <"$dir/found"
sed 1d "$dir/found" | say
echo "$wrong of $of pairs report anything; $tested tests in all; at least \
$blocks blocks a side" | say
check "every pair could be compared" \
	"$(both "$(is "$tested" -ge $((20 * pairs)))" "$(is "$blocks" -ge 10)")"
check "at most 1 pair in 20 of the same program reports anything" \
	"$(is $((20 * wrong)) -le "$of")"
live_done
