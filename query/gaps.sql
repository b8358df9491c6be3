-- name: gaps_any
-- Does the recording of ?1 have blocks or waits?
SELECT count(*) FROM event
WHERE recording_id = (SELECT recording_id FROM event WHERE id = ?1)
  AND unit = 'ns' AND name IN ('off-cpu', 'run-queue');

-- name: gaps_samples
-- What was on threads beside the samples of a sequence: blocks, waits, and
-- (?8, a trace, else NULL) samples of other requests. ?1 event, ?2 to ?3
-- intervals, ?5 to ?6 a stretch of boot time, ?7 a tid or NULL.
SELECT s.thread_id, s.time_ns, iif(s.event_id = ?1, '', e.name), s.value,
       s.weight
FROM sample s JOIN event e ON e.id = s.event_id
WHERE s.time_ns BETWEEN ?5 AND ?6 AND s.interval_id BETWEEN ?2 AND ?3
  AND iif(s.event_id = ?1, ?8 IS NOT NULL AND s.trace IS NOT ?8,
          e.unit = 'ns' AND e.name IN ('off-cpu', 'run-queue'))
  AND (?7 IS NULL OR s.thread_id IN (SELECT id FROM thread WHERE tid = ?7));
