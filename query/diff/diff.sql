-- weft diff. ?1 event, ?2 to ?3 intervals, ?4 a pid or NULL.

-- name: diff_intervals
-- Those of the event's recording, with their Unix time.
SELECT i.id, i.start_ns + i.clock_offset_ns, i.end_ns + i.clock_offset_ns
FROM event e JOIN interval i ON i.recording_id = e.recording_id
WHERE e.id = ?1 AND i.id BETWEEN ?2 AND ?3
ORDER BY i.id;

-- name: diff_counts
SELECT stack_id, count, value FROM stack_count
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL OR process_id IN (SELECT id FROM process WHERE pid = ?4));

-- name: diff_samples
-- Samples of requests, one by one, in the order of the file (the + keeps
-- SQLite from seeking each by trace): summed in C, where it takes no sorting.
SELECT trace, stack_id, weight, value, interval_id FROM sample
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3 AND +trace IS NOT NULL;

-- name: diff_samples_sealed
-- The same of a whole file of one event, if no interval is made up for. There
-- are millions: each column costs, and so does each row that SQLite returns,
-- which here it hands to a function of ours (requests.c).
SELECT take_sample(trace, stack_id, weight, value) FROM sample_sealed
WHERE +trace IS NOT NULL;

-- name: diff_samples_tail
SELECT take_sample(trace, stack_id, weight, value) FROM sample_tail
WHERE +trace IS NOT NULL;

-- name: diff_samples_of_pid
SELECT s.trace, s.stack_id, s.weight, s.value, s.interval_id
FROM sample s JOIN thread th ON th.id = s.thread_id
WHERE s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND +s.trace IS NOT NULL
  AND th.process_id IN (SELECT id FROM process WHERE pid = ?4);

-- name: diff_samples_by_time
-- What by_time_load() has found.
SELECT s.trace, s.stack_id, s.weight, s.value, s.interval_id
FROM temp.time_sample s JOIN thread th ON th.id = s.thread_id
WHERE s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3
  AND (?4 IS NULL
       OR th.process_id IN (SELECT id FROM process WHERE pid = ?4));

-- name: diff_extents
-- How long requests lasted, by their samples of all events.
SELECT id, last_ns - first_ns FROM trace WHERE samples > 0;
