-- weft trace. ?1 event, ?2 to ?3 intervals, ?5 the trace.

-- name: trace_processes
SELECT p.pid, p.comm, p.service, count(*), count(DISTINCT s.thread_id),
       min(s.time_ns), max(s.time_ns)
FROM sample s
LEFT JOIN thread th ON th.id = s.thread_id
LEFT JOIN process p ON p.id = th.process_id
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
GROUP BY p.id ORDER BY count(*) DESC, p.pid;

-- name: trace_everyone
-- All samples of an event, where the ledger does not say how many.
SELECT CAST(total(count) AS INTEGER), CAST(total(value) AS INTEGER)
FROM stack_total WHERE event_id = ?1;

-- name: trace_everyone_on
-- Those on the stack ?6.
SELECT count, value FROM stack_total WHERE event_id = ?1 AND stack_id = ?6;

-- name: trace_route
-- What requests like it have in common: ?1 the trace.
SELECT attributes ->> '$."http.route"' FROM span
WHERE trace = ?1 AND json_valid(attributes)
  AND attributes ->> '$."http.route"' IS NOT NULL
ORDER BY start_ns, span_id LIMIT 1;
