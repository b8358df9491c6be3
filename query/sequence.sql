-- Samples in the order of time. ?1 event, ?2 to ?3 intervals, ?4 a trace or
-- ?5 to ?6 a stretch of boot time, ?7 a tid or NULL.

-- name: sequence_trace
SELECT s.time_ns, s.thread_id, s.stack_id, p.pid, th.tid, th.comm,
       lower(hex(s.span_id)), t.hex
FROM sample s
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN trace t ON t.id = s.trace
WHERE s.trace = ?4 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?7 IS NULL OR th.tid = ?7)
ORDER BY s.time_ns, s.id;

-- name: sequence_time
SELECT s.time_ns, s.thread_id, s.stack_id, p.pid, th.tid, th.comm,
       lower(hex(s.span_id)), t.hex
FROM sample s
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN trace t ON t.id = s.trace
WHERE s.time_ns BETWEEN ?5 AND ?6 AND s.event_id = ?1
  AND s.interval_id BETWEEN ?2 AND ?3
  AND (?7 IS NULL OR s.thread_id IN (SELECT id FROM thread WHERE tid = ?7))
ORDER BY s.time_ns, s.id;
