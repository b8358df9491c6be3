# SPDX-License-Identifier: MIT
"""84-wall.py WEFT DB: ask weft where the time of each request went that lies in
the recording, from when contexts are known. Prints how many there are, of how
many the rest is within 1 %, what the rests of all are in % of their time, and
then those that are not, one a line: trace ID, wall time, rest."""
import json
import sqlite3
import subprocess
import sys

weft, path = sys.argv[1:3]
db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
requests = db.execute("""
    SELECT trace_id FROM requests
    WHERE spans > 0
      AND start_ns > (SELECT min(s.time_ns + i.clock_offset_ns)
            FROM sample s JOIN interval i ON i.id = s.interval_id
           WHERE s.trace IS NOT NULL)
      AND start_ns + duration_ns < (
          SELECT max(end_ns + clock_offset_ns) FROM interval)""").fetchall()
walls = {}
for (trace_id,) in requests:
    told = subprocess.run([weft, "trace", "-i", path, "--json", trace_id],
                          check=True, capture_output=True)
    walls[trace_id] = json.loads(told.stdout)["wall"]
off = {t: w for t, w in walls.items()
       if abs(w["rest_ns"]) > w["wall_ns"] / 100}
print(len(walls), len(walls) - len(off), "%.2f" % (
    100 * sum(w["rest_ns"] for w in walls.values())
    / max(1, sum(w["wall_ns"] for w in walls.values()))))
for trace_id, w in off.items():
    print(trace_id, int(w["wall_ns"]), int(w["rest_ns"]))
