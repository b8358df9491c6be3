-- weft hist. ?1 event, ?2 to ?3 intervals, ?4 a pid or NULL.

-- name: hist_intervals
SELECT i.start_ns, i.end_ns, ifnull(sum(c.count), 0), ifnull(sum(c.value), 0)
FROM interval i
LEFT JOIN stack_count c ON c.interval_id = i.id AND c.event_id = ?1
  AND (?4 IS NULL OR c.process_id IN (SELECT id FROM process WHERE pid = ?4))
WHERE i.id BETWEEN ?2 AND ?3
GROUP BY i.id ORDER BY i.id;

-- name: hist_lengths
SELECT s.interval_id, s.weight, s.value
FROM sample s
WHERE s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR s.thread_id IN (
    SELECT t.id FROM thread t JOIN process p ON p.id = t.process_id
     WHERE p.pid = ?4));
