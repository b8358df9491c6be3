-- weft top. ?1 event, ?2 to ?3 intervals, ?4 a pid or NULL, ?5 a trace.

-- name: top_stacks_whole
SELECT stack_id, count, value FROM stack_total
WHERE event_id = ?1 AND (?4 IS NULL OR process_id IN (
  SELECT id FROM process WHERE pid = ?4));

-- name: top_stacks_part
SELECT stack_id, sum(count), sum(value) FROM stack_count
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4))
GROUP BY stack_id;

-- name: top_stacks_value_whole
-- ?5 a value of the attribute that counts are told apart by.
SELECT stack_id, sum(count), sum(value) FROM stack_attribute_total
WHERE event_id = ?1
  AND attribute_id IN (SELECT a.id FROM shape_attribute a WHERE a.value = ?5)
  AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4))
GROUP BY stack_id;

-- name: top_stacks_value_part
SELECT stack_id, sum(count), sum(value) FROM stack_attribute_count
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
  AND attribute_id IN (SELECT a.id FROM shape_attribute a WHERE a.value = ?5)
  AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4))
GROUP BY stack_id;

-- name: top_attributes_whole
-- Value, key, count, value; what had none is what is missing to all counts.
WITH told(attribute_id, count, value) AS (
  SELECT attribute_id, sum(count), sum(value) FROM stack_attribute_total
  WHERE event_id = ?1
    AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4))
  GROUP BY attribute_id)
SELECT ifnull(a.value, '[other values]'), a.key, t.count, t.value
FROM told t JOIN shape_attribute a ON a.id = t.attribute_id
UNION ALL
SELECT '[none]', '',
  total(count) - (SELECT total(count) FROM told),
  total(value) - (SELECT total(value) FROM told)
FROM stack_total
WHERE event_id = ?1
  AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4));

-- name: top_attributes_part
WITH told(attribute_id, count, value) AS (
  SELECT attribute_id, sum(count), sum(value) FROM stack_attribute_count
  WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
    AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4))
  GROUP BY attribute_id)
SELECT ifnull(a.value, '[other values]'), a.key, t.count, t.value
FROM told t JOIN shape_attribute a ON a.id = t.attribute_id
UNION ALL
SELECT '[none]', '',
  total(count) - (SELECT total(count) FROM told),
  total(value) - (SELECT total(value) FROM told)
FROM stack_count
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4));

-- name: top_stacks_trace
SELECT s.stack_id, s.interval_id, count(*), sum(s.weight),
       sum(s.weight * s.weight), sum(s.weight * s.value)
FROM sample s
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR s.thread_id IN (
    SELECT t.id FROM thread t JOIN process p ON p.id = t.process_id
     WHERE p.pid = ?4))
GROUP BY s.stack_id, s.interval_id;

-- name: top_processes_whole
-- A process has a row for each way in which its stacks ended.
SELECT p.id, p.pid, NULL, p.comm, p.service, p.exe, t.count, t.value,
       t.status, t.ended
FROM (SELECT c.process_id, k.status, k.ended, sum(c.count) AS count,
             sum(c.value) AS value
        FROM stack_total c LEFT JOIN stack k ON k.id = c.stack_id
       WHERE c.event_id = ?1
       GROUP BY c.process_id, k.status, k.ended) t
LEFT JOIN process p ON p.id = t.process_id
WHERE ?4 IS NULL OR p.pid = ?4
ORDER BY t.process_id;

-- name: top_processes_part
SELECT p.id, p.pid, NULL, p.comm, p.service, p.exe, t.count, t.value,
       t.status, t.ended
FROM (SELECT c.process_id, k.status, k.ended, sum(c.count) AS count,
             sum(c.value) AS value
        FROM stack_count c LEFT JOIN stack k ON k.id = c.stack_id
       WHERE c.event_id = ?1 AND c.interval_id BETWEEN ?2 AND ?3
       GROUP BY c.process_id, k.status, k.ended) t
LEFT JOIN process p ON p.id = t.process_id
WHERE ?4 IS NULL OR p.pid = ?4
ORDER BY t.process_id;

-- name: top_samples
-- Samples one by one: summed in C, where it takes no sorting.
SELECT thread_id, interval_id, weight, value FROM sample
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3;

-- name: top_thread
-- Columns as the statements below: key, pid, tid, comm, service, exe.
SELECT t.id, p.pid, t.tid, t.comm, p.service, p.exe
FROM thread t LEFT JOIN process p ON p.id = t.process_id
WHERE t.id = ?5 AND (?4 IS NULL OR p.pid = ?4);

-- name: top_threads_trace
SELECT t.id, p.pid, t.tid, t.comm, p.service, p.exe,
       s.interval_id, s.count, s.weight, s.weight_sq, s.value
FROM (SELECT thread_id, interval_id, count(*) AS count,
             sum(weight) AS weight, sum(weight * weight) AS weight_sq,
             sum(weight * value) AS value
        FROM sample
       WHERE trace = ?5 AND event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
       GROUP BY thread_id, interval_id) s
LEFT JOIN thread t ON t.id = s.thread_id
LEFT JOIN process p ON p.id = t.process_id
WHERE ?4 IS NULL OR p.pid = ?4
ORDER BY t.id;

-- name: top_processes_trace
SELECT p.id, p.pid, NULL, p.comm, p.service, p.exe,
       s.interval_id, s.count, s.weight, s.weight_sq, s.value,
       k.status, k.ended
FROM (SELECT thread_id, interval_id, stack_id, count(*) AS count,
             sum(weight) AS weight, sum(weight * weight) AS weight_sq,
             sum(weight * value) AS value
        FROM sample
       WHERE trace = ?5 AND event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
       GROUP BY thread_id, interval_id, stack_id) s
LEFT JOIN stack k ON k.id = s.stack_id
LEFT JOIN thread t ON t.id = s.thread_id
LEFT JOIN process p ON p.id = t.process_id
WHERE ?4 IS NULL OR p.pid = ?4
ORDER BY p.id;
