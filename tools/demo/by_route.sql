-- SPDX-License-Identifier: MIT
--
-- Join the recording with the service's log by trace ID: CPU time by route,
-- as sampled and by the workers' own CPU clocks. Requests that were cut by
-- the begin or end of the recording are left out on both sides.
CREATE TEMP TABLE log (
  trace_id TEXT PRIMARY KEY, route TEXT, cost INTEGER, tid INTEGER,
  start_ns INTEGER, end_ns INTEGER, cpu_ns INTEGER
);
.mode tabs
.import --schema temp --skip 1 truth.tsv log

.mode column
WITH
  recorded AS (SELECT min(time_ns) AS first_ns, max(time_ns) AS last_ns
                 FROM samples),
  request AS (
    SELECT l.route, l.cpu_ns, ifnull(t.value_sum, 0) AS sampled_ns
      FROM recorded r
      JOIN log l ON l.start_ns > r.first_ns AND l.end_ns < r.last_ns
      LEFT JOIN trace t ON t.hex = l.trace_id)
SELECT route, count(*) AS requests,
       printf('%.2f', sum(sampled_ns) / 1e9) AS sampled_cpu_s,
       printf('%.2f', sum(cpu_ns) / 1e9) AS own_clock_cpu_s
  FROM request GROUP BY route ORDER BY sum(sampled_ns) DESC;
