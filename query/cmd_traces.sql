-- weft traces. ?1 event, ?2 to ?3 intervals, ?4 a stack, ?5 and ?6 times.
-- Sums are in the columns of ledger_tally(), after the trace's id.

-- name: traces_totals
-- All that the file has of each trace, kept by the writer.
SELECT id, samples, weight_sum, value_sum, first_ns, last_ns FROM trace;

-- name: traces_lossy
-- One interval of detail, to make up for what was lost in it: ?4 its id, ?5
-- to ?6 a stretch of time that holds it.
SELECT trace, interval_id, count(*), sum(weight), sum(weight * weight),
       sum(weight * value)
FROM sample
WHERE time_ns BETWEEN ?5 AND ?6 AND interval_id = ?4 AND event_id = ?1
  AND trace IS NOT NULL
GROUP BY trace;

-- name: traces_interval_time
SELECT start_ns, end_ns FROM interval WHERE id = ?1;

-- name: traces_part
-- Samples of a stretch of time.
SELECT trace, interval_id, count(*), sum(weight), sum(weight * weight),
       sum(weight * value), min(time_ns), max(time_ns)
FROM sample
WHERE event_id = ?1 AND interval_id BETWEEN ?2 AND ?3 AND trace IS NOT NULL
GROUP BY trace, interval_id;

-- name: traces_on_stack
SELECT trace, interval_id, count(*), sum(weight), sum(weight * weight),
       sum(weight * value), min(time_ns), max(time_ns)
FROM sample
WHERE stack_id = ?4 AND event_id = ?1 AND interval_id BETWEEN ?2 AND ?3
  AND trace IS NOT NULL
GROUP BY trace, interval_id;

-- name: traces_hex
SELECT hex FROM trace WHERE id = ?1;
