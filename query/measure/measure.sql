-- Measures. ?1 a measure, or a recording; ?2 to ?3 its intervals.

-- name: measure_tables
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'metric';

-- name: measure_list
SELECT id, name, text, aggregate, unit, keys, key_1, key_2, key_3, key_4,
       linear_min, linear_max, linear_step, max_keys, probe
FROM metric WHERE recording_id = ?1 ORDER BY id;

-- name: measure_values
SELECT k.id, k.key_1, k.key_2, k.key_3, k.key_4, v.count, v.sum, v.min, v.max
FROM metric_key k JOIN metric_value v ON v.key_id = k.id
WHERE k.metric_id = ?1 AND v.interval_id BETWEEN ?2 AND ?3
ORDER BY k.id;

-- name: measure_buckets
SELECT b.key_id, b.bucket, sum(b.count)
FROM metric_key k JOIN metric_bucket b ON b.key_id = k.id
WHERE k.metric_id = ?1 AND b.interval_id BETWEEN ?2 AND ?3
GROUP BY b.key_id, b.bucket ORDER BY b.key_id, b.bucket;

-- name: measure_ends
SELECT sum(fired), sum(counted), sum(filtered), sum(not_met), sum(keys_full),
       sum(lost_busy), sum(unreadable), sum(entered), sum(no_entry),
       sum(no_return), sum(calls_full), sum(missed), sum(lost_discarded),
       sum(selected), sum(lost_exemplars)
FROM metric_interval WHERE metric_id = ?1 AND interval_id BETWEEN ?2 AND ?3;

-- name: measure_examples
-- ?4: requests first, then the highest; else the highest first.
SELECT x.key_id, x.bucket, x.value, x.time_ns + i.clock_offset_ns, p.pid,
       th.tid, th.comm, lower(hex(x.trace_id)), lower(hex(x.span_id)), x.stack_id,
       st.word
FROM metric_key k JOIN metric_exemplar x ON x.key_id = k.id
LEFT JOIN interval i ON i.id = x.interval_id
LEFT JOIN thread th ON th.id = x.thread_id
LEFT JOIN process p ON p.id = th.process_id
LEFT JOIN context_status_word st ON st.id = x.context_status
WHERE k.metric_id = ?1 AND x.interval_id BETWEEN ?2 AND ?3
ORDER BY x.key_id, x.bucket DESC, ?4 AND x.trace_id IS NULL, x.value DESC,
         x.time_ns;

-- name: measure_stack
-- ?1 a stack: its innermost ?2 frames, those of user code first.
SELECT f.folded, f.in_kernel FROM stack_frame s
JOIN frame_text f ON f.frame_id = s.frame_id
WHERE s.stack_id = ?1 ORDER BY f.in_kernel, s.position LIMIT ?2;
