-- SPDX-License-Identifier: MIT
--
-- The identities of the ledger, interval by interval: how many intervals, in
-- how many one is wrong, and the sums. One "name value" a line.
.mode list
.separator ' '
CREATE TEMP VIEW pivot AS
SELECT interval_id, event_id,
  total(count) FILTER (WHERE entry = 'due') AS due,
  total(count) FILTER (WHERE entry = 'fired') AS fired,
  total(count) FILTER (WHERE entry = 'not_run') AS not_run,
  total(count) FILTER (WHERE entry = 'counted') AS counted,
  total(count) FILTER (WHERE entry = 'filtered') AS filtered,
  total(count) FILTER (WHERE entry = 'idle') AS idle,
  total(count) FILTER (WHERE entry = 'lost_counts_full') AS full,
  total(count) FILTER (WHERE entry = 'lost_busy') AS busy,
  total(count) FILTER (WHERE entry = 'selected') AS selected,
  total(count) FILTER (WHERE entry = 'passed_over') AS passed_over,
  total(count) FILTER (WHERE entry = 'stored') AS stored,
  total(count) FILTER (WHERE entry = 'lost_ring_full') AS ring_full,
  total(count) FILTER (WHERE entry = 'lost_ring_busy') AS ring_busy,
  total(count) FILTER (WHERE entry = 'lost_discarded') AS discarded,
  total(count) FILTER (WHERE entry = 'lost_counts_discarded')
    AS counts_discarded,
  total(count) FILTER (WHERE entry = 'expired') AS expired,
  total(count) FILTER (WHERE entry = 'expired_counts') AS counts_expired
FROM ledger GROUP BY 1, 2;
CREATE TEMP TABLE n_counts AS
SELECT interval_id, event_id, sum(count) AS n, sum(value) AS value
FROM stack_count GROUP BY 1, 2;
CREATE TEMP TABLE n_samples AS
SELECT interval_id, event_id, count(*) AS n FROM sample GROUP BY 1, 2;
-- The same of values: what a firing stands for is lost nowhere either.
CREATE TEMP VIEW pivot_value AS
SELECT interval_id, event_id,
  total(value) FILTER (WHERE entry = 'fired') AS fired,
  total(value) FILTER (WHERE entry = 'counted') AS counted,
  total(value) FILTER (WHERE entry IN ('counted', 'filtered', 'idle',
    'lost_counts_full', 'lost_busy')) AS ends,
  total(value) FILTER (WHERE entry IN ('selected', 'passed_over')) AS choices,
  total(value) FILTER (WHERE entry IN ('lost_counts_discarded',
    'expired_counts')) AS discarded
FROM ledger GROUP BY 1, 2;
CREATE TEMP TABLE value_difference AS
SELECT v.interval_id,
  v.fired - v.ends AS of_fired,
  v.counted - v.choices AS of_choice,
  v.counted - ifnull(c.value, 0) - v.discarded AS of_counts
FROM pivot_value v LEFT JOIN n_counts c USING (interval_id, event_id);
CREATE TEMP TABLE difference AS
SELECT p.interval_id,
  p.due - p.fired - p.not_run AS of_due,
  p.fired - p.counted - p.filtered - p.idle - p.full - p.busy AS of_fired,
  p.counted - p.selected - p.passed_over AS of_choice,
  p.counted - ifnull(c.n, 0) - p.counts_discarded
    - p.counts_expired AS of_counts,
  p.selected - p.stored - p.ring_full - p.ring_busy - p.discarded
    - p.expired AS of_detail,
  p.stored - ifnull(s.n, 0) AS of_rows
FROM pivot p
LEFT JOIN n_counts c USING (interval_id, event_id)
LEFT JOIN n_samples s USING (interval_id, event_id);

SELECT 'intervals', count(*) FROM interval;
SELECT 'wrong', (SELECT count(*) FROM difference WHERE of_due OR of_fired
    OR of_choice OR of_counts OR of_detail OR of_rows)
  + (SELECT count(*) FROM value_difference WHERE of_fired OR of_choice
    OR of_counts);
SELECT 'not_in_ledger', count(*) FROM interval
  WHERE id NOT IN (SELECT interval_id FROM pivot);
SELECT 'totals_differ', (SELECT total(count) FROM stack_count)
  <> (SELECT total(count) FROM stack_total);
SELECT 'sums_differ', (SELECT count(*) FROM (
    SELECT event_id, entry_id, total(count), total(value) FROM ledger_row
     GROUP BY event_id, entry_id
    EXCEPT SELECT event_id, entry_id, total(count), total(value) FROM ledger_sum
     GROUP BY event_id, entry_id))
  + (SELECT count(*) FROM (SELECT event_id, entry_id FROM ledger_sum
    EXCEPT SELECT event_id, entry_id FROM ledger_row));
SELECT entry, ifnull(sum(count), 'not measured') FROM ledger
WHERE entry IN ('due', 'fired', 'not_run', 'counted', 'filtered', 'idle',
  'selected', 'passed_over', 'stored', 'throttled')
GROUP BY entry;
SELECT entry, sum(count) FROM ledger
WHERE (entry LIKE '%lost%' OR entry IN ('ambiguous_map', 'probe_deferred',
  'truncated', 'broken')) GROUP BY entry HAVING sum(count) > 0;
