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
