# SPDX-License-Identifier: MIT
"""service-spans.py TRUTH DB: the demo service's own record of its requests as OTLP,
on the clock of a recording. Each has a root span, with the CPU time that the
worker measured itself, and below it one of its second half."""
import csv
import json
import sqlite3
import sys

db = sqlite3.connect("file:%s?mode=ro" % sys.argv[2], uri=True)
offset = db.execute("SELECT clock_offset_ns FROM interval ORDER BY id LIMIT 1"
                    ).fetchone()[0]


def span(trace, number, parent, name, start, end, cpu):
    return {"traceId": trace, "spanId": "%016x" % number,
            "parentSpanId": parent and "%016x" % parent or "", "name": name,
            "startTimeUnixNano": str(start + offset),
            "endTimeUnixNano": str(end + offset), "kind": 2,
            "attributes": [
                {"key": "http.route", "value": {"stringValue": "/" + name}},
                {"key": "cpu_ns", "value": {"intValue": str(cpu)}}]}


for row in csv.DictReader(open(sys.argv[1]), delimiter="\t"):
    if not row["trace_id"]:
        continue
    start, end = int(row["start_ns"]), int(row["end_ns"])
    middle = (start + end) // 2
    spans = [span(row["trace_id"], 1, 0, row["route"], start, end,
                  row["cpu_ns"]),
             span(row["trace_id"], 2, 1, "half", middle, end, 0)]
    print(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
