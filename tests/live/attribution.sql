-- SPDX-License-Identifier: MIT
--
-- Compare the samples of a recording with the truth that the demo service
-- wrote (truth.tsv in the working directory). Read by the sqlite3 shell with
-- the recording open read-only; prints one "figure<TAB>number" a line.

CREATE TEMP TABLE truth (
  trace_id TEXT, route TEXT, cost INTEGER, tid INTEGER,
  start_ns INTEGER, end_ns INTEGER, cpu_ns INTEGER
);
.mode tabs
.import --schema temp --skip 1 truth.tsv truth
CREATE INDEX temp.truth_busy ON truth (tid, start_ns);
CREATE INDEX temp.truth_trace ON truth (trace_id);

-- Functions of a route carry its name; those of zlib and OpenSSL do not say
-- whose they are, so a stack counts only where a function of ours is on it.
CREATE TEMP TABLE stack_route AS
SELECT x.stack_id, r.route
  FROM stack_text x
  JOIN (SELECT DISTINCT route FROM truth) r
    ON ';' || x.folded GLOB '*;' || r.route || '_*';
CREATE INDEX temp.stack_route_stack ON stack_route (stack_id);

-- What the workers were sampled at, with the last request begun before it.
CREATE TEMP TABLE worker_sample AS
SELECT s.trace_id, s.context_status, s.time_ns,
       (SELECT k.route FROM stack_route k WHERE k.stack_id = s.stack_id)
         AS route,
       (SELECT t.rowid FROM truth t
         WHERE t.tid = s.tid AND t.start_ns <= s.time_ns
         ORDER BY t.start_ns DESC LIMIT 1) AS request
  FROM samples s
 WHERE s.tid IN (SELECT tid FROM truth);

CREATE TEMP TABLE judged AS
SELECT w.trace_id, w.context_status, w.route,
       (SELECT t.route FROM truth t WHERE t.trace_id = w.trace_id)
         AS trace_route,
       iif(w.time_ns <= b.end_ns AND b.trace_id <> '', b.trace_id, NULL)
         AS busy_with
  FROM worker_sample w LEFT JOIN truth b ON b.rowid = w.request;

SELECT 'requests', count(*) FROM truth;
SELECT 'worker_samples', count(*) FROM judged;

-- in the code of a route
SELECT 'route_samples', count(*) FROM judged WHERE route IS NOT NULL;
SELECT 'route_wrong', count(*) FROM judged WHERE route <> trace_route;
SELECT 'route_unknown_trace', count(*) FROM judged
 WHERE route IS NOT NULL AND trace_id IS NOT NULL AND trace_route IS NULL;
SELECT 'route_no_trace', count(*) FROM judged
 WHERE route IS NOT NULL AND trace_id IS NULL;

-- in the time of a request, on its worker
SELECT 'busy', count(*) FROM judged WHERE busy_with IS NOT NULL;
SELECT 'busy_own', count(*) FROM judged WHERE trace_id = busy_with;
SELECT 'busy_other', count(*) FROM judged WHERE trace_id <> busy_with;
SELECT 'busy_none_' || context_status, count(*) FROM judged
 WHERE busy_with IS NOT NULL AND trace_id IS NULL GROUP BY context_status;

-- between requests
SELECT 'idle_with_trace', count(*) FROM judged
 WHERE busy_with IS NULL AND trace_id IS NOT NULL;
