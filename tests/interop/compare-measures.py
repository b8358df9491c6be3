# SPDX-License-Identifier: MIT
"""What bpftrace and weft measured in one run: compare-measures.py BASE [N],
of BASE.bt and BASE.json; N calls of each of two threads must have been
counted. One line per figure."""
import json
import sys

base = sys.argv[1]
theirs = {}
for line in open(base + ".bt"):
    if not line.startswith("{"):
        continue
    record = json.loads(line)
    if record["type"] in ("map", "hist", "stats"):
        for name, value in record["data"].items():
            theirs[name[1:]] = value
ours = {m["name"]: m for m in json.load(open(base + ".json"))["measures"]}


def tell(name, weft, bpftrace):
    word = "same" if weft == bpftrace and weft is not None else "DIFFERENT"
    print(word, name, json.dumps(weft), json.dumps(bpftrace))


def first(name):
    return ours[name]["keys"][0]


def histogram(name):
    """(lo, hi, count) of the buckets that have a count; theirs are told by
    the greatest value of a bucket."""
    weft = [(b.get("lo"), b["hi"] - 1 if "hi" in b else None, b["count"])
            for b in first(name)["buckets"]]
    bpftrace = [(b.get("min"), b.get("max"), b["count"])
                for b in theirs[name] if b["count"]]
    tell(name, weft, bpftrace)


if len(sys.argv) > 2:
    calls = int(sys.argv[2])
    by_tid = {str(k["key"][0]): k["count"] for k in ours["n"]["keys"]}
    tell("calls by thread", by_tid, theirs["n"])
    tell("calls made", sorted(by_tid.values()), [calls, calls])
    tell("calls in all", first("all")["count"], 2 * calls)
    tell("sum of all, known", first("all")["sum"], calls * (calls - 1))
    for what in ("sum", "min", "max"):
        tell(what, first("all")[what], theirs[what])
    tell("avg", first("all")["sum"] // first("all")["count"], theirs["avg"])
    tell("none lost", ours["all"]["events"]["fired"], 2 * calls)
    for name in ("powers", "steps", "returns"):
        histogram(name)
else:
    tell("calls by comm", {k["key"][0]: k["count"]
                           for k in ours["calls"]["keys"]}, theirs["calls"])
    histogram("sizes")
    tell("bytes by comm", {k["key"][0]: k["sum"]
                           for k in ours["bytes"]["keys"]}, theirs["bytes"])
