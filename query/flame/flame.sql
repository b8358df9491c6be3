-- weft flame. ?1 event, ?2 to ?3 intervals, ?4 a pid or NULL, ?5 a trace.
-- Process name and stack come first.

-- name: flame_whole
SELECT p.comm, t.stack_id, t.count, t.value, k.status, k.ended
FROM stack_total t
LEFT JOIN process p ON p.id = t.process_id
LEFT JOIN stack k ON k.id = t.stack_id
WHERE t.event_id = ?1 AND t.count > 0 AND (?4 IS NULL OR p.pid = ?4);

-- name: flame_part
SELECT p.comm, t.stack_id, t.count, t.value, k.status, k.ended
FROM (SELECT process_id, stack_id, sum(count) AS count, sum(value) AS value
        FROM stack_count
       WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
       GROUP BY process_id, stack_id) t
LEFT JOIN process p ON p.id = t.process_id
LEFT JOIN stack k ON k.id = t.stack_id
WHERE t.count > 0 AND (?4 IS NULL OR p.pid = ?4);

-- name: flame_trace
SELECT p.comm, s.stack_id, s.interval_id, count(*), sum(s.weight),
       sum(s.weight * s.weight), sum(s.weight * s.value)
FROM sample s
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR p.pid = ?4)
GROUP BY p.comm, s.stack_id, s.interval_id;

-- name: flame_trace_by_time
-- The same of samples that are joined to it by time (by_time.h).
SELECT p.comm, s.stack_id, s.interval_id, count(*), sum(s.weight),
       sum(s.weight * s.weight), sum(s.weight * s.value)
FROM time_sample s
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR p.pid = ?4)
GROUP BY p.comm, s.stack_id, s.interval_id;
