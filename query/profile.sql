-- What is exported. ?1 event, ?2 to ?3 intervals, ?4 a pid or NULL, ?5 a
-- trace. Columns: process id, pid, comm, exe, service, stack, count, value; of
-- detail also weight, tid, thread, CPU, Unix time, trace ID, span ID.

-- name: profile_shape_whole
SELECT t.process_id, p.pid, p.comm, p.exe, p.service, t.stack_id, t.count,
       t.value
FROM stack_total t LEFT JOIN process p ON p.id = t.process_id
WHERE t.event_id = ?1 AND t.count > 0 AND (?4 IS NULL OR p.pid = ?4)
ORDER BY t.process_id, t.stack_id;

-- name: profile_shape_part
SELECT t.process_id, p.pid, p.comm, p.exe, p.service, t.stack_id, t.count,
       t.value
FROM (SELECT process_id, stack_id, sum(count) AS count, sum(value) AS value
        FROM stack_count
       WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
       GROUP BY process_id, stack_id) t
LEFT JOIN process p ON p.id = t.process_id
WHERE t.count > 0 AND (?4 IS NULL OR p.pid = ?4)
ORDER BY t.process_id, t.stack_id;

-- name: profile_detail_stack
SELECT th.process_id, p.pid, p.comm, p.exe, p.service, s.stack_id, 1, s.value,
       s.weight, th.tid, th.comm, s.cpu, s.time_ns + i.clock_offset_ns,
       t.trace_id, s.span_id
FROM sample s
LEFT JOIN interval i ON i.id = s.interval_id
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN trace t ON t.id = s.trace
WHERE s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR p.pid = ?4)
ORDER BY th.process_id, s.thread_id, s.stack_id, s.trace, s.span_id, s.time_ns,
         s.id;

-- name: profile_detail_time
SELECT th.process_id, p.pid, p.comm, p.exe, p.service, s.stack_id, 1, s.value,
       s.weight, th.tid, th.comm, s.cpu, s.time_ns + i.clock_offset_ns,
       t.trace_id, s.span_id
FROM sample s
LEFT JOIN interval i ON i.id = s.interval_id
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN trace t ON t.id = s.trace
WHERE s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR p.pid = ?4)
ORDER BY s.time_ns, s.id;

-- name: profile_trace_stack
-- Those of one trace, which it seeks.
SELECT th.process_id, p.pid, p.comm, p.exe, p.service, s.stack_id, 1, s.value,
       s.weight, th.tid, th.comm, s.cpu, s.time_ns + i.clock_offset_ns,
       t.trace_id, s.span_id
FROM sample s
LEFT JOIN interval i ON i.id = s.interval_id
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN trace t ON t.id = s.trace
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR p.pid = ?4)
ORDER BY th.process_id, s.thread_id, s.stack_id, s.span_id, s.time_ns, s.id;

-- name: profile_trace_time
SELECT th.process_id, p.pid, p.comm, p.exe, p.service, s.stack_id, 1, s.value,
       s.weight, th.tid, th.comm, s.cpu, s.time_ns + i.clock_offset_ns,
       t.trace_id, s.span_id
FROM sample s
LEFT JOIN interval i ON i.id = s.interval_id
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN trace t ON t.id = s.trace
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR p.pid = ?4)
ORDER BY s.time_ns, s.id;

-- name: profile_any_shape
SELECT EXISTS (
  SELECT 1 FROM stack_count
   WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3 AND count > 0
     AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4)));

-- name: profile_any_detail
SELECT EXISTS (
  SELECT 1 FROM sample s
   WHERE s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
     AND (?4 IS NULL OR s.thread_id IN (
       SELECT t.id FROM thread t JOIN process p ON p.id = t.process_id
        WHERE p.pid = ?4)));

-- name: profile_any_trace
SELECT EXISTS (
  SELECT 1 FROM sample s
   WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
     AND (?4 IS NULL OR s.thread_id IN (
       SELECT t.id FROM thread t JOIN process p ON p.id = t.process_id
        WHERE p.pid = ?4)));
