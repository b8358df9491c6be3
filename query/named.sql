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
FROM trace WHERE samples > 0
ORDER BY last_ns - first_ns DESC LIMIT ifnull($n, 20);

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

-- name: ask_on_function
-- Which requests were on a function? (:function as the reports print it; $n rows)
WITH place AS MATERIALIZED (
  SELECT f.id AS frame_id
  FROM function n
  JOIN frame_function ff ON ff.function_id = n.id
  JOIN frame f ON f.id = ff.frame_id
  WHERE n.name IN (:function, substr(:function, 1, length(:function) - 4))
    AND n.name || iif(f.in_kernel, '_[k]', '') = :function),
on_it AS MATERIALIZED (
  SELECT k.id AS stack_id FROM stack k
  WHERE EXISTS (
    SELECT 1 FROM stack_frame up
    WHERE up.stack_id = k.id AND up.frame_id IN (SELECT frame_id FROM place)))
SELECT t.hex AS trace_id, e.name AS event, count(*) AS samples,
       t.samples AS of_samples, sum(s.weight * s.value) AS estimate, e.unit
FROM on_it CROSS JOIN sample s ON s.stack_id = on_it.stack_id
CROSS JOIN trace t ON t.id = s.trace
CROSS JOIN event e ON e.id = s.event_id
GROUP BY t.id, e.id ORDER BY samples DESC, trace_id LIMIT ifnull($n, 20);

-- name: ask_before
-- What ran on a thread just before a sample? (:sample = its sample_id; $n rows, $ms = how far back, default 1000)
SELECT (s.time_ns - me.time_ns) / 1e6 AS at_ms, s.id AS sample_id,
       (SELECT hex FROM trace WHERE id = s.trace) AS trace_id,
       (SELECT name FROM event WHERE id = s.event_id) AS event,
       (SELECT x.leaf FROM samples x WHERE x.sample_id = s.id) AS leaf
FROM sample me CROSS JOIN sample s
  ON s.time_ns BETWEEN me.time_ns - ifnull($ms, 1000) * 1000000 AND me.time_ns
WHERE me.id = :sample AND s.thread_id = me.thread_id AND s.id <> me.id
ORDER BY s.time_ns DESC, s.id DESC LIMIT ifnull($n, 20);

-- name: ask_around
-- What ran on each CPU around a moment? (:unix_ns; $ms before and after, default 10)
SELECT (s.time_ns + i.clock_offset_ns - :unix_ns) / 1e6 AS at_ms, s.cpu,
       p.pid, th.tid, th.comm AS thread_comm,
       (SELECT hex FROM trace WHERE id = s.trace) AS trace_id,
       (SELECT name FROM event WHERE id = s.event_id) AS event,
       (SELECT x.leaf FROM samples x WHERE x.sample_id = s.id) AS leaf
FROM interval i CROSS JOIN sample s
  ON s.time_ns BETWEEN :unix_ns - i.clock_offset_ns - ifnull($ms, 10) * 1000000
                   AND :unix_ns - i.clock_offset_ns + ifnull($ms, 10) * 1000000
 AND +s.interval_id = i.id
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
WHERE i.start_ns + i.clock_offset_ns <= :unix_ns + ifnull($ms, 10) * 1000000
  AND i.end_ns + i.clock_offset_ns >= :unix_ns - ifnull($ms, 10) * 1000000
ORDER BY s.cpu, s.time_ns, s.id;

-- name: ask_only_slow
-- Which stacks occur only in the slowest requests? ($percent of them, default 10; $n rows)
WITH lasted AS MATERIALIZED (
  -- rank(): what ties with the last of the slow is slow, too
  SELECT t.id AS trace, rank() OVER (ORDER BY ifnull(
           (SELECT max(s.end_ns) - min(s.start_ns) FROM span s
             WHERE s.trace = t.id),
           t.last_ns - t.first_ns) DESC) AS place
  FROM trace t WHERE t.samples > 0),
slow AS MATERIALIZED (
  SELECT trace FROM lasted
  WHERE place <= max(1, (SELECT count(*) FROM lasted)
                        * ifnull($percent, 10) / 100)),
seen AS MATERIALIZED (
  SELECT s.event_id, s.stack_id, count(*) AS samples,
         count(DISTINCT s.trace) AS requests,
         sum(s.weight * s.value) AS estimate
  FROM sample s WHERE s.trace IS NOT NULL
  GROUP BY s.event_id, s.stack_id
  HAVING min(s.trace IN (SELECT trace FROM slow)))
SELECT e.name AS event, seen.requests, (SELECT count(*) FROM slow) AS of_slow,
       seen.samples, seen.estimate, e.unit, seen.stack_id,
       (SELECT x.folded FROM stack_text x WHERE x.stack_id = seen.stack_id)
         AS folded
FROM seen JOIN event e ON e.id = seen.event_id
ORDER BY seen.requests DESC, seen.samples DESC, seen.stack_id
LIMIT ifnull($n, 20);

-- name: ask_shared_cpu
-- Which requests shared a CPU with one, while it ran there? (:trace = its whole ID; $n rows)
WITH mine AS MATERIALIZED (
  SELECT t.id AS trace, s.cpu, min(s.time_ns) AS from_ns,
         max(s.time_ns) AS to_ns
  FROM trace t JOIN sample s ON s.trace = t.id
  WHERE t.hex = :trace GROUP BY s.cpu)
SELECT t.hex AS trace_id, group_concat(DISTINCT s.cpu) AS cpus,
       e.name AS event, count(*) AS samples,
       sum(s.weight * s.value) AS estimate, e.unit
FROM mine m CROSS JOIN sample s
  ON s.time_ns BETWEEN m.from_ns AND m.to_ns
 AND s.cpu = m.cpu AND s.trace <> m.trace
CROSS JOIN trace t ON t.id = s.trace
CROSS JOIN event e ON e.id = s.event_id
GROUP BY t.id, e.id ORDER BY samples DESC, trace_id LIMIT ifnull($n, 20);

-- name: ask_share
-- How sure is the share of a function? (:function as the reports print it; 95 %, of this recording)
WITH RECURSIVE on_it AS MATERIALIZED (
  -- each stack once, though two binaries on it may have the name
  SELECT stack_id, max(is_self) AS is_self FROM stack_function
  WHERE function = :function GROUP BY stack_id),
counted AS MATERIALIZED (
  SELECT e.id AS event_id, e.name AS event, sum(t.count) AS n,
         sum(iif(o.is_self, t.count, 0)) AS self,
         sum(iif(o.stack_id IS NULL, 0, t.count)) AS total
  FROM event e JOIN stack_total t ON t.event_id = e.id
  LEFT JOIN on_it o ON o.stack_id = t.stack_id GROUP BY e.id),
asked(event_id, event, what, k, n) AS MATERIALIZED (
  SELECT event_id, event, 'self', self, n FROM counted WHERE n > 0
  UNION ALL
  SELECT event_id, event, 'total', total, n FROM counted WHERE n > 0),
-- Newton's steps find the roots that not every SQLite has: of Wilson's
-- interval (w) and of the Poisson limits of k and of n - k (a, b)
root(event_id, event, what, k, n, z, wx, w, a, b, step) AS (
  SELECT event_id, event, what, k, n, 1.959963984540054,
         k * (1 - k * 1.0 / n) + 0.9603647051735314, 1.0 + k, 1.0 + k,
         1.0 + n - k, 0
  FROM asked
  UNION ALL
  SELECT event_id, event, what, k, n, z, wx, (w + wx / w) / 2,
         (a + k / a) / 2, (b + (n - k) / b) / 2, step + 1
  FROM root WHERE step < 64),
limits AS (
  SELECT event_id, event, what, k, n,
         iif(k = 0, 0, (k + z * z / 2 - z * w) / (n + z * z)) AS low,
         iif(k = n, 1, (k + z * z / 2 + z * w) / (n + z * z)) AS high,
         max(0, 1 - 1 / (9.0 * max(k, 1)) - z / (3 * a)) AS low_cube,
         max(0, 1 - 1 / (9.0 * max(n - k, 1)) - z / (3 * b)) AS high_cube
  FROM root WHERE step = 64)
SELECT event, what, k AS samples, n AS of_samples,
       100.0 * k / n AS percent,
       100 * CASE
         WHEN k BETWEEN 1 AND 5 AND k < n
           THEN min(low, CASE k WHEN 1 THEN 0 WHEN 2 THEN 0.0504
                           WHEN 3 THEN 0.4083 WHEN 4 THEN 0.9333
                           ELSE 1.52 END / n)
         WHEN k BETWEEN 6 AND 9 AND k < n
           THEN min(low, k * low_cube * low_cube * low_cube / n)
         ELSE low END AS low_percent,
       100 * CASE
         WHEN n - k BETWEEN 1 AND 9 AND k > 0
           THEN max(high, 1 - (n - k) * high_cube * high_cube * high_cube / n)
         ELSE high END AS high_percent
FROM limits ORDER BY event_id, what;

-- name: ask_cost
-- What did the profiler itself cost? (kernel: NULL unless recorded with --self-cost)
SELECT r.id AS recording, sum(i.end_ns - i.start_ns) / 1e9 AS seconds,
       sum(i.self_cpu_ns) / 1e6 AS collector_cpu_ms,
       100.0 * sum(i.self_cpu_ns)
         / (sum(i.end_ns - i.start_ns) * r.cpus) AS collector_percent,
       max(i.self_rss_bytes) AS most_memory_bytes,
       sum(i.bpf_run_ns) / 1e6 AS kernel_cpu_ms,
       100.0 * sum(i.bpf_run_ns)
         / (sum(i.end_ns - i.start_ns) * r.cpus) AS kernel_percent,
       sum(i.bpf_run_ns) * 1.0 / nullif(sum(i.bpf_run_count), 0)
         AS kernel_ns_per_run
FROM recording r JOIN interval i ON i.recording_id = r.id
GROUP BY r.id ORDER BY r.id;

-- name: ask_losses
-- What was lost, and how much of all is that?
WITH kind(entry, whole) AS (VALUES
  ('not_run', 'due'), ('lost_counts_full', 'fired'), ('lost_busy', 'fired'),
  ('lost_counts_discarded', 'counted'), ('stack_lost', 'counted'),
  ('truncated', 'counted'), ('broken', 'counted'),
  ('lost_ring_full', 'selected'), ('lost_ring_busy', 'selected'),
  ('lost_discarded', 'selected'))
SELECT l.recording_id AS recording, l.event, l.entry, l.count,
       kind.whole AS of_what, w.count AS of_count,
       100.0 * l.count / nullif(w.count, 0) AS percent
FROM ledger_total l
JOIN kind ON kind.entry = l.entry
JOIN ledger_total w ON w.event_id = l.event_id AND w.entry = kind.whole
WHERE l.count > 0 ORDER BY l.event_id, l.count DESC, l.entry;

-- name: ask_trace_functions
-- Which functions was one request in? (:trace = its whole ID; $n rows)
SELECT event, function, self_samples, total_samples, self_value AS
         self_estimate, total_value AS total_estimate, unit
FROM trace_profile WHERE trace_id = :trace
ORDER BY event, self_samples DESC, total_samples DESC, function
LIMIT ifnull($n, 20);

-- name: ask_trace_gaps
-- For how long had a request no sample, and between what? (:trace = its whole ID; $n rows)
SELECT (time_ns - first_ns) / 1e6 AS at_ms, (time_ns - previous_ns) / 1e6
         AS gap_ms, (SELECT tid FROM thread WHERE id = thread_id) AS tid,
       (SELECT leaf FROM samples WHERE sample_id = previous_id) AS before,
       (SELECT leaf FROM samples WHERE sample_id = id) AS after
FROM (
  SELECT s.id, s.thread_id, s.time_ns, t.first_ns,
         lag(s.id) OVER thread AS previous_id,
         lag(s.time_ns) OVER thread AS previous_ns
  FROM trace t JOIN sample s ON s.trace = t.id
  WHERE t.hex = :trace
  WINDOW thread AS (PARTITION BY s.thread_id, s.event_id
                    ORDER BY s.time_ns, s.id))
WHERE previous_id IS NOT NULL
ORDER BY gap_ms DESC, at_ms LIMIT ifnull($n, 20);

-- name: ask_trace_threads
-- Which threads worked on a request, and when? (:trace = its whole ID)
SELECT p.pid, th.tid, p.comm, th.comm AS thread_comm, e.name AS event,
       count(*) AS samples, sum(s.weight * s.value) AS estimate, e.unit,
       (min(s.time_ns) - t.first_ns) / 1e6 AS from_ms,
       (max(s.time_ns) - t.first_ns) / 1e6 AS to_ms,
       group_concat(DISTINCT s.cpu) AS cpus
FROM trace t JOIN sample s ON s.trace = t.id
JOIN event e ON e.id = s.event_id
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
WHERE t.hex = :trace
GROUP BY s.thread_id, s.event_id ORDER BY from_ms, th.tid;

-- name: ask_routes
-- Which routes took most CPU time, and how long do their requests last? (needs spans)
SELECT service, route, requests, with_samples, errors, cpu_ns / 1e6 AS cpu_ms,
       mean_cpu_ns / 1e6 AS mean_cpu_ms, mean_duration_ns / 1e6
         AS mean_duration_ms, max_duration_ns / 1e6 AS max_duration_ms
FROM requests_by_route;

-- name: ask_failed
-- Which requests failed, and what did they use? (needs spans; $n rows)
SELECT trace_id, service, name, duration_ns / 1e6 AS duration_ms, samples,
       cpu_ns / 1e6 AS cpu_ms
FROM requests WHERE status = 'error'
ORDER BY cpu_ns DESC, trace_id LIMIT ifnull($n, 20);

-- name: ask_off_cpu
-- Where were threads blocked, or waiting for a CPU, for longest? ($n rows; needs -e off-cpu, run-queue or wall)
SELECT event, count AS times, value / 1e6 AS total_ms,
       value / 1e6 / count AS mean_ms, folded
FROM hot_stacks WHERE event IN ('off-cpu', 'run-queue')
ORDER BY value DESC LIMIT ifnull($n, 20);

-- name: ask_kernel
-- How much of each process was in the kernel? ($n rows)
SELECT e.name AS event, p.pid, p.comm, sum(t.count) AS count,
       sum(iif(f.in_kernel, t.count, 0)) AS in_kernel,
       100.0 * sum(iif(f.in_kernel, t.count, 0)) / sum(t.count) AS percent
FROM stack_total t
JOIN event e ON e.id = t.event_id
JOIN process p ON p.id = t.process_id
LEFT JOIN stack_node n ON n.id = t.stack_id
LEFT JOIN frame f ON f.id = n.frame_id
GROUP BY e.id, p.id ORDER BY e.id, in_kernel DESC, p.pid
LIMIT ifnull($n, 20);

-- name: ask_untraced
-- Which processes have samples without a trace ID, and why? ($n rows)
SELECT p.pid, p.comm, p.service, w.word AS why, count(*) AS samples
FROM sample s
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN context_status_word w ON w.id = s.context_status
WHERE s.trace IS NULL
GROUP BY p.id, s.context_status ORDER BY samples DESC, p.pid
LIMIT ifnull($n, 20);
