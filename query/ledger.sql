-- Sums of the ledger over a range: ?1 event, ?2 to ?3 intervals.

-- name: ledger_names
SELECT id, name FROM ledger_entry ORDER BY id;

-- name: ledger_sums
-- Row by row, in the order of the file, so interval by interval: GROUP BY would
-- sort. Most are 0: of these the first and the last interval's say which entries
-- there are.
SELECT entry_id, count, interval_id FROM ledger_row
WHERE interval_id BETWEEN ?2 AND ?3 AND event_id = ?1
  AND (count IS NOT 0 OR interval_id = ?2 OR interval_id = ?3);

-- name: ledger_kept
-- Of these those that say what was selected for detail, and is or was kept.
SELECT r.entry_id, r.count, r.interval_id
FROM interval i CROSS JOIN ledger_row r
WHERE i.id BETWEEN ?2 AND ?3 AND r.interval_id = i.id AND r.event_id = ?1
  AND r.entry_id IN (SELECT id FROM ledger_entry
                      WHERE name IN ('selected', 'stored', 'expired'))
ORDER BY i.id;

-- name: ledger_whole
-- Of all intervals of event ?1.
SELECT n.name, s.count, s.unmeasured
FROM ledger_sum s JOIN ledger_entry n ON n.id = s.entry_id
WHERE s.event_id = ?1 ORDER BY s.entry_id;

-- name: ledger_cpus_whole
SELECT cpu_ns / 1e9 FROM event WHERE id = ?1;

-- name: ledger_cpus
-- Seconds times CPUs that were sampled.
SELECT total((i.end_ns - i.start_ns) * c.cpus) / 1e9
FROM (SELECT interval_id, count(*) AS cpus FROM cpu_interval
      WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
      GROUP BY interval_id) c
JOIN interval i ON i.id = c.interval_id;
