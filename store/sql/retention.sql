-- SPDX-License-Identifier: MIT
--
-- What store/retention.h does to a file. Times are Unix where a parameter is
-- compared with interval.clock_offset_ns. Tables in temp belong to one step.

-- name: retain_newest
-- The last interval: under way, as far as anybody can tell.
SELECT ifnull(max(id), 0) FROM interval;

-- name: retain_tail_due
-- The oldest sample that is not sealed, if its interval ended before ?1.
SELECT 1 FROM interval i
 WHERE i.id = (SELECT interval_id FROM sample_tail ORDER BY id LIMIT 1)
   AND i.end_ns + i.clock_offset_ns <= ?1 AND i.id < ?2;

-- name: expire_window
-- The last of the ?2 samples after ?1.
SELECT max(id) FROM (
  SELECT id FROM sample_sealed WHERE id > ?1 ORDER BY id LIMIT ?2);

-- name: expire_find
-- Of the samples after ?1 up to ?2, those of intervals before ?4 that ended
-- by ?3.
INSERT INTO temp.doomed
SELECT id, interval_id, event_id, trace, weight, value FROM sample_sealed
 WHERE id > ?1 AND id <= ?2
   AND interval_id IN (
     SELECT id FROM interval
      WHERE end_ns + clock_offset_ns <= ?3 AND id < ?4)
   AND ifnull(trace NOT IN (SELECT trace FROM pin), 1);

-- name: expire_is_due
-- The interval of sample ?1, if it ended by ?2 and is before ?3.
SELECT 1 FROM interval i
 WHERE i.id = (SELECT interval_id FROM sample_sealed WHERE id = ?1)
   AND i.end_ns + i.clock_offset_ns <= ?2 AND i.id < ?3;

-- name: expire_reached
-- When the youngest of them ended.
SELECT max(end_ns + clock_offset_ns) FROM interval
 WHERE id IN (SELECT interval_id FROM temp.doomed);

-- name: expire_attributes
DELETE FROM sample_attribute
 WHERE sample_id IN (SELECT id FROM temp.doomed);

-- name: expire_samples
DELETE FROM sample_sealed WHERE id IN (SELECT id FROM temp.doomed);

-- name: expire_stored
-- The ledger: what was stored
UPDATE ledger_row SET count = ledger_row.count - d.n,
                      value = ledger_row.value - d.value
  FROM (SELECT interval_id, event_id, count(*) AS n, sum(value) AS value
          FROM temp.doomed GROUP BY interval_id, event_id) d
 WHERE ledger_row.interval_id = d.interval_id
   AND ledger_row.event_id = d.event_id
   AND entry_id = (SELECT id FROM ledger_entry WHERE name = 'stored');

-- name: expire_entry
INSERT INTO ledger_row (interval_id, event_id, entry_id, count, value)
SELECT interval_id, event_id,
       (SELECT id FROM ledger_entry WHERE name = 'expired'),
       count(*), sum(value)
  FROM temp.doomed GROUP BY interval_id, event_id
ON CONFLICT (interval_id, event_id, entry_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: expire_stored_sum
UPDATE ledger_sum SET count = ledger_sum.count - d.n,
                      value = ledger_sum.value - d.value
  FROM (SELECT event_id, count(*) AS n, sum(value) AS value
          FROM temp.doomed GROUP BY event_id) d
 WHERE ledger_sum.event_id = d.event_id
   AND entry_id = (SELECT id FROM ledger_entry WHERE name = 'stored');

-- name: expire_entry_sum
INSERT INTO ledger_sum (event_id, entry_id, count, value, unmeasured)
SELECT event_id, (SELECT id FROM ledger_entry WHERE name = 'expired'),
       count(*), sum(value), 0
  FROM temp.doomed WHERE true GROUP BY event_id
ON CONFLICT (event_id, entry_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: expire_check
-- Intervals of which more went than the ledger says there was.
SELECT count(*) FROM ledger_row
 WHERE entry_id = (SELECT id FROM ledger_entry WHERE name = 'stored')
   AND count < 0
   AND interval_id IN (SELECT interval_id FROM temp.doomed);

-- name: expire_traces
-- Sums of a trace are of the first timer of each recording.
UPDATE trace SET
  samples = samples - d.n,
  weight_sum = iif(samples = d.n, 0, weight_sum - d.weight),
  value_sum = iif(samples = d.n, 0, value_sum - d.value)
  FROM (SELECT trace, count(*) AS n, sum(weight) AS weight,
               sum(weight * value) AS value
          FROM temp.doomed
         WHERE trace IS NOT NULL AND event_id IN (
           SELECT min(id) FROM event WHERE requested_hz IS NOT NULL
            GROUP BY recording_id)
         GROUP BY trace) d
 WHERE trace.id = d.trace;

-- name: expire_touched
-- Traces that lost samples, and their first that is left.
INSERT INTO temp.touched
SELECT d.trace, (SELECT min(s.time_ns) FROM sample_sealed s
                  WHERE s.trace = d.trace)
  FROM (SELECT DISTINCT trace FROM temp.doomed WHERE trace IS NOT NULL) d;

-- name: expire_in_tail
-- Can one of them have samples in the tail alone?
SELECT EXISTS (
  SELECT 1 FROM temp.touched x JOIN trace t ON t.id = x.trace
   WHERE x.first_ns IS NULL
     AND t.last_ns >= (SELECT min(time_ns) FROM sample_tail));

-- name: expire_touch_tail
UPDATE temp.touched SET first_ns = s.first_ns
  FROM (SELECT trace, min(time_ns) AS first_ns FROM sample_tail
         WHERE trace IN (SELECT trace FROM temp.touched WHERE first_ns IS NULL)
         GROUP BY trace) s
 WHERE touched.trace = s.trace;

-- name: expire_extents
UPDATE trace SET
  first_ns = ifnull(x.first_ns, 9223372036854775807),
  last_ns = iif(x.first_ns IS NULL, 0, last_ns)
  FROM temp.touched x WHERE trace.id = x.trace;

-- name: expire_done_traces
-- Traces that lost their last sample, and have no span that ended after ?1.
INSERT INTO temp.over
SELECT x.trace FROM temp.touched x
 WHERE x.first_ns IS NULL
   AND NOT EXISTS (SELECT 1 FROM span s
                    WHERE s.trace = x.trace
                      AND max(ifnull(s.end_ns, 0), ifnull(s.start_ns, 0)) > ?1);

-- name: expire_span_window
-- The last of the ?2 traces after ?1.
SELECT max(id) FROM (SELECT id FROM trace WHERE id > ?1 ORDER BY id LIMIT ?2);

-- name: expire_span_traces
-- Traces after ?1 up to ?2 that have only spans, none of which ended after ?3.
INSERT INTO temp.over
SELECT t.id FROM trace t
 WHERE t.id > ?1 AND t.id <= ?2 AND t.samples = 0 AND t.last_ns = 0
   AND t.id NOT IN (SELECT trace FROM pin)
   AND NOT EXISTS (SELECT 1 FROM span s
                    WHERE s.trace = t.id
                      AND max(ifnull(s.end_ns, 0), ifnull(s.start_ns, 0)) > ?3);

-- name: expire_spans
DELETE FROM span WHERE trace IN (SELECT trace FROM temp.over);

-- name: expire_over
DELETE FROM trace WHERE id IN (SELECT trace FROM temp.over);

-- name: expire_over_list
SELECT trace FROM temp.over;

-- name: expire_find_exemplars
-- At most ?3 examples of intervals before ?2 that ended by ?1.
INSERT INTO temp.doomed (id, interval_id, event_id)
SELECT x.id, x.interval_id, k.metric_id
  FROM interval i
  JOIN metric_exemplar x ON x.interval_id = i.id
  JOIN metric_key k ON k.id = x.key_id
 WHERE i.end_ns + i.clock_offset_ns <= ?1 AND i.id < ?2
   AND ifnull(x.trace_id NOT IN (
     SELECT t.trace_id FROM pin p JOIN trace t ON t.id = p.trace), 1)
 LIMIT ?3;

-- name: expire_exemplars
DELETE FROM metric_exemplar WHERE id IN (SELECT id FROM temp.doomed);

-- name: expire_exemplars_entry
UPDATE metric_interval SET expired_exemplars = expired_exemplars + d.n
  FROM (SELECT interval_id, event_id AS metric_id, count(*) AS n
          FROM temp.doomed GROUP BY interval_id, event_id) d
 WHERE metric_interval.interval_id = d.interval_id
   AND metric_interval.metric_id = d.metric_id;

-- name: rollup_intervals
-- Intervals from ?1 on, before ?2, in order.
SELECT id, recording_id, start_ns, end_ns, clock_offset_ns FROM interval
 WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3;

-- name: rollup_tail
-- The first interval whose samples may not be sealed.
SELECT interval_id FROM sample_tail ORDER BY id LIMIT 1;

-- name: rollup_has_detail
-- Interval ?1, from ?2 to ?3: has it samples or examples?
SELECT EXISTS (SELECT 1 FROM sample_sealed
                WHERE time_ns BETWEEN ?2 AND ?3 AND interval_id = ?1)
    OR EXISTS (SELECT 1 FROM metric_exemplar WHERE interval_id = ?1);

-- name: rollup_rows
-- How many rows of counts an interval (?1) has, but at most ?2.
SELECT (SELECT count(*) FROM (SELECT 1 FROM stack_count
                               WHERE interval_id = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM stack_attribute_count
                               WHERE interval_id = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM metric_bucket
                               WHERE interval_id = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM metric_value
                               WHERE interval_id = ?1 LIMIT ?2));

-- name: rollup_sums
-- What must come out the same: all that intervals ?1 to ?2 add up to. sum()
-- fails where 64 bits do not hold it, and these are then left as they are.
SELECT c.n, c.v, a.n, a.v, l.n, l.v, t.due, t.fired, t.throttled, m.n, m.v,
       b.n, e.n, i.n, i.v
  FROM
  (SELECT sum(count) AS n, sum(value) AS v FROM stack_count
    WHERE interval_id BETWEEN ?1 AND ?2) c,
  (SELECT sum(count) AS n, sum(value) AS v FROM stack_attribute_count
    WHERE interval_id BETWEEN ?1 AND ?2) a,
  (SELECT sum(count) AS n, sum(value) AS v FROM ledger_row
    WHERE interval_id BETWEEN ?1 AND ?2) l,
  (SELECT sum(due) AS due, sum(fired) AS fired, sum(throttled) AS throttled
     FROM cpu_interval WHERE interval_id BETWEEN ?1 AND ?2) t,
  (SELECT sum(count) AS n, sum(sum) AS v FROM metric_value
    WHERE interval_id BETWEEN ?1 AND ?2) m,
  (SELECT sum(count) AS n FROM metric_bucket
    WHERE interval_id BETWEEN ?1 AND ?2) b,
  (SELECT sum(fired + counted + filtered + not_met + keys_full + lost_busy
              + unreadable + entered + no_entry + no_return + calls_full
              + missed + lost_discarded + selected + lost_exemplars + expired
              + expired_exemplars) AS n
     FROM metric_interval WHERE interval_id BETWEEN ?1 AND ?2) e,
  (SELECT sum(end_ns - start_ns) AS n, sum(self_cpu_ns) AS v FROM interval
    WHERE id BETWEEN ?1 AND ?2) i;

-- name: rollup_interval
-- As where the recorder itself merges intervals: the clock is the last one's;
-- how far that may be off for the others is added to the error.
UPDATE interval SET
  end_ns = g.end_ns, clock_offset_ns = g.offset_ns,
  clock_error_ns = g.error_ns, self_cpu_ns = g.cpu_ns,
  self_rss_bytes = g.rss_bytes, bpf_run_ns = g.run_ns,
  bpf_run_count = g.run_count
  FROM (
    SELECT max(x.end_ns) AS end_ns, z.clock_offset_ns AS offset_ns,
           max(x.clock_error_ns + abs(x.clock_offset_ns - z.clock_offset_ns))
             AS error_ns,
           sum(x.self_cpu_ns) AS cpu_ns, max(x.self_rss_bytes) AS rss_bytes,
           sum(x.bpf_run_ns) AS run_ns, sum(x.bpf_run_count) AS run_count
      FROM interval x, interval z
     WHERE x.id BETWEEN ?1 AND ?2 AND z.id = ?2) g
 WHERE id = ?1;

-- name: rollup_drop_intervals
DELETE FROM interval WHERE id > ?1 AND id <= ?2;

-- name: rollup_cpus
-- The period is drawn anew in each interval: what stays is its mean.
INSERT INTO cpu_interval
SELECT ?1, event_id, cpu,
       CAST(ifnull(round(total(1.0 * due * period) / nullif(sum(due), 0)),
                   max(period)) AS INTEGER),
       sum(due), sum(fired), sum(throttled)
  FROM cpu_interval WHERE interval_id > ?1 AND interval_id <= ?2
 GROUP BY event_id, cpu
ON CONFLICT (interval_id, event_id, cpu) DO UPDATE SET
  period = CAST(ifnull(round((1.0 * due * period
                              + 1.0 * excluded.due * excluded.period)
                             / nullif(due + excluded.due, 0)), period)
                AS INTEGER),
  due = due + excluded.due,
  fired = fired + excluded.fired,
  throttled = ifnull(throttled + excluded.throttled,
                     ifnull(throttled, excluded.throttled));

-- name: rollup_drop_cpus
DELETE FROM cpu_interval WHERE interval_id > ?1 AND interval_id <= ?2;

-- name: rollup_counts
INSERT INTO stack_count
SELECT ?1, event_id, process_id, stack_id, sum(count), sum(value)
  FROM stack_count WHERE interval_id > ?1 AND interval_id <= ?2
 GROUP BY event_id, process_id, stack_id
ON CONFLICT (interval_id, event_id, process_id, stack_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: rollup_drop_counts
DELETE FROM stack_count WHERE interval_id > ?1 AND interval_id <= ?2;

-- name: rollup_attributes
INSERT INTO stack_attribute_count
SELECT ?1, event_id, process_id, stack_id, attribute_id, sum(count), sum(value)
  FROM stack_attribute_count WHERE interval_id > ?1 AND interval_id <= ?2
 GROUP BY event_id, process_id, stack_id, attribute_id
ON CONFLICT (interval_id, event_id, process_id, stack_id, attribute_id)
DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: rollup_drop_attributes
DELETE FROM stack_attribute_count
 WHERE interval_id > ?1 AND interval_id <= ?2;

-- name: rollup_ledger
-- NULL stays where no interval measured it.
INSERT INTO ledger_row
SELECT ?1, event_id, entry_id, sum(count), sum(value)
  FROM ledger_row WHERE interval_id > ?1 AND interval_id <= ?2
 GROUP BY event_id, entry_id
ON CONFLICT (interval_id, event_id, entry_id) DO UPDATE SET
  count = ifnull(count + excluded.count, ifnull(count, excluded.count)),
  value = ifnull(value + excluded.value, ifnull(value, excluded.value));

-- name: rollup_drop_ledger
DELETE FROM ledger_row WHERE interval_id > ?1 AND interval_id <= ?2;

-- name: rollup_metric_values
INSERT INTO metric_value
SELECT ?1, key_id, sum(count), sum(sum), min(min), max(max)
  FROM metric_value WHERE interval_id > ?1 AND interval_id <= ?2
 GROUP BY key_id
ON CONFLICT (interval_id, key_id) DO UPDATE SET
  count = count + excluded.count,
  sum = sum + excluded.sum,
  min = min(min, excluded.min),
  max = max(max, excluded.max);

-- name: rollup_drop_metric_values
DELETE FROM metric_value WHERE interval_id > ?1 AND interval_id <= ?2;

-- name: rollup_metric_buckets
INSERT INTO metric_bucket
SELECT ?1, key_id, bucket, sum(count)
  FROM metric_bucket WHERE interval_id > ?1 AND interval_id <= ?2
 GROUP BY key_id, bucket
ON CONFLICT (interval_id, key_id, bucket) DO UPDATE SET
  count = count + excluded.count;

-- name: rollup_drop_metric_buckets
DELETE FROM metric_bucket WHERE interval_id > ?1 AND interval_id <= ?2;

-- name: rollup_metric_intervals
INSERT INTO metric_interval
SELECT ?1, metric_id, sum(fired), sum(counted), sum(filtered), sum(not_met),
       sum(keys_full), sum(lost_busy), sum(unreadable), sum(entered),
       sum(no_entry), sum(no_return), sum(calls_full), sum(missed),
       sum(lost_discarded), sum(selected), sum(lost_exemplars), sum(expired),
       sum(expired_exemplars)
  FROM metric_interval WHERE interval_id > ?1 AND interval_id <= ?2
 GROUP BY metric_id
ON CONFLICT (interval_id, metric_id) DO UPDATE SET
  fired = fired + excluded.fired,
  counted = counted + excluded.counted,
  filtered = filtered + excluded.filtered,
  not_met = not_met + excluded.not_met,
  keys_full = keys_full + excluded.keys_full,
  lost_busy = lost_busy + excluded.lost_busy,
  unreadable = unreadable + excluded.unreadable,
  entered = entered + excluded.entered,
  no_entry = no_entry + excluded.no_entry,
  no_return = no_return + excluded.no_return,
  calls_full = calls_full + excluded.calls_full,
  missed = missed + excluded.missed,
  lost_discarded = lost_discarded + excluded.lost_discarded,
  selected = selected + excluded.selected,
  lost_exemplars = lost_exemplars + excluded.lost_exemplars,
  expired = expired + excluded.expired,
  expired_exemplars = expired_exemplars + excluded.expired_exemplars;

-- name: rollup_drop_metric_intervals
DELETE FROM metric_interval WHERE interval_id > ?1 AND interval_id <= ?2;

-- name: drop_find_interval
-- The oldest interval that has counts, if it ended by ?1 and is before ?2.
SELECT i.id FROM interval i
 WHERE i.id = min(
   ifnull((SELECT interval_id FROM stack_count ORDER BY interval_id LIMIT 1),
          9223372036854775807),
   ifnull((SELECT interval_id FROM metric_value ORDER BY interval_id LIMIT 1),
          9223372036854775807))
   AND i.end_ns + i.clock_offset_ns <= ?1 AND i.id < ?2;

-- name: drop_find_counts
-- At most ?2 counts of interval ?1.
INSERT INTO temp.doomed_count
SELECT event_id, process_id, stack_id, count, value FROM stack_count
 WHERE interval_id = ?1 LIMIT ?2;

-- name: drop_counts
DELETE FROM stack_count
 WHERE interval_id = ?1 AND (event_id, process_id, stack_id) IN (
   SELECT event_id, process_id, stack_id FROM temp.doomed_count);

-- name: drop_totals
UPDATE stack_total SET count = stack_total.count - d.count,
                       value = stack_total.value - d.value
  FROM temp.doomed_count d
 WHERE stack_total.event_id = d.event_id
   AND stack_total.stack_id = d.stack_id
   AND stack_total.process_id = d.process_id;

-- name: drop_check
-- Totals of which more went than there was.
SELECT count(*) FROM temp.doomed_count d
  LEFT JOIN stack_total t ON t.event_id = d.event_id
   AND t.stack_id = d.stack_id AND t.process_id = d.process_id
 WHERE ifnull(t.count, -1) < 0;

-- name: drop_empty_totals
DELETE FROM stack_total
 WHERE count = 0 AND (event_id, stack_id, process_id) IN (
   SELECT event_id, stack_id, process_id FROM temp.doomed_count);

-- name: drop_attribute_totals
UPDATE stack_attribute_total SET count = stack_attribute_total.count - a.count,
                                 value = stack_attribute_total.value - a.value
  FROM temp.doomed_count d
  JOIN stack_attribute_count a ON a.interval_id = ?1
   AND a.event_id = d.event_id AND a.process_id = d.process_id
   AND a.stack_id = d.stack_id
 WHERE stack_attribute_total.event_id = a.event_id
   AND stack_attribute_total.attribute_id = a.attribute_id
   AND stack_attribute_total.stack_id = a.stack_id
   AND stack_attribute_total.process_id = a.process_id;

-- name: drop_empty_attribute_totals
DELETE FROM stack_attribute_total
 WHERE count = 0 AND (event_id, attribute_id, stack_id, process_id) IN (
   SELECT a.event_id, a.attribute_id, a.stack_id, a.process_id
     FROM temp.doomed_count d
     JOIN stack_attribute_count a ON a.interval_id = ?1
      AND a.event_id = d.event_id AND a.process_id = d.process_id
      AND a.stack_id = d.stack_id);

-- name: drop_attributes
DELETE FROM stack_attribute_count
 WHERE interval_id = ?1 AND (event_id, process_id, stack_id) IN (
   SELECT event_id, process_id, stack_id FROM temp.doomed_count);

-- name: drop_entry
INSERT INTO ledger_row (interval_id, event_id, entry_id, count, value)
SELECT ?1, event_id,
       (SELECT id FROM ledger_entry WHERE name = 'expired_counts'),
       sum(count), sum(value)
  FROM temp.doomed_count WHERE true GROUP BY event_id
ON CONFLICT (interval_id, event_id, entry_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: drop_entry_sum
INSERT INTO ledger_sum (event_id, entry_id, count, value, unmeasured)
SELECT event_id, (SELECT id FROM ledger_entry WHERE name = 'expired_counts'),
       sum(count), sum(value), 0
  FROM temp.doomed_count WHERE true GROUP BY event_id
ON CONFLICT (event_id, entry_id) DO UPDATE SET
  count = count + excluded.count,
  value = value + excluded.value;

-- name: drop_metric_entry
UPDATE metric_interval SET expired = expired + ifnull((
    SELECT sum(v.count) FROM metric_value v
      JOIN metric_key k ON k.id = v.key_id
     WHERE v.interval_id = ?1 AND k.metric_id = metric_interval.metric_id), 0)
 WHERE interval_id = ?1;

-- name: drop_metric_values
DELETE FROM metric_value WHERE interval_id = ?1;

-- name: drop_metric_buckets
DELETE FROM metric_bucket WHERE interval_id = ?1;

-- name: sweep_totals
-- The ?4 stacks and processes that have counts, after the given one.
SELECT event_id, stack_id, process_id FROM stack_total
 WHERE (event_id, stack_id, process_id) > (?1, ?2, ?3)
 ORDER BY event_id, stack_id, process_id LIMIT ?4;

-- name: sweep_samples
SELECT id, stack_id, thread_id FROM sample_sealed WHERE id > ?1
UNION ALL
SELECT id, stack_id, thread_id FROM sample_tail WHERE id > ?1
 ORDER BY 1 LIMIT ?2;

-- name: sweep_exemplars
SELECT id, stack_id, thread_id, key_id FROM metric_exemplar
 WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: sweep_metric_values
SELECT interval_id, key_id FROM metric_value
 WHERE (interval_id, key_id) > (?1, ?2)
 ORDER BY interval_id, key_id LIMIT ?3;

-- name: sweep_metric_keys
-- Keys after ?1, and the stacks that are part of them.
SELECT k.id, iif(m.key_1 = 'stack', k.key_1, NULL),
       iif(m.key_2 = 'stack', k.key_2, NULL),
       iif(m.key_3 = 'stack', k.key_3, NULL),
       iif(m.key_4 = 'stack', k.key_4, NULL)
  FROM metric_key k LEFT JOIN metric m ON m.id = k.metric_id
 WHERE k.id > ?1 ORDER BY k.id LIMIT ?2;

-- name: sweep_stacks
SELECT id FROM stack WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: sweep_nodes
-- From the leaves to the roots: a node's id is above its parent's.
SELECT id, parent_id, frame_id FROM stack_node WHERE id < ?1
 ORDER BY id DESC LIMIT ?2;

-- name: sweep_frames
SELECT id FROM frame WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: sweep_threads
SELECT id FROM thread WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: sweep_processes
SELECT id FROM process WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: sweep_functions
SELECT id FROM function WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: sweep_binaries
SELECT id FROM binary WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: sweep_drop_metric_key
DELETE FROM metric_key WHERE id = ?1;

-- name: sweep_drop_stack
DELETE FROM stack WHERE id = ?1;

-- name: sweep_drop_node
DELETE FROM stack_node WHERE id = ?1;

-- name: sweep_drop_frame
DELETE FROM frame WHERE id = ?1;

-- name: sweep_drop_thread
DELETE FROM thread WHERE id = ?1;

-- name: sweep_drop_process
DELETE FROM process WHERE id = ?1
   AND NOT EXISTS (SELECT 1 FROM thread t WHERE t.process_id = process.id);

-- name: sweep_drop_process_attributes
-- After its process.
DELETE FROM process_attribute WHERE process_id = ?1
   AND NOT EXISTS (SELECT 1 FROM process WHERE id = ?1);

-- name: sweep_drop_function
DELETE FROM function WHERE id = ?1
   AND NOT EXISTS (SELECT 1 FROM frame_function f
                    WHERE f.function_id = function.id);

-- name: sweep_drop_binary
DELETE FROM binary WHERE id = ?1
   AND NOT EXISTS (SELECT 1 FROM frame f WHERE f.binary_id = binary.id);

-- name: sweep_drop_segments
-- After their binary.
DELETE FROM binary_segment WHERE binary_id = ?1
   AND NOT EXISTS (SELECT 1 FROM binary WHERE id = ?1);

-- name: sweep_drop_attributes
DELETE FROM shape_attribute
 WHERE NOT EXISTS (
   SELECT 1 FROM event e JOIN stack_attribute_total t ON t.event_id = e.id
    WHERE t.attribute_id = shape_attribute.id);

-- name: pin_add
INSERT INTO pin (trace, pinned_ns) VALUES (?1, ?2)
ON CONFLICT (trace) DO NOTHING;

-- name: pin_remove
DELETE FROM pin WHERE trace = ?1;

-- name: pin_find
-- Traces whose ID begins so: ?1 <= ID < ?2.
SELECT id, hex FROM trace WHERE hex >= ?1 AND hex < ?2 ORDER BY hex LIMIT 2;

-- name: pin_list
SELECT t.hex, p.pinned_ns, t.samples,
       (SELECT count(*) FROM span s WHERE s.trace = t.id)
  FROM pin p JOIN trace t ON t.id = p.trace ORDER BY p.pinned_ns, t.hex;
