-- The samples of one of the requests that are pooled. ?1 event, ?2 to ?3
-- intervals, ?4 a pid or NULL, ?5 the trace.

-- name: pool_samples
SELECT s.stack_id, s.interval_id, s.weight, s.value, s.thread_id, th.process_id
FROM sample s LEFT JOIN thread th ON th.id = s.thread_id
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR th.process_id IN (SELECT id FROM process WHERE pid = ?4));

-- name: pool_samples_by_time
SELECT s.stack_id, s.interval_id, s.weight, s.value, s.thread_id, th.process_id
FROM temp.time_sample s LEFT JOIN thread th ON th.id = s.thread_id
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR th.process_id IN (SELECT id FROM process WHERE pid = ?4));

-- name: pool_process
-- Columns as top_thread, key as there.
SELECT id, pid, NULL, comm, service, exe FROM process WHERE id = ?5;
