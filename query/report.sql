-- name: report_traces
-- Traces whose ID begins so: ?1 <= ID < ?2.
SELECT id, hex FROM trace WHERE hex >= ?1 AND hex < ?2 ORDER BY hex LIMIT 6;
