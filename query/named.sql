-- Questions that `weft sql @NAME` asks by name, without the ask_. The line
-- after the name is what --list prints. A parameter written :p must be given,
-- one written $p may be.

-- name: ask_recordings
-- What does the file hold, and when was it recorded?
SELECT r.id, strftime('%Y-%m-%dT%H:%M:%SZ', r.started_ns / 1000000000,
                      'unixepoch') AS started,
       (r.ended_ns - r.started_ns) / 1e9 AS seconds, r.host, r.kernel, r.cpus,
       r.detail_n, count(i.id) AS intervals, r.command
FROM recording r LEFT JOIN interval i ON i.recording_id = r.id
GROUP BY r.id ORDER BY r.id;

-- name: ask_events
-- What was sampled, and how often did it count?
SELECT e.recording_id AS recording, e.name AS event, e.unit, e.requested_hz,
       ifnull(sum(t.count), 0) AS count, ifnull(sum(t.value), 0) AS value
FROM event e LEFT JOIN stack_total t ON t.event_id = e.id
GROUP BY e.id ORDER BY e.id;

-- name: ask_hot_stacks
-- Which stacks have most samples? ($n rows, default 20)
SELECT event, count, round(100 * share, 2) AS percent, folded
FROM hot_stacks LIMIT ifnull($n, 20);

-- name: ask_hot_functions
-- Which functions have most samples? ($n rows, default 20)
SELECT event, self, total, round(100 * self_share, 2) AS self_percent,
       round(100 * total_share, 2) AS total_percent, function, binary
FROM hot_functions LIMIT ifnull($n, 20);

-- name: ask_callers
-- From where is a function called? (:function as the reports print it)
SELECT up.frame_id, f.name AS caller, f.binary, sum(t.count) AS count
FROM stack_total t
JOIN stack_frame leaf ON leaf.stack_id = t.stack_id
JOIN frame_text me ON me.frame_id = leaf.frame_id AND me.name = :function
JOIN stack_frame up ON up.stack_id = t.stack_id
  AND up.position = leaf.position + 1
JOIN frame_text f ON f.frame_id = up.frame_id
GROUP BY up.frame_id ORDER BY sum(t.count) DESC;

-- name: ask_attribute
-- Which values of an attribute took most time? (:key = as http.route; $n rows)
SELECT e.name AS event, a.value, count(*) AS samples,
       sum(s.weight * s.value) AS estimate, e.unit
FROM sample_attribute a JOIN sample s ON s.id = a.sample_id
JOIN event e ON e.id = s.event_id
WHERE a.key = :key
GROUP BY e.id, a.value
ORDER BY e.id, sum(s.weight * s.value) DESC LIMIT ifnull($n, 20);

-- name: ask_slowest_traces
-- Which requests lasted longest, from first to last sample? ($n rows)
SELECT hex AS trace_id, (last_ns - first_ns) / 1e6 AS extent_ms, samples,
       value_sum / 1e6 AS estimate_ms
FROM trace ORDER BY last_ns - first_ns DESC LIMIT ifnull($n, 20);

-- name: ask_trace_samples
-- What did one request do, sample by sample? (:trace = its whole ID)
SELECT time_ns, pid, tid, thread_comm, span_id, weight, leaf
FROM samples WHERE trace_id = :trace ORDER BY time_ns, sample_id;

-- name: ask_stack_traces
-- Which requests were on a stack? (:stack = its stack_id)
SELECT trace_id, event, samples, count AS estimate
FROM stack_traces WHERE stack_id = :stack ORDER BY samples DESC, trace_id;

-- name: ask_intervals
-- How did losses and our own cost go over time?
SELECT i.id, (i.end_ns - i.start_ns) / 1e6 AS length_ms,
       i.self_cpu_ns / 1e6 AS self_cpu_ms, i.self_rss_bytes,
       sum(iif(l.entry = 'counted', l.count, 0)) AS counted,
       sum(iif(l.entry LIKE 'lost%', l.count, 0)) AS lost
FROM interval i LEFT JOIN ledger l ON l.interval_id = i.id
GROUP BY i.id ORDER BY i.id;

-- name: ask_processes
-- Which processes were seen, and how much did they use?
SELECT p.pid, p.comm, p.service, p.exe, p.cgroup, e.name AS event,
       sum(t.count) AS count, sum(t.value) AS value
FROM stack_total t
JOIN process p ON p.id = t.process_id JOIN event e ON e.id = t.event_id
GROUP BY p.id, e.id ORDER BY sum(t.count) DESC;

-- name: ask_unnamed
-- Which binaries have frames without a name?
SELECT b.path, b.kind, b.build_id, count(*) AS frames
FROM frame f JOIN binary b ON b.id = f.binary_id
WHERE NOT EXISTS (SELECT 1 FROM frame_function n WHERE n.frame_id = f.id)
GROUP BY b.id ORDER BY frames DESC;

-- name: ask_contexts
-- How did reading the trace context of samples end?
SELECT event, entry, count FROM ledger_total
WHERE entry LIKE 'context%' ORDER BY event, count DESC;
