-- Sums of the ledger over a range: ?1 event, ?2 to ?3 intervals.

-- name: ledger_sums
-- Row by row, in the order of the file, so interval by interval: GROUP BY would
-- sort. Most are 0: of these the first and the last interval's say which entries
-- there are.
SELECT entry_id, count, interval_id FROM ledger_row
WHERE interval_id BETWEEN ?2 AND ?3 AND event_id = ?1
  AND (count IS NOT 0 OR interval_id = ?2 OR interval_id = ?3);

-- name: ledger_names
SELECT id, name FROM ledger_entry ORDER BY id;

-- name: ledger_cpus_of_file
-- Rows of all CPUs, which SQLite counts without reading them; and how many
-- these are if no interval lacks a CPU of its recording.
SELECT (SELECT count(*) FROM cpu_interval),
       (SELECT sum(r.cpus * (SELECT count(*) FROM interval i
                              WHERE i.recording_id = r.id))
          FROM recording r);

-- name: ledger_cpus_whole
-- The same as below where no interval lacks a CPU.
SELECT total((i.end_ns - i.start_ns) * r.cpus) / 1e9
FROM interval i JOIN recording r ON r.id = i.recording_id
WHERE i.id BETWEEN ?2 AND ?3;

-- name: ledger_cpus
-- Seconds times CPUs that were sampled.
SELECT total((i.end_ns - i.start_ns) * c.cpus) / 1e9
FROM (SELECT interval_id, count(*) AS cpus FROM cpu_interval
      WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
      GROUP BY interval_id) c
JOIN interval i ON i.id = c.interval_id;
