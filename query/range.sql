-- What a report is about. See range.h.

-- name: range_recordings
SELECT r.id, r.detail_n, r.ended_ns IS NULL, r.cpus
FROM recording r ORDER BY r.id;

-- name: range_event
-- The event of a recording: by name, else the first timer, else the first.
SELECT id, name, unit, ifnull(requested_hz, 0)
FROM event
WHERE recording_id = ?1 AND (?2 IS NULL OR name = ?2)
ORDER BY requested_hz IS NULL, id LIMIT 1;

-- name: range_extent
SELECT min(start_ns + clock_offset_ns), max(end_ns + clock_offset_ns)
FROM interval WHERE recording_id BETWEEN ?1 AND ?2;

-- name: range_intervals
-- The intervals of a recording that overlap [?2, ?3) of Unix time.
SELECT
  min(id), max(id), min(start_ns), max(end_ns),
  min(start_ns + clock_offset_ns), count(*),
  (SELECT count(*) FROM interval a WHERE a.recording_id = ?1)
FROM interval
WHERE recording_id = ?1 AND end_ns + clock_offset_ns > ?2
  AND start_ns + clock_offset_ns < ?3;

-- name: range_events_of_file
SELECT count(*) FROM event;
