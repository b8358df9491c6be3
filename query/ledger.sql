-- Sums of the ledger over a range: ?1 event, ?2 to ?3 intervals.

-- name: ledger_sums
-- Row by row, in the order of the file: GROUP BY would sort.
SELECT entry_id, count FROM ledger_row
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3;

-- name: ledger_names
SELECT id, name FROM ledger_entry ORDER BY id;

-- name: ledger_factors
-- Intervals in which fewer samples were stored than selected. What has expired
-- since was stored, too.
SELECT s.interval_id,
       s.count * 1.0 / nullif(t.count + ifnull(x.count, 0), 0)
FROM ledger_row s
JOIN ledger_row t ON t.interval_id = s.interval_id
  AND t.event_id = s.event_id
  AND t.entry_id = (SELECT id FROM ledger_entry WHERE name = 'stored')
LEFT JOIN ledger_row x ON x.interval_id = s.interval_id
  AND x.event_id = s.event_id
  AND x.entry_id = (SELECT id FROM ledger_entry WHERE name = 'expired')
WHERE s.entry_id = (SELECT id FROM ledger_entry WHERE name = 'selected')
  AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND s.count > t.count + ifnull(x.count, 0)
ORDER BY s.interval_id;

-- name: ledger_cpus
-- Seconds times CPUs that were sampled.
SELECT total((i.end_ns - i.start_ns) * c.cpus) / 1e9
FROM (SELECT interval_id, count(*) AS cpus FROM cpu_interval
      WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
      GROUP BY interval_id) c
JOIN interval i ON i.id = c.interval_id;
