-- weft loss. ?1 event, ?2 to ?3 intervals.

-- name: loss_ledger
SELECT l.interval_id, n.name, l.count
FROM ledger_row l JOIN ledger_entry n ON n.id = l.entry_id
WHERE l.event_id = ?1 AND l.interval_id BETWEEN ?2 AND ?3
ORDER BY l.interval_id;

-- name: loss_shape
-- What was stored of shape, per interval.
SELECT interval_id, sum(count) FROM stack_count
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
GROUP BY interval_id ORDER BY interval_id;

-- name: loss_samples
-- What was stored of detail, sample by sample: GROUP BY would sort.
SELECT interval_id FROM sample
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3;

-- name: loss_due
-- What the timers say themselves, per interval.
SELECT interval_id, sum(due), sum(fired) FROM cpu_interval
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
GROUP BY interval_id ORDER BY interval_id;

-- name: loss_stacks_whole
-- What became of the stacks, process by process.
SELECT k.status, sum(t.count), k.ended, t.process_id, p.comm
FROM stack_total t
JOIN stack k ON k.id = t.stack_id
LEFT JOIN process p ON p.id = t.process_id
WHERE t.event_id = ?1
GROUP BY t.process_id, k.status, k.ended ORDER BY t.process_id;

-- name: loss_stacks_part
SELECT k.status, sum(t.count), k.ended, t.process_id, p.comm
FROM (SELECT process_id, stack_id, sum(count) AS count
        FROM stack_count
       WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
       GROUP BY process_id, stack_id) t
JOIN stack k ON k.id = t.stack_id
LEFT JOIN process p ON p.id = t.process_id
GROUP BY t.process_id, k.status, k.ended ORDER BY t.process_id;

-- name: loss_intervals
SELECT id, ?1 FROM interval WHERE id BETWEEN ?2 AND ?3 ORDER BY id;

-- name: loss_events
-- The events of a recording (?1).
SELECT name FROM event WHERE recording_id = ?1 ORDER BY id;

-- name: loss_health
-- How a recording (?1) fares: when it began and ended (Unix time), how long
-- its intervals are, how many there are, when the last ended (Unix time), the
-- CPU time that recording took, its memory at last.
SELECT r.started_ns, r.ended_ns, r.interval_ns, count(i.id),
       max(i.end_ns + i.clock_offset_ns), sum(i.self_cpu_ns),
       (SELECT self_rss_bytes FROM interval WHERE recording_id = ?1
         ORDER BY id DESC LIMIT 1)
FROM recording r LEFT JOIN interval i ON i.recording_id = r.id
WHERE r.id = ?1;
