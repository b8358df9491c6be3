-- weft export. ?1 event, ?2 to ?3 intervals.

-- name: export_whole
SELECT p.comm, t.stack_id, t.count
FROM stack_total t LEFT JOIN process p ON p.id = t.process_id
WHERE t.event_id = ?1 AND t.count > 0;

-- name: export_part
SELECT p.comm, t.stack_id, t.count
FROM (SELECT process_id, stack_id, sum(count) AS count FROM stack_count
       WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
       GROUP BY process_id, stack_id) t
LEFT JOIN process p ON p.id = t.process_id
WHERE t.count > 0;
