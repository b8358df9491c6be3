-- Spans: what programs said of their requests. ?1 a trace.

-- name: spans_any
SELECT EXISTS (SELECT 1 FROM span);

-- name: spans_traces
-- Traces that have spans.
SELECT DISTINCT trace FROM span;

-- name: spans_root
-- The span that no other of its trace called: without a parent before one
-- whose parent was not sent, then the earliest.
SELECT s.service, s.name, s.status, s.start_ns, s.end_ns
FROM span s
WHERE s.trace = ?1
  AND NOT EXISTS (SELECT 1 FROM span p
                  WHERE p.trace = s.trace AND p.span_id = s.parent_span_id)
ORDER BY s.parent_span_id IS NOT NULL, s.start_ns, s.span_id LIMIT 1;

-- name: spans_has
-- ?2 a key without quotes, ?3 a value, ?4 enum spans_op: does the trace have
-- it?
SELECT CASE ?4
  WHEN 1 THEN ifnull(max(text = ?3), 0)
  WHEN 2 THEN ifnull(min(text <> ?3), 0)
  ELSE ifnull(max(text GLOB ?3), 0)
END
FROM (
  SELECT CASE ?2
    WHEN 'service.name' THEN service
    WHEN 'name' THEN name
    WHEN 'kind' THEN kind
    WHEN 'status' THEN status
    ELSE CAST(iif(json_valid(attributes), attributes ->> ('$."' || ?2 || '"'),
                  NULL) AS TEXT)
  END AS text
  FROM span WHERE trace = ?1
  UNION ALL
  SELECT a.value FROM sample s
  JOIN sample_attribute a ON a.sample_id = s.id
  WHERE s.trace = ?1 AND a.key = ?2);

-- name: spans_of_trace
SELECT span_id, parent_span_id, service, name, kind, start_ns, end_ns, status
FROM span WHERE trace = ?1 ORDER BY start_ns, span_id;

-- name: spans_samples
-- The samples of a trace, to be put under its spans.
SELECT s.span_id, s.time_ns + i.clock_offset_ns, s.stack_id, s.interval_id,
       s.weight, s.value
FROM sample s JOIN interval i ON i.id = s.interval_id
WHERE s.trace = ?5 AND s.event_id = ?1 AND s.interval_id BETWEEN ?2 AND ?3;
