-- Samples that are joined to requests by time (view samples_by_time), put
-- beside the others for this connection. ?1 event, ?2 to ?3 intervals, ?5 a
-- trace.

-- name: by_time_is_there
-- Files of an older weft lack the view.
SELECT EXISTS (SELECT 1 FROM main.sqlite_schema
               WHERE type = 'view' AND name = 'samples_by_time');

-- name: by_time_may_be
-- May the trace have such samples? One of its spans says a process that tells
-- no IDs.
SELECT EXISTS (
  SELECT 1 FROM span s JOIN process p
    ON json_valid(s.attributes)
   AND CAST(s.attributes ->> '$."process.pid"' AS INTEGER)
       IN (p.pid, p.inner_pid)
   WHERE s.trace = ?1 AND NOT EXISTS (
     SELECT 1 FROM sample m CROSS JOIN thread th ON th.id = m.thread_id
      WHERE m.trace IS NOT NULL AND th.process_id = p.id));

-- name: by_time_find
CREATE TEMP TABLE time_found AS
SELECT sample_id, outcome, trace, span_id FROM main.samples_by_time;

-- name: by_time_make
-- A request may have thousands of spans: what their IDs read is told once.
CREATE TEMP TABLE time_sample AS
WITH named AS MATERIALIZED (
  SELECT trace, span_id, lower(hex(span_id)) AS hex FROM main.span)
SELECT s.id, s.interval_id, s.event_id, s.time_ns, s.cpu, s.thread_id,
       s.stack_id, s.value, s.weight, f.trace, p.span_id, s.trace_flags,
       s.context_source, s.context_status
FROM temp.time_found f
JOIN main.sample s ON s.id = f.sample_id
JOIN named p ON p.trace = f.trace AND p.hex = f.span_id
WHERE f.outcome = 'joined';

-- name: by_time_index
CREATE INDEX temp.time_sample_trace ON time_sample (trace);

-- name: by_time_add_own
-- Those of one trace that carry its ID.
INSERT INTO temp.time_sample
SELECT id, interval_id, event_id, time_ns, cpu, thread_id, stack_id, value,
       weight, trace, span_id, trace_flags, context_source, context_status
FROM main.sample WHERE trace = ?1;

-- name: by_time_stand_in
-- From here on, `sample` is that table.
CREATE TEMP VIEW sample AS SELECT * FROM temp.time_sample;

-- name: by_time_counts
SELECT sum(outcome = 'joined'), sum(outcome = 'ambiguous'),
       sum(outcome = 'between'), sum(outcome = 'clock')
FROM temp.time_found;

-- name: by_time_of_trace
SELECT count(*) FROM temp.time_found WHERE outcome = 'joined' AND trace = ?1;

-- name: by_time_samples
-- Columns as traces_samples.
SELECT trace, interval_id, weight, value, time_ns, stack_id
FROM temp.time_sample
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3;
