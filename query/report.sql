-- name: report_traces
-- Traces whose ID begins so: ?1 <= ID < ?2.
SELECT id, hex FROM trace WHERE hex >= ?1 AND hex < ?2 ORDER BY hex LIMIT 6;

-- name: report_trace_elsewhere
-- Where else a trace ?1 has samples: first of the event ?2.
SELECT e.recording_id, e.name, count(*)
FROM sample s JOIN event e ON e.id = s.event_id
WHERE s.trace = ?1 GROUP BY e.id
ORDER BY e.name <> ?2, e.recording_id DESC;
