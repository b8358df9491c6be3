-- Where the time of a request went, of a recording that has it all. ?1 an
-- event of the recording, ?2 to ?3 intervals, ?5 the trace.

-- name: wall_parts
-- Of each kind of time: its name, how blocks were chosen (NULL: a timer), how
-- many samples, what they add up to; of those that were chosen by chance the
-- number, sum and sum of squares; the first begin and the last end, boot time.
SELECT e.name, e.tau_ns, ifnull(sum(s.n), 0), total(s.estimate * s.factor),
       ifnull(sum(s.chance), 0), total(s.chance_sum * s.factor),
       total(s.chance_sq * s.factor * s.factor), min(s.first_ns),
       max(s.last_ns)
FROM event e LEFT JOIN (
  SELECT g.*, ifnull((
    SELECT nullif(total(iif(entry = 'selected', count, 0)), 0)
           / nullif(total(iif(entry IN ('stored', 'expired'), count, 0)), 0)
      FROM ledger l
     WHERE l.interval_id = g.interval_id AND l.event_id = g.event_id
       AND entry IN ('selected', 'stored', 'expired')), 1) AS factor
  FROM (
    SELECT event_id, interval_id, count(*) AS n,
           sum(weight * value) AS estimate,
           sum(weight > 1) AS chance,
           total(iif(weight > 1, weight * value, 0)) AS chance_sum,
           total(iif(weight > 1, weight * value * weight * value, 0))
             AS chance_sq,
           min(time_ns - value) AS first_ns, max(time_ns) AS last_ns
    FROM sample
    WHERE trace = ?5 AND interval_id BETWEEN ?2 AND ?3
    GROUP BY event_id, interval_id) g) s ON s.event_id = e.id
WHERE e.recording_id = (SELECT recording_id FROM event WHERE id = ?1)
  AND e.unit = 'ns' AND e.name IN ('cpu-clock', 'on-cpu', 'run-queue', 'off-cpu')
GROUP BY e.id;
