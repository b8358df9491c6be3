-- weft traces. ?1 event, ?2 to ?3 intervals, ?4 a stack, ?5 and ?6 times.

-- name: traces_totals
-- All that the file has of each trace, kept by the writer.
SELECT id, samples, weight_sum, value_sum, first_ns, last_ns FROM trace;

-- name: traces_lossy
-- One interval of detail, to make up for what was lost in it: ?4 its id, ?5
-- to ?6 a stretch of time that holds it.
SELECT trace, interval_id, count(*), sum(weight), sum(weight * weight),
       sum(weight * value), min(time_ns)
FROM sample
WHERE time_ns BETWEEN ?5 AND ?6 AND interval_id = ?4 AND event_id = ?1
  AND trace IS NOT NULL
GROUP BY trace;

-- name: traces_interval_time
SELECT start_ns, end_ns FROM interval WHERE id = ?1;

-- name: traces_samples
-- Samples of a stretch of time, one by one, in the order of the file (the + keeps
-- SQLite from seeking each by trace): summed in C, where it takes no sorting.
SELECT trace, interval_id, weight, value, time_ns, stack_id
FROM sample
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3 AND +trace IS NOT NULL;

-- name: traces_on_stack
-- The same of one stack, which it seeks.
SELECT trace, interval_id, weight, value, time_ns, stack_id
FROM sample
WHERE stack_id = ?4 AND event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
  AND trace IS NOT NULL;

-- name: traces_coverage
-- Of all traces of the file: with spans, of those without a sample, and with
-- samples but no span; the spans; the samples without.
SELECT sum(has_spans), sum(has_spans AND NOT samples),
       sum(samples > 0 AND NOT has_spans),
       (SELECT count(*) FROM span),
       sum(iif(has_spans, 0, samples))
FROM (SELECT t.samples, EXISTS (SELECT 1 FROM span s WHERE s.trace = t.id)
             AS has_spans
        FROM trace t);

-- name: traces_hex
SELECT hex FROM trace WHERE id = ?1;

-- name: traces_any
-- A row, if any sample of the file carries a trace ID.
SELECT 1 FROM trace WHERE samples > 0 LIMIT 1;
